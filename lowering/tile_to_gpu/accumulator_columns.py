"""Accumulators in tensor memory of which only columns are read into registers (lowering/gpu/divide_tensor_loads.py)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.accumulator import is_zero
from tilec.lowering.tile_to_gpu.layouts import is_tile
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, Multiply


def read_by_columns(plan: MatrixPlan) -> dict[ir.Value, Multiply]:
    """The accumulators that registers read by extracts of columns alone, each with a multiply into it."""
    return {
        value: plan.multiplies[next(iter(accumulator.multiplies)).results[0]]
        for accumulator in dict.fromkeys(plan.accumulators.values())
        for value in accumulator.reads
        if _has_only_columns(value)
    }


def without_registers(plan: MatrixPlan) -> set[ir.Value]:
    """The tiles in tensor memory that are never in registers as a whole."""
    by_columns = read_by_columns(plan)
    found = {value for value, place in plan.accumulators.items() if value not in place.reads or value in by_columns}
    entering = (value for place in plan.accumulators.values() for value, _ in place.entering)
    return found.union(value for value in entering if is_zero(value))


def _has_only_columns(tile: ir.Value) -> bool:
    uses = [use.owner for use in tile.uses]
    return bool(uses) and all(_is_columns(op) for op in uses)


def _is_columns(op: ir.OpView) -> bool:
    if op.operation.name != "cuda_tile.extract" or not is_tile(op.result):
        return False
    return op.result.type.shape[0] == op.source.type.shape[0]
