"""Which multiplies two CTAs of a pair can do together: those whose operands TMA loads alike in both."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.cuda_tile.types import PartitionViewType
from tilec.dialect.mlir import ir
from tilec.lowering.plan.matrix.accumulator import accumulators
from tilec.lowering.plan.matrix.operand_source import OperandSource, operand_source
from tilec.lowering.plan.matrix.row_loads import has_known_control, has_known_position
from tilec.lowering.plan.matrix.unit_choice import unit_for
from tilec.lowering.target import Target
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.access.tensor_maps import tensor_map_for
from tilec.lowering.tile_to_gpu.access.tile_hints import allows_tma

PAIR = 2
# PTX ISA 9.7.16.2.1, table 39: the limits of all kinds of pairs.
COLUMN_STEP, MOST_COLUMNS = 32, 256
# Half of the columns of a right operand in which they are contiguous is at least a row of the widest swizzle.
_SWIZZLE_BYTES = 128
_BITS_PER_BYTE = 8
# The fewest warps of a block: the unit of a multiply does not depend on more.
_WARPS = 4


def has_columns_of_pair(op: ir.OpView) -> bool:
    """Whether a pair can multiply this number of columns."""
    columns = op.acc.type.shape[1]
    return columns % COLUMN_STEP == 0 and columns <= MOST_COLUMNS


def fit_tensor_memory(multiplies: Sequence[ir.OpView], target: Target) -> bool:
    """Whether the tensor memory of a CTA holds its rows, at most 128, of all accumulators."""
    places = dict.fromkeys(accumulators(multiplies).values())
    return sum(place.type.shape[1] for place in places) <= target.tensor_memory_columns


def is_done_by_pairs(op: ir.OpView, target: Target, order: MemoryOrder) -> bool:
    """Whether TMA loads both operands, and both CTAs run the multiply equally often."""
    unit, _ = unit_for(op, target, _WARPS)
    if unit is None or not unit.accumulates_in_tensor_memory or not has_known_control(op):
        return False
    lhs, rhs = _source_by_tma(op.lhs, target, order), _source_by_tma(op.rhs, target, order)
    return lhs is not None and rhs is not None and _has_halves(op.rhs, rhs)


def _source_by_tma(operand: ir.Value, target: Target, order: MemoryOrder) -> OperandSource | None:
    """The load of an operand if TMA copies adjacent tiles, from the same position in all CTAs but for their rows."""
    source = operand_source(operand)
    if isinstance(source, str) or not isinstance(source.load.view.type, PartitionViewType):
        return None
    is_allowed = allows_tma(source.load, target) and order.may_run_early(source.load)
    return source if is_allowed and has_known_position(source.load) else None


def _has_halves(rhs: ir.Value, source: OperandSource) -> bool:
    """Whether half of the columns have whole rows of the swizzle, if rows are along them."""
    map = tensor_map_for(source.load.view)
    if isinstance(map, str) or map.contiguous not in source.dimensions:
        return False
    half_bits = rhs.type.shape[1] // PAIR * element_bits(rhs.type.element)
    return source.dimensions.index(map.contiguous) == 0 or half_bits >= _SWIZZLE_BYTES * _BITS_PER_BYTE
