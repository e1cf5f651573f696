"""Likely mistakes in valid modules: misspelt fields and unsupported hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from tilec.dialect.cuda_tile.hints import hint_problems
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.verify import is_stray

# The similarity to a field name above which an attribute counts as misspelt.
_ALIKE = 0.8


Warning = tuple[ir.Location, str]


def hint_warnings(module: ir.Module) -> list[Warning]:
    """The locations and problems of hints; as in NVIDIA's tools, checked only on request."""
    return _collected(module, hint_problems)


def slip_warnings(module: ir.Module) -> list[Warning]:
    """The locations and names of attributes that resemble a field of their operation but are not one."""
    return _collected(module, _slips)


def _collected(module: ir.Module, problems: Callable[[ir.OpView], Iterator[str]]) -> list[Warning]:
    found: list[Warning] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in OPERATIONS:
            op = operation.opview
            found.extend((operation.location, f"'{op.spelled_name}' op {problem}") for problem in problems(op))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _slips(op: ir.OpView) -> Iterator[str]:
    for name in op.attributes:
        alike = get_close_matches(name, op.attribute_fields, 1, _ALIKE) if is_stray(op, name) else []
        if alike:
            yield f"attribute '{name}' has no effect: did you mean '{alike[0]}'?"
