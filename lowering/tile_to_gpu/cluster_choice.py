"""Whether a cluster of CTAs computes each tile block of an entry without a hint.

    mmaf : 256x64, 64x128 -> 256x128 in a loop, with both operands by TMA   ->   2 CTAs, if pairs are faster
    reduce : 1x65536 -> 1   ->   as many CTAs as have the registers for the rows

The conditions for pairs are those of `share-loads`, so that the CTAs multiply in pairs (dialect/tile_gpu/README.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilec.compile_options import CompileOptions
from tilec.dialect.cuda_tile.types import PartitionViewType
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import CLUSTERS
from tilec.dialect.walk import operations_below
from tilec.lowering.kernel_hints import CLUSTER_CHOICE
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.pairs import PairTimes, pair_times
from tilec.lowering.target import LANES, TENSOR_LANES, Target
from tilec.lowering.tile.divided_dimensions import MULTIPLIES
from tilec.lowering.tile_to_gpu.accumulator import MULTIPLIES as ALL_MULTIPLIES
from tilec.lowering.tile_to_gpu.accumulator import accumulators
from tilec.lowering.tile_to_gpu.alignment import element_bits
from tilec.lowering.tile_to_gpu.conversion import in_loop
from tilec.lowering.tile_to_gpu.matrix_plan import matrix_plan
from tilec.lowering.tile_to_gpu.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.operand_source import OperandSource, operand_source
from tilec.lowering.tile_to_gpu.row_loads import has_known_control, has_known_position
from tilec.lowering.tile_to_gpu.tensor_maps import tensor_map_for
from tilec.lowering.tile_to_gpu.tile_hints import allows_tma
from tilec.lowering.tile_to_gpu.unit_choice import unit_for
from tilec.lowering.tile_to_gpu.warp_choice import WARP_COUNTS, registers_available, registers_needed

PAIR = 2
_ROWS = PAIR * TENSOR_LANES
# PTX ISA 9.7.16.2.1, table 39: what all kinds of pairs have.
_COLUMN_STEP, _MOST_COLUMNS = 32, 256
# Half of the columns of a right operand in which they are contiguous is at least a row of the widest swizzle.
_SWIZZLE_BYTES = 128
_BITS_PER_BYTE = 8
# The fewest warps of a block: what unit multiplies does not depend on more.
_WARPS = 4
_REDUCE = "cuda_tile.reduce"
# Elements per thread of a row that needs no look at registers: a quarter of those that a thread has at most.
_MANY = 64
# Each CTA would do what the program asks for once.
_ONCE = ("cuda_tile.assert", "cuda_tile.alloca")


@dataclass(frozen=True)
class ClusterChoice:
    """The number of CTAs per tile block, and why there are several."""

    ctas: int
    reason: str


def choose_cluster(entry: ir.OpView, target: Target, options: CompileOptions) -> ClusterChoice | None:
    """The CTAs that compute each tile block; None for one, and if hints say how many CTAs or blocks there are."""
    operations = list(operations_below(entry))
    if options.num_ctas is not None or options.occupancy not in (None, 1):
        return None
    if any(op.operation.name in _ONCE for op in operations):
        return None
    multiplies = [op for op in operations if op.operation.name in ALL_MULTIPLIES]
    if not multiplies:
        return _for_long_rows(entry, target, options, operations)
    times = _times_of_pairs(target, options, operations, multiplies)
    return None if times is None else ClusterChoice(PAIR, str(times))


# ---- long rows


def _for_long_rows(
    entry: ir.OpView, target: Target, options: CompileOptions, operations: list[ir.OpView]
) -> ClusterChoice | None:
    """So many CTAs that a thread has the registers for its elements of the rows."""
    warps = options.warps if options.warps in WARP_COUNTS else WARP_COUNTS[-1]
    if not any(_has_long_rows(op, warps) for op in operations):
        return None
    plan = matrix_plan(entry, target, warps, MemoryOrder(operations) if options.tma else None)
    needed, available = registers_needed(entry, plan, warps), registers_available(plan, warps)
    ctas = next((ctas for ctas in CLUSTERS if needed <= ctas * available), CLUSTERS[-1])
    reason = f"a block would need {needed} registers per thread of {available}"
    return ClusterChoice(ctas, reason) if ctas > 1 else None


def _has_long_rows(op: ir.OpView, warps: int) -> bool:
    """Whether a thread would have many elements of a tile that a reduction reads."""
    return op.operation.name == _REDUCE and prod(op.operation.operands[0].type.shape) > _MANY * LANES * warps


# ---- pairs


def _times_of_pairs(
    target: Target, options: CompileOptions, operations: list[ir.OpView], multiplies: list[ir.OpView]
) -> PairTimes | None:
    """The predicted times if pairs are possible and faster."""
    if not (target.tensor_memory_columns and options.tma and options.roles and options.pipeline):
        return None
    if not all(_has_shape_of_pair(op) for op in multiplies) or not _fit(multiplies, target):
        return None
    order = MemoryOrder(operations)
    if not all(_is_done_by_pairs(op, target, order) for op in multiplies):
        return None
    times = [_times(op, target) for op in multiplies]
    return times[0] if all(each.pair_is_faster for each in times) else None


def _has_shape_of_pair(op: ir.OpView) -> bool:
    if op.operation.name not in MULTIPLIES or op.acc.type.rank != 2 or not in_loop(op):
        return False
    rows, columns = op.acc.type.shape
    return rows == _ROWS and columns % _COLUMN_STEP == 0 and columns <= _MOST_COLUMNS


def _fit(multiplies: list[ir.OpView], target: Target) -> bool:
    """Whether the tensor memory of a CTA holds its rows of all accumulators."""
    places = dict.fromkeys(accumulators(multiplies).values())
    return sum(place.type.shape[1] for place in places) <= target.tensor_memory_columns


def _is_done_by_pairs(op: ir.OpView, target: Target, order: MemoryOrder) -> bool:
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


def _times(op: ir.OpView, target: Target) -> PairTimes:
    rows, columns = op.acc.type.shape
    tile = rows, columns, op.lhs.type.shape[1]
    return pair_times(tile, element_bits(op.lhs.type.element), target, device_of(target.name))


def record_choice(entry: ir.OpView, choice: ClusterChoice) -> None:
    """Notes the reason at the entry, for the report of the cost."""
    entry.operation.attributes[CLUSTER_CHOICE] = ir.StringAttr.get(choice.reason)
