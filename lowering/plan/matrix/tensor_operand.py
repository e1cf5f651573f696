"""The lhs operands that tcgen05 reads from tensor memory: computed from sums of a multiply, so a thread has a row.

Where accumulators leave no columns, such an operand may have those of the sums that it is computed from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.lowering.layout.tensor_layout import CELL_BYTES, TensorLayout
from tilec.lowering.matrix_unit import STEP_BYTES
from tilec.lowering.plan.matrix.accumulator import Accumulator
from tilec.lowering.plan.matrix.kept_operands import keep_operands, stored_layout
from tilec.lowering.plan.matrix.loop_resources import LoopResources
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, Multiply, Operand
from tilec.lowering.plan.matrix.operand_source import sums_behind
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.unit_choice import accumulator_columns, factor_columns
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import in_loop
from tilec.lowering.tile.expand.widen_operands import is_widened
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes, per_byte

# Each of four warps accesses lanes of its own.
_WARPS_OF_LANES = 4


def place_operands(plan: MatrixPlan, target: Target, warps: int, sharing: Sharing) -> None:
    """Places such operands of a plan in the columns that accumulators leave, in program order."""
    used = used_columns(plan, shares=sharing.operands)
    # By value and block: multiplies side by side read an operand in one place.
    placed: dict[tuple[ir.Value, ir.Block], Operand] = {}
    for result, multiply in list(plan.multiplies.items()):
        layout = _layout(multiply, warps)
        if layout is None:
            continue
        over, key = None, (multiply.lhs.value, multiply.op.operation.block)
        if key in placed:
            plan.multiplies[result] = replace(multiply, lhs=placed[key])
            continue
        if used.total_with(multiply.op, layout.columns) <= target.tensor_memory_columns:
            used.add(multiply.op, layout.columns)
        else:
            over = next(_replaced_sums(multiply, plan), None)
            if over is None or not _has_pieces(multiply, layout, warps):
                continue
            layout = _over(layout, over, warps)
        registers = layout.registers(warps)
        operand = replace(multiply.lhs, tensor_layout=layout, register_layout=registers, over=over, refusal=None)
        plan.multiplies[result] = replace(multiply, lhs=operand)
        if over is None:
            placed[key] = operand
    keep_operands(plan, target, warps, used)


def columns_without_sharing(plan: MatrixPlan) -> int:
    """The columns of accumulators, operands and scale factors of a plan, if no two values have the same columns."""
    used, placed = used_columns(plan, shares=False), set[Operand]()
    for multiply in plan.multiplies.values():
        if multiply.lhs.tensor_layout is not None and multiply.lhs.over is None and multiply.lhs not in placed:
            placed.add(multiply.lhs)
            used.add(multiply.op, multiply.lhs.tensor_layout.columns)
    return used.total()


def used_columns(plan: MatrixPlan, *, shares: bool) -> LoopResources:
    """The columns of accumulators and scale factors; `shares` is whether loops that follow each other share columns."""
    used = LoopResources(shares, sum(factor_columns(multiply.op) for multiply in plan.multiplies.values()))
    used.add_accumulators(dict.fromkeys(plan.accumulators.values()), accumulator_columns)
    return used


def _has_pieces(multiply: Multiply, layout: TensorLayout, warps: int) -> bool:
    """Whether four warps hold all columns of a row, or each four of them whole steps of the multiply, in a loop.

    Outside of loops, accumulators of multiplies one after the other share their columns instead.
    """
    pieces = warps // _WARPS_OF_LANES
    if pieces == 1:
        return True
    is_divided = layout.lanes == TENSOR_LANES and layout.blocks == 1 and in_loop(multiply.op)
    return is_divided and layout.block_columns % (pieces * STEP_BYTES // CELL_BYTES) == 0


def _over(layout: TensorLayout, sums: ir.Value, warps: int) -> TensorLayout:
    """The layout with which each thread replaces columns that it has read itself: a row, or its warps' piece of it."""
    pieces = warps // _WARPS_OF_LANES
    return layout if pieces == 1 else replace(layout, pieces=pieces, apart=sums.type.shape[1] // pieces)


def _replaced_sums(multiply: Multiply, plan: MatrixPlan) -> Iterator[ir.Value]:
    """The sums whose columns the lhs may have: read once, before it is computed, and then no longer needed."""
    lhs, block = multiply.lhs.value, multiply.op.operation.block
    taken = [other.lhs.over for other in plan.multiplies.values() if other.lhs.over is not None]
    row_bytes = element_bytes(lhs.type.element) * lhs.type.shape[1]
    for sums in sums_behind(lhs):
        accumulator = plan.accumulators.get(sums)
        if accumulator is None or not _is_of_one_block(accumulator) or sums.owner.operation.block != block:
            continue
        rows, columns = sums.type.shape
        if sums not in taken and rows == lhs.type.shape[0] and row_bytes <= CELL_BYTES * columns:
            yield sums


def _is_of_one_block(accumulator: Accumulator) -> bool:
    """Whether threads replace the columns that they have read themselves: each has rows of such an accumulator."""
    return accumulator.is_of_one_block and accumulator.is_read_once and not accumulator.is_transposed


def _layout(multiply: Multiply, warps: int) -> TensorLayout | None:
    """The layout of the lhs in tensor memory; None if it is loaded by TMA, or if its rows are not in threads."""
    lhs, type = multiply.lhs, multiply.lhs.value.type
    if not multiply.unit.accumulates_in_tensor_memory or multiply.scales:
        return None
    if lhs.map is not None or lhs.stationary is not None:
        return None
    is_of_sums = lhs.run is not None or any(sums_behind(lhs.value))
    if per_byte(type.element) != 1 or is_widened(lhs.value) or not is_of_sums:
        return None
    lanes = 64 if type.shape[0] == 64 else 128
    return stored_layout(type, lanes, warps)
