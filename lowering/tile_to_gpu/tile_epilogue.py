"""Loops of tiles whose multiplies wait until the sums of the tile before are read from tensor memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.target import TENSOR_MEMORY_COLUMNS
from tilec.lowering.tile_to_gpu.conversion import in_loop
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan
from tilec.lowering.tile_to_gpu.unit_choice import accumulator_columns

# So many warps hold 256 x 256 sums as 16-bit elements in 128 registers per thread (lowering/gpu/read_early.py).
READING_WARPS = 8


def waits_for_epilogue(plan: MatrixPlan) -> bool:
    """Whether a loop computes tiles with one accumulator, of which tensor memory does not hold a second one."""
    accumulators = list(dict.fromkeys(plan.accumulators.values()))
    if len(accumulators) != 1:
        return False
    (accumulator,) = accumulators
    columns = max(accumulator_columns(op.opview) for op in accumulator.multiplies)
    return 2 * columns > TENSOR_MEMORY_COLUMNS and accumulator.is_read_once and any(map(_is_in_loop, accumulator.reads))


def _is_in_loop(result: ir.Value) -> bool:
    """Whether a loop around the operations that sum up a result computes it again and again."""
    return not isinstance(result.owner, ir.Block) and in_loop(result.owner.opview)
