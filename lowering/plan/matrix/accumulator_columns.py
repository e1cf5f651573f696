"""Accumulators in tensor memory of which only columns are read into registers (divide_columns.py)."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, views_in
from tilec.lowering.plan.matrix.accumulator import is_zero
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, Multiply
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, is_tile


def read_by_columns(plan: MatrixPlan, *, with_early: bool = False) -> dict[ir.Value, Multiply]:
    """The accumulators of which columns alone are read, each with a multiply into it.

    They are read where they are used; those that are needed after another multiply, only if `with_early`, before it.
    """
    return {
        value: plan.multiplies[next(iter(accumulator.multiplies)).results[0]]
        for accumulator in dict.fromkeys(plan.accumulators.values())
        for value in accumulator.reads
        if _has_only_columns(value, with_early)
    }


def without_registers(plan: MatrixPlan) -> set[ir.Value]:
    """The tiles in tensor memory that are never in registers as a whole."""
    by_columns = read_by_columns(plan)
    found = {value for value, place in plan.accumulators.items() if value not in place.reads or value in by_columns}
    entering = (value for place in plan.accumulators.values() for value, _ in place.entering)
    return found.union(value for value in entering if is_zero(value))


def _has_only_columns(tile: ir.Value, with_early: bool) -> bool:
    uses = [use.owner for use in tile.uses]
    if isinstance(tile.owner, ir.Block) or not uses or not all(_is_columns(op) for op in uses):
        return False
    # The columns of an accumulator may be those of an earlier one, which is then read at once.
    following = _until_last(tile, {use.operation for use in uses})
    return with_early or not any(op.operation.name in MULTIPLIES for op in following)


def _is_columns(op: ir.OpView) -> bool:
    if op.operation.name != "cuda_tile.extract" or not is_tile(op.result):
        return False
    return op.result.type.shape[0] == op.source.type.shape[0]


def _until_last(tile: ir.Value, users: set[ir.Operation]) -> Iterator[ir.OpView]:
    """The operations after the one that makes a tile, at any depth, up to the last of its users."""
    maker, left, follows = tile.owner.operation, set(users), False
    for op in views_in(maker.block):
        if follows:
            for each in (op, *operations_below(op)):
                yield each
                left.discard(each.operation)
        if not left:
            return
        follows = follows or op.operation == maker
