"""The plan of a kernel: the decisions for the whole kernel before it is converted to tile_gpu."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import BY_ROW, RUN
from tilec.dialect.tilex.prefetch import PrefetchOp
from tilec.dialect.walk import operations_below, operations_named
from tilec.errors import UnsupportedError, UsageError
from tilec.frozen import replace
from tilec.lowering.kernel_hints import tma_refusal
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.cluster_division import divide_among_ctas
from tilec.lowering.plan.followed_hints import carried_hints, entry_options, hint_remarks, occupancy_refusal
from tilec.lowering.plan.layout_assignment import assign_layouts
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, matrix_plan, matrix_plans, refusal_of_operand
from tilec.lowering.plan.matrix.row_loads import prefetch_map
from tilec.lowering.plan.matrix.runs_of_taps import StationaryTile
from tilec.lowering.plan.matrix.sharing import Sharing
from tilec.lowering.plan.matrix.tensor_operand import columns_without_sharing, place_operands
from tilec.lowering.plan.plan_remarks import plan_remarks
from tilec.lowering.plan.ring_tiles import plan_ring_tiles, staging_limit
from tilec.lowering.plan.sparse_multiplies import sparse_warp_counts
from tilec.lowering.plan.store_maps import store_map, store_maps
from tilec.lowering.plan.warp_choice import WARP_COUNTS, choose_warps, warps_refusal
from tilec.lowering.target import Target, share_of_block
from tilec.lowering.tile.analysis.acquires import ACQUIRING
from tilec.lowering.tile.analysis.divisibility import divisibility, divisor_of
from tilec.lowering.tile.analysis.im2col_tensor import tensor_of
from tilec.lowering.tile.analysis.replacing import erase_unused
from tilec.lowering.tile.analysis.value_analysis import forget_facts
from tilec.lowering.tile.expand.expand_packed_views import LOAD as PACKED_LOAD
from tilec.lowering.tile.expand.expand_packed_views import STORE as PACKED_STORE
from tilec.lowering.tile.expand.expand_packed_views import expand_other_packed_views, expand_packed_views
from tilec.lowering.tile.expand.expand_tilex import MAKER, expand
from tilec.lowering.tile_to_gpu.access.alignment import VECTOR_BYTES, element_bits
from tilec.lowering.tile_to_gpu.access.image_run import image_run, is_of_run
from tilec.lowering.tile_to_gpu.access.layouts import Layouts
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.access.packed_maps import packed_map_for
from tilec.lowering.tile_to_gpu.access.packing import refuse_partial_bytes
from tilec.lowering.tile_to_gpu.access.pointers import PointerVectors, pointer_vectors
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import im2col_map_for, im2col_store_map
from tilec.remarks import Loss, Remark

_LOAD, _STORE = "tilex.load_im2col_tko", "tilex.store_im2col_tko"


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
        stores: the stores, reductions and prefetches that TMA does, with their maps.
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
    expand_other_packed_views(entry)
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
    unconfirmed = ("fills_nan", "loads_halos", "clears_columns", "starts_at_any_row")
    target = replace(target, **dict.fromkeys(unconfirmed, given.allow_unconfirmed))
    target = replace(target, skips_rows=target.skips_rows and given.convolution == RUN)

    def chosen() -> tuple[MemoryOrder, Choice, MatrixPlan, str | None]:
        # The fence is one of each CTA, which does not wait for the acquires of others.
        order = MemoryOrder(list(operations_below(entry)), fences=division.cluster.value == 1)
        by_tma = order if given.tma else None
        made = _chosen(entry, target, given, options, sharing, by_tma)
        refusal = occupancy_refusal(entry, made[1], made[0].value, target, options.occupancy, sharing)
        if refusal is not None:
            made = _chosen(entry, target, given, replace(options, occupancy=1), sharing, by_tma)
        return order, *made, refusal

    order, worker, matrix, refusal = chosen()
    expanded = _expand_without_tma(entry, matrix, order if given.tma else None, target, given.convolution)
    if expanded:
        remarks += expanded
        order, worker, matrix, refusal = chosen()
    explained = {remark.location for remark in expanded if remark.location is not None}
    # The multiplies of a batch have one line and the same reasons.
    remarks += dict.fromkeys(plan_remarks(entry, matrix, given.tma, target, explained))
    warps, operations = worker.value, list(operations_below(entry))
    remarks += _atomic_remarks(entry)
    remarks += hint_remarks(entry, matrix, warps, target, options, refusal)
    vectors = pointer_vectors(entry, operations)
    layouts = assign_layouts(entry, matrix, warps, vectors)
    limit = staging_limit(matrix, entry, target, options.occupancy or 1 if refusal is None else 1)
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
        {**store_maps(operations, order, target, layouts, limit), **_prefetch_maps(operations)} if given.tma else {},
        carried_hints(matrix, target, options, refusal),
        tuple(remarks),
    )


def _prefetch_maps(operations: Iterable[ir.OpView]) -> dict[ir.Operation, TensorMap]:
    prefetches = [op for op in operations if op.operation.name == PrefetchOp.OPERATION_NAME]
    maps = {op.operation: prefetch_map(op, use_tma=True) for op in prefetches}
    return {op: map for op, map in maps.items() if isinstance(map, TensorMap)}


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

    blocks = options.occupancy or 1
    share = replace(target, tensor_memory_columns=share_of_block(target, blocks).tensor_memory_columns)

    def add_tiles(plan: MatrixPlan) -> None:
        plan_ring_tiles(plan, entry, target, order, blocks)

    if given.warps is not None:
        if given.warps not in WARP_COUNTS:
            raise UsageError(f"hint warps: expected one of {', '.join(map(str, WARP_COUNTS))}, got {given.warps}")
        matrix = matrix_plan(entry, target, given.warps, order, sharing)
        refusal = warps_refusal(matrix, given.warps)
        if refusal is not None:
            raise refusal
        place_operands(matrix, share, given.warps, sharing)
        add_tiles(matrix)
        return Choice(given.warps, f"option warps={given.warps}"), matrix
    plans = matrix_plans(entry, target, sparse_warp_counts(entry, target) or WARP_COUNTS, order, sharing)
    for plan in plans.values():
        add_tiles(plan)
    worker = choose_warps(entry, plans, options.warps)
    place_operands(plans[worker.value], share, worker.value, sharing)
    # The operands that threads store in shared memory are known now.
    add_tiles(plans[worker.value])
    return worker, plans[worker.value]


def _atomic_remarks(entry: ir.OpView) -> Iterator[Remark]:
    """A remark for each update that its order alone prevents from being a reduction."""
    for op in operations_named(entry, ("cuda_tile.atomic_rmw_tko", "tilex.atomic_rmw_tko")):
        order = op.memory_ordering_semantics
        if order in ACQUIRING and op.mode != "xchg" and not list(op.result.uses):
            message = (
                f"nothing uses the result of the atomic, but its order {order} has to read it: with order relaxed or "
                "release it is a reduction, which returns nothing"
            )
            yield Remark("atomic", message, source_location(op.operation.location), Loss("atomic"))


def _expand_without_tma(
    entry: ir.OpView, plan: MatrixPlan, order: MemoryOrder | None, target: Target, hint: str | None
) -> list[Remark]:
    """Expands each access that TMA does not do, all of them if there is no `order`; a remark for each.

    Raises UnsupportedError for a load through a view with a mode, which it has from the program or the `hint`.
    """
    views = operations_named(entry, (PACKED_LOAD, PACKED_STORE))
    packed = [op for op in views if _is_by_threads(op, plan, order, target)]
    packed_remarks = [_packed_remark(op, plan, target, order is not None) for op in packed]
    if packed:
        forget_facts()
        expand_packed_views(entry, lambda op: op not in packed)
    accesses = [op for op in operations_below(entry) if _is_expanded(op, plan, order, target)]
    remarks = [_remark(op, plan, target, order is not None, hint) for op in accesses]
    if accesses:
        forget_facts()
        expand(accesses)
    erase_unused(entry, MAKER)
    return packed_remarks + remarks


def _is_expanded(op: ir.OpView, plan: MatrixPlan, order: MemoryOrder | None, target: Target) -> bool:
    name = op.operation.name
    if name == _STORE:
        return order is None or store_map(op, order, target) is None
    tile = op.operation.results[0] if name == _LOAD else None
    if tile is None or tile in plan.loads or tile in plan.runs:
        return False
    return not isinstance(plan.stationary.get(tile), StationaryTile)


def _remark(op: ir.OpView, plan: MatrixPlan, target: Target, use_tma: bool, hint: str | None) -> Remark:
    is_load, mode, location = op.operation.name == _LOAD, op.view.type.mode, source_location(op.operation.location)
    reason = _reason(op, plan, target, use_tma)
    if is_load and mode is not None and mode == hint:
        raise UnsupportedError(f"convolution={hint} cannot be followed: {reason}; leave the hint out", location)
    if is_load and mode is not None:
        effect = (
            ", which numbers the pixels of tiles across rows"
            if mode in BY_ROW
            else " to gather the rows without im2col"
        )
        raise UnsupportedError(f"mode={mode} cannot be followed: {reason}; leave mode out{effect}", location)
    access, rows = ("load", "gather") if is_load else ("store", "scatter")
    message, narrow = f"the {access} through the im2col view is a {rows} of rows: {reason}", _narrow_access(op.view)
    return Remark("tma", message if narrow is None else f"{message}; {narrow}", location, Loss("access"))


def _is_by_threads(op: ir.OpView, plan: MatrixPlan, order: MemoryOrder | None, target: Target) -> bool:
    """Whether threads do an access of a packed view."""
    if op.operation.name == PACKED_STORE:
        return order is None or store_map(op, order, target) is None
    return op.operation.results[0] not in plan.loads


def _packed_remark(op: ir.OpView, plan: MatrixPlan, target: Target, use_tma: bool) -> Remark:
    reason = tma_refusal(op, target, use_tma)
    if op.operation.name == PACKED_STORE:
        map = packed_map_for(op, op.view.type.bits, target)
        otherwise = "the tile is too large to stage, or follows stores that do not use TMA"
        message = f"threads pack and store the elements: {reason or (map if isinstance(map, str) else otherwise)}"
    else:
        reason = reason or refusal_of_operand(op, plan)
        message = f"threads load the packed elements and convert them to f8E4M3FN: {reason}"
    return Remark("tma", message, source_location(op.operation.location), Loss("access"))


def _reason(op: ir.OpView, plan: MatrixPlan, target: Target, use_tma: bool) -> str:
    """Why TMA does not do an access."""
    refusal = tma_refusal(op, target, use_tma)
    if refusal is not None:
        return refusal
    if op.operation.name == _STORE:
        map = im2col_store_map(op.view, target)
        return map if isinstance(map, str) else "the tile is too large to stage, or follows stores that do not use TMA"
    run = image_run(op, target) if is_of_run(op) else plan.stationary.get(op.operation.results[0])
    map = run if isinstance(run, str) else im2col_map_for(op, target, rounds_to_tf32=False)
    if isinstance(map, str):
        return map
    return refusal_of_operand(op, plan) or "only operands of matrix multiplies are loaded by TMA"


def _narrow_access(view: ir.Value) -> str | None:
    """The reason why accesses are narrower than the alignment of the rows and the tile allows, or None.

    The last access of a row must not exceed the channels, so their number limits the width of all.
    """
    tensor, type = tensor_of(view), view.type
    if type.tensor_view.strides[-1] != 1:
        return None
    size = element_bits(type.element) // 8
    aligned = math.gcd(divisibility(tensor.base), tensor.unit * size, type.tile_shape[1] * size, VECTOR_BYTES)
    width = math.gcd(aligned, divisor_of(tensor.extents[-1]) * size)
    if width == aligned:
        return None
    expected = f"the number of channels is not known to be a multiple of {aligned // size}"
    return f"each access has {width} {'byte' if width == 1 else 'bytes'}, as {expected}"
