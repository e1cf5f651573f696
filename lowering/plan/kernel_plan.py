"""The plan of a kernel: what is decided for all of it before it is converted to tile_gpu."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below
from tilec.errors import UsageError
from tilec.lowering.plan.sharing import Sharing
from tilec.lowering.target import Target
from tilec.lowering.tile.expand_packed_views import expand_packed_views
from tilec.lowering.tile_to_gpu.atomic_remarks import atomic_remarks
from tilec.lowering.tile_to_gpu.cluster_division import divide_among_ctas
from tilec.lowering.tile_to_gpu.followed_hints import carried_hints, entry_options, hint_remarks, occupancy_refusal
from tilec.lowering.tile_to_gpu.im2col_fallback import expand_without_tma
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, matrix_plan, matrix_plans
from tilec.lowering.tile_to_gpu.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.packing import refuse_partial_bytes
from tilec.lowering.tile_to_gpu.plan_remarks import plan_remarks
from tilec.lowering.tile_to_gpu.tensor_operand import columns_without_sharing, place_operands
from tilec.lowering.tile_to_gpu.warp_choice import WARP_COUNTS, choose_warps, warps_refusal
from tilec.remarks import Remark


@dataclass(frozen=True)
class Plan:
    """What is decided for an entry, which is divided among the CTAs of a cluster already.

    Attributes:
        entry: the entry that the plan is for.
        target: the target.
        options: the options of the compile, completed by the hints of the entry.
        sharing: which values in tensor memory share columns.
        ctas: the CTAs that compute each tile block; the last argument of an entry of several is the number of the CTA.
        warps: the warps that compute.
        matrix: the unit of each multiply, and how operands and tiles reach memory.
        order: the order of the accesses of memory.
        hints: the attributes of the tile_gpu.kernel that later stages follow.
        remarks: what was not possible.
    """

    entry: ir.OpView
    target: Target
    options: CompileOptions
    sharing: Sharing
    ctas: int
    warps: int
    matrix: MatrixPlan
    order: MemoryOrder
    hints: Mapping[str, int]
    remarks: tuple[Remark, ...]

    @property
    def most_columns(self) -> int:
        """The columns of tensor memory that the kernel needs if no values share any."""
        return columns_without_sharing(self.matrix)


@dataclass(frozen=True)
class Division:
    """The CTAs among which an entry is divided, and what was not possible."""

    ctas: int
    remarks: tuple[Remark, ...]


def divide_entry(entry: ir.OpView, target: Target, given: CompileOptions) -> Division:
    """Divides an entry among the CTAs of a cluster, in place; raises UnsupportedError."""
    remarks: list[Remark] = []
    expand_packed_views(entry)
    refuse_partial_bytes(operations_below(entry))
    ctas = divide_among_ctas(entry, target, entry_options(entry, target, given), remarks)
    return Division(ctas, tuple(remarks))


def make_plan(entry: ir.OpView, division: Division, target: Target, given: CompileOptions, sharing: Sharing) -> Plan:
    """The plan of an entry that is divided; accesses that TMA cannot do are expanded in place.

    Of the options, `warps` (4, 8 or 16 compute warps) and `tma` (False: loads and stores go through registers) count
    here. Raises UnsupportedError.
    """
    options = entry_options(entry, target, given)
    remarks = list(division.remarks)
    warps, matrix, order = _expanded(entry, target, given, options, sharing, remarks)
    remarks += atomic_remarks(entry)
    refusal = occupancy_refusal(entry, matrix, warps, options.occupancy)
    remarks += hint_remarks(entry, matrix, warps, target, options, refusal)
    hints = carried_hints(matrix, target, options, refusal)
    return Plan(entry, target, options, sharing, division.ctas, warps, matrix, order, hints, tuple(remarks))


def _expanded(
    entry: ir.OpView,
    target: Target,
    given: CompileOptions,
    options: CompileOptions,
    sharing: Sharing,
    remarks: list[Remark],
) -> tuple[int, MatrixPlan, MemoryOrder]:
    """The warps that compute, the units and the memory order, with the accesses of tilex that are left for TMA."""
    order = MemoryOrder(list(operations_below(entry)))
    warps, matrix = _chosen(entry, target, given, options, sharing, order if given.tma else None)
    expanded = expand_without_tma(entry, matrix, order if given.tma else None, target)
    if expanded:
        remarks += expanded
        order = MemoryOrder(list(operations_below(entry)))
        warps, matrix = _chosen(entry, target, given, options, sharing, order if given.tma else None)
    explained = {remark.location for remark in expanded if remark.location is not None}
    # The multiplies of a batch have one line and the same reasons.
    remarks += dict.fromkeys(plan_remarks(entry, matrix, given.tma, target, explained))
    return warps, matrix, order


def _chosen(
    entry: ir.OpView,
    target: Target,
    given: CompileOptions,
    options: CompileOptions,
    sharing: Sharing,
    order: MemoryOrder | None,
) -> tuple[int, MatrixPlan]:
    """The number of warps that compute, and how the multiplies are done with them.

    The option `warps` that is `given` must be followed; the hint of the entry is ignored if it cannot be.
    """
    if given.warps is not None:
        if given.warps not in WARP_COUNTS:
            raise UsageError(f"hint warps: expected one of {', '.join(map(str, WARP_COUNTS))}, got {given.warps}")
        matrix = matrix_plan(entry, target, given.warps, order, sharing)
        refusal = warps_refusal(matrix, given.warps)
        if refusal is not None:
            raise refusal
        place_operands(matrix, target, given.warps, sharing)
        return given.warps, matrix
    plans = matrix_plans(entry, target, WARP_COUNTS, order, sharing)
    warps = choose_warps(entry, plans, options.warps)
    place_operands(plans[warps], target, warps, sharing)
    return warps, plans[warps]
