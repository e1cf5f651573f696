"""What a valid module says that is likely a mistake: misspelt fields, and hints that nothing follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from tilec.dialect.cuda_tile.hints import hint_problems
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.verify import is_stray

# How alike a name must be to a field's to be taken for a slip.
_ALIKE = 0.8


Warning = tuple[ir.Location, str]


def hint_warnings(module: ir.Module) -> list[Warning]:
    """Where and what hints are wrong; NVIDIA's tools too look only on request."""
    return _collected(module, hint_problems)


def slip_warnings(module: ir.Module) -> list[Warning]:
    """Where and what attributes are none of the operation's, and look like one."""
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
            yield f"attribute '{name}' means nothing to it: did you mean '{alike[0]}'?"
