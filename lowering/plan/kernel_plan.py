"""The plan of a kernel: the decisions for the whole kernel before it is converted to tile_gpu."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_named
from tilec.errors import UsageError
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.cluster_division import divide_among_ctas
from tilec.lowering.plan.followed_hints import carried_hints, entry_options, hint_remarks, occupancy_refusal
from tilec.lowering.plan.im2col_fallback import expand_without_tma
from tilec.lowering.plan.layout_assignment import assign_layouts
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, matrix_plan, matrix_plans
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.tensor_operand import columns_without_sharing, place_operands
from tilec.lowering.plan.plan_remarks import plan_remarks
from tilec.lowering.plan.store_maps import store_maps
from tilec.lowering.plan.warp_choice import WARP_COUNTS, choose_warps, warps_refusal
from tilec.lowering.target import Target
from tilec.lowering.tile.expand.expand_packed_views import expand_packed_views
from tilec.lowering.tile_to_gpu.access.layouts import Layouts
from tilec.lowering.tile_to_gpu.access.memory_order import ACQUIRING, MemoryOrder
from tilec.lowering.tile_to_gpu.access.packing import refuse_partial_bytes
from tilec.lowering.tile_to_gpu.access.pointer_vectors import PointerVectors, pointer_vectors
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.remarks import Remark


@dataclass(frozen=True)
class Plan:
    """The decisions for an entry that is already divided among the CTAs of a cluster.

    Attributes:
        entry: the entry that the plan is for.
        target: the target.
        options: the options of the compile, completed by the hints of the entry.
        sharing: which values in tensor memory share columns.
        cluster: the CTAs that compute each tile block; of several, the last argument of the entry is the number.
        worker_warps: the warps that compute.
        matrix: the unit of each multiply, and how operands and tiles are loaded.
        order: the order of the accesses of memory.
        vectors: the elements of an instruction, of accesses through pointers.
        layouts: the layouts of register tiles.
        stores: the stores and reductions that TMA does, with their maps.
        hints: the attributes of the tile_gpu.kernel that later stages follow.
        remarks: the remarks about hints and fast paths that the plan does not follow.
        columns: the counted columns of tensor memory, where values have to share them; None if they are not counted.
    """

    entry: ir.OpView
    target: Target
    options: CompileOptions
    sharing: Sharing
    cluster: Choice
    worker_warps: Choice
    matrix: MatrixPlan
    order: MemoryOrder
    vectors: PointerVectors
    layouts: Layouts
    stores: Mapping[ir.Operation, TensorMap]
    hints: Mapping[str, int]
    remarks: tuple[Remark, ...]
    columns: int | None = None

    @property
    def ctas(self) -> int:
        """The CTAs that compute each tile block."""
        return self.cluster.value

    @property
    def warps(self) -> int:
        """The warps that compute."""
        return self.worker_warps.value

    @property
    def most_columns(self) -> int:
        """The columns of tensor memory that the kernel needs if no values share any."""
        return columns_without_sharing(self.matrix)


@dataclass(frozen=True)
class Division:
    """The options with the hints of an entry, the CTAs among which it is divided, and the remarks."""

    options: CompileOptions
    cluster: Choice
    remarks: tuple[Remark, ...]


def divide_entry(entry: ir.OpView, target: Target, given: CompileOptions) -> Division:
    """Divides an entry among the CTAs of a cluster, in place; raises UnsupportedError."""
    remarks: list[Remark] = []
    expand_packed_views(entry)
    refuse_partial_bytes(operations_below(entry))
    options = entry_options(entry, target, given)
    cluster = divide_among_ctas(entry, target, options, remarks)
    return Division(options, cluster, tuple(remarks))


def make_plan(entry: ir.OpView, division: Division, target: Target, given: CompileOptions, sharing: Sharing) -> Plan:
    """The plan of an entry that is divided; accesses that TMA cannot do are expanded in place.

    Of the options, `warps` (4, 8 or 16 compute warps) and `tma` (False: loads and stores go through registers) count
    here. Raises UnsupportedError.
    """
    options, remarks = division.options, list(division.remarks)
    worker, matrix, order = _expanded(entry, target, given, options, sharing, remarks)
    warps, operations = worker.value, list(operations_below(entry))
    remarks += _atomic_remarks(entry)
    refusal = occupancy_refusal(entry, matrix, warps, options.occupancy)
    remarks += hint_remarks(entry, matrix, warps, target, options, refusal)
    vectors = pointer_vectors(entry, operations)
    layouts = assign_layouts(entry, matrix, warps, vectors)
    return Plan(
        entry,
        target,
        options,
        sharing,
        division.cluster,
        worker,
        matrix,
        order,
        vectors,
        layouts,
        store_maps(operations, order, target, layouts) if given.tma else {},
        carried_hints(matrix, target, options, refusal),
        tuple(remarks),
    )


def _expanded(
    entry: ir.OpView,
    target: Target,
    given: CompileOptions,
    options: CompileOptions,
    sharing: Sharing,
    remarks: list[Remark],
) -> tuple[Choice, MatrixPlan, MemoryOrder]:
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
) -> tuple[Choice, MatrixPlan]:
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
        return Choice(given.warps, f"option warps={given.warps}"), matrix
    plans = matrix_plans(entry, target, WARP_COUNTS, order, sharing)
    worker = choose_warps(entry, plans, options.warps)
    place_operands(plans[worker.value], target, worker.value, sharing)
    return worker, plans[worker.value]


def _atomic_remarks(entry: ir.OpView) -> Iterator[Remark]:
    """A remark for each update that its order alone prevents from being a reduction."""
    for op in operations_named(entry, ("cuda_tile.atomic_rmw_tko",)):
        if op.mode == "xchg" or list(op.result.uses):
            continue
        order = op.memory_ordering_semantics
        if order in ACQUIRING:
            message = (
                f"nothing uses the result of the atomic, but its order {order} has to read it: with order relaxed or "
                "release it is a reduction, which returns nothing"
            )
            yield Remark("atomic", message, source_location(op.operation.location))
