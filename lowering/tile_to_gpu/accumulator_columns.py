"""Accumulators in tensor memory of which only columns are read into registers (lowering/gpu/divide_tensor_loads.py)."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.layouts import is_tile
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, Multiply


def read_by_columns(plan: MatrixPlan) -> dict[ir.Value, Multiply]:
    """The results of multiplies, or of the loops that carry them, that are used by extracts of columns alone."""
    found = {}
    for multiply in plan.multiplies.values():
        accumulator = multiply.accumulator
        if accumulator is not None and _has_only_columns(accumulator.result):
            found[accumulator.result] = multiply
    return found


def without_registers(plan: MatrixPlan) -> set[ir.Value]:
    """The tiles in tensor memory that are never in registers as a whole."""
    return {tile for value, multiply in read_by_columns(plan).items() for tile in _in_place(value, multiply)}


def _in_place(value: ir.Value, multiply: Multiply) -> Iterator[ir.Value]:
    yield from (value, multiply.op.operation.results[0], multiply.op.acc)
    accumulator = multiply.accumulator
    if accumulator is not None and accumulator.starts_at_zero:
        yield accumulator.initial


def _has_only_columns(tile: ir.Value) -> bool:
    uses = [use.owner for use in tile.uses]
    return bool(uses) and all(_is_columns(op) for op in uses)


def _is_columns(op: ir.OpView) -> bool:
    if op.operation.name != "cuda_tile.extract" or not is_tile(op.result):
        return False
    return op.result.type.shape[0] == op.source.type.shape[0]
