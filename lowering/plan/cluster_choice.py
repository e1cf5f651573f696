"""Whether a cluster of CTAs computes each tile block of an entry without a hint.

    mmaf : 256x64, 64x128 -> 256x128 in a loop, with both operands by TMA   ->   2 CTAs, if pairs are faster
    reduce : 1x65536 -> 1   ->   as many CTAs as have the registers for the rows

The conditions for pairs are those of `share-loads`, so that the CTAs multiply in pairs (dialect/tile_gpu/README.md).
"""

from __future__ import annotations

from math import prod

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import CLUSTERS
from tilec.dialect.walk import operations_below
from tilec.lowering.kernel_hints import CLUSTER_CHOICE
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.pairs import PairTimes, pair_times
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.matrix.accumulator import MULTIPLIES as ALL_MULTIPLIES
from tilec.lowering.plan.matrix.matrix_plan import matrix_plan
from tilec.lowering.plan.matrix.pair_operands import (
    COLUMN_STEP,
    MOST_COLUMNS,
    PAIR,
    fit_tensor_memory,
    has_columns_of_pair,
    is_done_by_pairs,
)
from tilec.lowering.plan.warp_choice import WARP_COUNTS, registers_available, registers_needed
from tilec.lowering.target import LANES, TENSOR_LANES, Target
from tilec.lowering.tile.analysis.terminators import in_loop
from tilec.lowering.tile.divide.divided_dimensions import MULTIPLIES
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder

_ROWS = PAIR * TENSOR_LANES
_REDUCE = "cuda_tile.reduce"
# Elements per thread of a row that needs no look at registers: a quarter of those that a thread has at most.
_MANY = 64
# Each CTA would do what the program asks for once.
_ONCE = ("cuda_tile.assert", "cuda_tile.alloca")


def choose_cluster(entry: ir.OpView, target: Target, options: CompileOptions) -> Choice:
    """The CTAs that compute each tile block of an entry without the hint num_ctas."""
    operations = list(operations_below(entry))
    if options.occupancy not in (None, 1):
        return Choice(1, f"hint occupancy={options.occupancy}")
    if any(op.operation.name in _ONCE for op in operations):
        return Choice(1, "each CTA would execute an assertion or an allocation of the program")
    multiplies = [op for op in operations if op.operation.name in ALL_MULTIPLIES]
    if not multiplies:
        return _for_long_rows(entry, target, options, operations)
    refusal = _pair_refusal(target, options, operations, multiplies)
    if refusal is not None:
        return Choice(1, refusal)
    times = [_times(op, target) for op in multiplies]
    ctas, other = (PAIR, 1) if all(each.pair_is_faster for each in times) else (1, PAIR)
    return Choice(ctas, str(times[0]), str(other))


# ---- long rows


def _for_long_rows(entry: ir.OpView, target: Target, options: CompileOptions, operations: list[ir.OpView]) -> Choice:
    """So many CTAs that a thread has the registers for its elements of the rows."""
    warps = options.warps if options.warps in WARP_COUNTS else WARP_COUNTS[-1]
    if not any(_has_long_rows(op, warps) for op in operations):
        return Choice(1)
    plan = matrix_plan(entry, target, warps, MemoryOrder(operations) if options.tma else None)
    needed, available = registers_needed(entry, plan, warps), registers_available(plan, warps)
    ctas = next((ctas for ctas in CLUSTERS if needed <= ctas * available), CLUSTERS[-1])
    if ctas == 1:
        return Choice(1, f"a block needs {needed} registers per thread of {available}", str(CLUSTERS[1]))
    return Choice(ctas, f"a block would need {needed} registers per thread of {available}", str(ctas // 2))


def _has_long_rows(op: ir.OpView, warps: int) -> bool:
    """Whether a thread would have many elements of a tile that a reduction reads."""
    return op.operation.name == _REDUCE and prod(op.operation.operands[0].type.shape) > _MANY * LANES * warps


# ---- pairs


def _pair_refusal(
    target: Target, options: CompileOptions, operations: list[ir.OpView], multiplies: list[ir.OpView]
) -> str | None:
    """Why two CTAs cannot multiply together; None if they can."""
    if not target.multiplies_in_pairs:
        return f"CTAs of {target.name} do not multiply in pairs"
    if not (options.tma and options.roles and options.pipeline):
        return "pairs need the options tma, roles and pipeline"
    if not all(_has_shape_of_pair(op) for op in multiplies):
        return f"a pair multiplies {_ROWS} rows in a loop, and {COLUMN_STEP} to {MOST_COLUMNS} columns"
    if not fit_tensor_memory(multiplies, target):
        return "the accumulators of a pair do not fit tensor memory"
    order = MemoryOrder(operations)
    if not all(is_done_by_pairs(op, target, order) for op in multiplies):
        return "TMA does not load both operands of each multiply from known positions"
    return None


def _has_shape_of_pair(op: ir.OpView) -> bool:
    if op.operation.name not in MULTIPLIES or op.acc.type.rank != 2 or not in_loop(op):
        return False
    return op.acc.type.shape[0] == _ROWS and has_columns_of_pair(op)


def _times(op: ir.OpView, target: Target) -> PairTimes:
    rows, columns = op.acc.type.shape
    tile = rows, columns, op.lhs.type.shape[1]
    return pair_times(tile, element_bits(op.lhs.type.element), target, device_of(target.name))


def record_choice(entry: ir.OpView, choice: Choice) -> None:
    """Notes the reason at the entry, for the report of the cost."""
    entry.operation.attributes[CLUSTER_CHOICE] = ir.StringAttr.get(choice.reason)
