"""Replaces the results of operations by other values, in program order, up to a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.value_analysis import forget_facts

# The replacement of an operation's results: None to keep it, a value for a single result, or a list.
Replacement: TypeAlias = ir.Value | Sequence[ir.Value] | None
Rule = Callable[[ir.OpView], Replacement]

_DIALECT = "cuda_tile."
_ADVANCE = ir.WalkResult.ADVANCE


def replace_results(module: ir.Module, rules: dict[str, Rule]) -> None:
    """Applies the rule of each operation of Tile IR, by name without the dialect, with the insertion point before it.

    A replaced operation is erased, so it must have no effect that its replacement lacks. Rules must terminate.
    """
    while _sweep(module, rules):
        pass


def _sweep(module: ir.Module, rules: dict[str, Rule]) -> bool:
    found: list[tuple[ir.OpView, Rule]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        name = operation.name
        if name.startswith(_DIALECT):
            rule = rules.get(name[len(_DIALECT) :])
            if rule is not None:
                found.append((operation.opview, rule))
        return _ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return sum(_replace(op, rule) for op, rule in found) > 0


def _replace(op: ir.OpView, rule: Rule) -> bool:
    with ir.InsertionPoint(op.operation), op.location:
        replacement = rule(op)
    if replacement is None:
        return False
    values = [replacement] if isinstance(replacement, ir.Value) else list(replacement)
    for old, new in zip(op.operation.results, values, strict=True):
        old.replace_all_uses_with(new)
    forget_facts(op.operation)
    op.operation.erase()
    return True
