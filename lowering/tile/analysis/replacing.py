"""Replaces operations: their results by other values, by rules up to a fixed point; rebuilds and erases them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.dialect.walk import operations_inside, operations_named
from tilec.lowering.tile.analysis.value_analysis import forget_facts

# The replacement of an operation's results: None to keep it, a value for a single result, or a list.
Replacement: TypeAlias = ir.Value | Sequence[ir.Value] | None
Rule = Callable[[ir.OpView], Replacement]

_DIALECT = "cuda_tile."


def replace_results(module: ir.Module, rules: dict[str, Rule]) -> None:
    """Applies the rule of each operation, by name (without `cuda_tile`), with the insertion point before it.

    A replaced operation is erased, so it must have no effect that its replacement lacks. Rules must terminate.
    """
    while _sweep(module, rules):
        pass


def _sweep(module: ir.Module, rules: dict[str, Rule]) -> bool:
    by_name = {name if "." in name else f"{_DIALECT}{name}": rule for name, rule in rules.items()}
    return sum(_replace(op, by_name[op.operation.name]) for op in operations_named(module, by_name)) > 0


def _replace(op: ir.OpView, rule: Rule) -> bool:
    with ir.InsertionPoint(op.operation), op.location:
        replacement = rule(op)
    if replacement is None:
        return False
    replace(op, [replacement] if isinstance(replacement, ir.Value) else replacement)
    return True


def replace(op: ir.OpView, values: Iterable[ir.Value]) -> None:
    """Replaces the results of an operation by other values, and erases it."""
    for old, new in zip(op.operation.results, values, strict=True):
        old.replace_all_uses_with(new)
    forget_facts(op.operation)
    op.operation.erase()


def rebuilt_without(op: ir.OpView, *names: str) -> Sequence[ir.Value]:
    """The results of the same operation without some of its optional operands, at the insertion point."""
    operands = {**(groups(op, "operand") or {}), **{name: [] for name in names}}
    types = [result.type for result in op.operation.results]
    return list(build(op.operation.name, list(operands.values()), types, attributes_without_segments(op)).results)


def erase_unused(module: ir.Module | ir.OpView, name: str) -> None:
    """Erases the operations of one name whose result has no use."""
    for op in operations_named(module, (name,)):
        if not list(op.result.uses):
            op.operation.erase()


def copy_operation(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """A copy of an operation with other operands; `values` gets its results."""
    made = op.clone().operation
    for each in (made, *operations_inside(made)):
        replace_operands(each, values)
    values.update(zip(op.results, made.results, strict=True))
    return made


def replace_operands(op: ir.Operation, values: Mapping[ir.Value, ir.Value]) -> None:
    """Replaces the operands of an operation that `values` has others for."""
    for number, value in enumerate(op.operands):
        if value in values:
            op.operands[number] = values[value]
