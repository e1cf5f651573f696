"""TMA copies between global and shared memory (PTX ISA 9.7.9.27)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import PAIR
from tilec.dialect.tile_gpu.operations.memory import StoreWaitOp
from tilec.dialect.tile_gpu.operations.tensor_map import IM2COL_KINDS
from tilec.dialect.tile_gpu.operations.tma import (
    GATHERED_ROWS,
    TmaGatherOp,
    TmaLoadOp,
    TmaPrefetchOp,
    TmaStoreOp,
    loaded_parts,
    outermost_wide,
    row_boxes,
)
from tilec.lowering.gpu.memory.boxes import box_starts
from tilec.lowering.gpu.memory.shared_plan import PRODUCER, ChannelPlan, shared_layout, stored_layout
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, store, widest
from tilec.lowering.gpu_to_ptx.memory.channel_position import barrier_address
from tilec.lowering.gpu_to_ptx.memory.map_address import map_address, own_coordinates, table_word
from tilec.lowering.gpu_to_ptx.registers.cluster import (
    address_in_cta,
    mask_of_cluster,
    mask_of_itself,
    mask_of_pair,
    pair_leader,
)
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element_named, element_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, counted
from tilec.lowering.gpu_to_ptx.registers.linear_index import linear_index
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.layout.scale_layout import (
    ATOM_FACTORS,
    MetadataLayout,
    ScaleLayout,
    is_scale_layout,
    parse_scale_layout,
)
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.target import LANES, targets_with


def _panels(lowering: Lowering, operation: ir.Operation, buffer: ir.Value) -> list[tuple[ir.Value, list[ir.Value]]]:
    """The address and box coordinates of each box of a buffer: of each panel, and of its rows beyond a box."""
    coordinates = [lowering.scalar(value) for value in own_coordinates(operation.opview)]
    base = _part_address(lowering, operation, buffer)
    if is_scale_layout(buffer.type.layout):
        scales = parse_scale_layout(buffer.type.layout, buffer.type.shape)
        records = scales.records if isinstance(scales, MetadataLayout) else 1
        starts = [lowering.plus(coordinates[0], record * ATOM_FACTORS) for record in range(records)]
        offsets = [scales.atom_offset(0, record) for record in range(records)]
        return [
            (lowering.plus(base, offset), [start, *coordinates[1:]])
            for offset, start in zip(offsets, starts, strict=True)
        ]
    layout, op = shared_layout(buffer.type), operation.opview
    if op.map.owner.kind is None:
        part_bytes = math.prod(op.map.owner.box[1:]) * layout.row_bytes
        starts = box_starts(op)
    else:
        # The slices of a panel are at an offset.
        step, part_bytes = 0 if "slices" in operation.attributes else op.map.owner.box[0], 0
        others = [0] * (len(coordinates) - 1)
        starts = [[panel * step, *others] for panel in range(layout.panels)]
    copies = []
    for number, start in enumerate(starts):
        part, panel = divmod(number, layout.panels)
        address = lowering.plus(base, panel * layout.panel_stride_bytes + part * part_bytes)
        moved = [lowering.plus(value, first) for value, first in zip(coordinates, start, strict=False)]
        copies.append((address, moved))
    return copies


def _part_address(lowering: Lowering, operation: ir.Operation, buffer: ir.Value) -> ir.Value:
    """The start of the rows that this CTA copies: with multicast, those of its rank."""
    base = lowering.scalar(buffer)
    if "multicast" not in operation.attributes or operation.opview.condition is not None:
        return base
    stored = stored_layout(buffer.type)
    whole_bytes = stored.size_bytes if isinstance(stored, ScaleLayout) else stored.panel_stride_bytes
    rank, parts = lowering.cluster_rank, loaded_parts(operation.opview)
    if parts < lowering.ctas:
        rank = lowering.compute(f"and.b32 $0, $1, {parts - 1};", "i32", rank)
    return lowering.compute(f"mad.lo.s32 $0, $1, {whole_bytes // parts}, $2;", "i32", rank, base)


# The load mode of a tensor map by its kind (PTX ISA 9.7.9.27.1.2).
_LOAD_MODES = {None: "tile", "im2col": "im2col", "im2col_w": "im2col::w", "im2col_w128": "im2col::w::128"}


def _im2col_information(op: TmaLoadOp, first: int) -> str:
    """The operand im2colInfo, whose registers begin with operand `first`: offsets, or the halo and the offset."""
    if not op.offsets:
        return ""
    return f", {{{operands(len(op.offsets), first)}}}" if op.halo is None else f", {{{op.halo}, ${first}}}"


@lowers(TmaLoadOp)
def _tma_load(lowering: Lowering, operation: ir.Operation) -> None:
    op: TmaLoadOp = operation.opview
    channel = lowering.plan.channels[op.channel]
    kind = op.map.owner.kind
    if kind is not None and IM2COL_KINDS[kind].along_w and not lowering.target.loads_along_w:
        raise lowering.unsupported(
            operation,
            f"{lowering.target.name} has no loads through a map of kind {kind}, which need "
            f"{targets_with('loads_along_w')} (PTX ISA 9.7.9.27.1.2): use kind im2col",
        )
    space = "shared::cta" if channel.across is None else "shared::cluster"
    multicast = ".multicast::cluster" if op.multicast else ""
    # PTX ISA 9.7.9.27.1.2: with .cta_group::2 the barrier may be in either CTA of the pair.
    group = ".cta_group::2" if channel.across == PAIR else ""
    mode, offsets = _LOAD_MODES[kind], [lowering.scalar(value) for value in op.offsets]
    map = map_address(lowering, op)
    barrier = _signalled_barrier(lowering, channel)
    mask = [_multicast_mask(lowering, op)] if op.multicast else []
    with lowering.issuing() as elected:
        for panel, (address, coordinates) in enumerate(_copies(lowering, operation)):
            moved = offsets if op.slices is None else [*offsets[:-1], _slice(lowering, op, offsets[-1], panel)]
            rank, mask_number = len(coordinates), 4 + len(coordinates) + len(offsets)
            text = (
                f"@$0 cp.async.bulk.tensor.{rank}d.{space}.global.{mode}.mbarrier::complete_tx::bytes"
                f"{multicast}{group} [$1], [$2, {{{operands(rank, 4)}}}], [$3]"
                f"{_im2col_information(op, 4 + rank)}{f', ${mask_number}' if op.multicast else ''};"
            )
            lowering.b.execute(text, (), elected, address, map, barrier, *coordinates, *moved, *mask)


def _slice(lowering: Lowering, op: TmaLoadOp, first: ir.Value, panel: int) -> ir.Value:
    """The slice of a panel; the first one that does not exist for all after it, as offsets have few bits."""
    if not panel:
        return first
    moved = lowering.compute(f"add.u16 $0, $1, {panel};", "i16", first)
    return lowering.compute(f"min.u16 $0, $1, {op.slices};", "i16", moved)


def _multicast_mask(lowering: Lowering, op: TmaLoadOp) -> ir.Value:
    """The CTAs that get a part: all of the cluster or of the pair, or this one where the condition is false."""
    if op.channel.owner.across == PAIR:
        return mask_of_pair(lowering)
    if op.condition is None:
        return mask_of_cluster(lowering)
    masks = mask_of_cluster(lowering), mask_of_itself(lowering)
    return lowering.compute("selp.b16 $0, $1, $2, $3;", "i16", *masks, lowering.scalar(op.condition))


def _copies(lowering: Lowering, operation: ir.Operation) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
    """The address and the box coordinates of each copy of a load, in the code of the CTAs that issue it."""
    op: TmaLoadOp = operation.opview
    panels = _panels(lowering, operation, op.buffer)
    if op.condition is None or op.along is None:
        yield from panels
        return
    step = op.map.owner.box[op.along] * row_boxes(op)
    size_bytes = shared_layout(op.buffer.type).panel_stride_bytes // lowering.ctas
    parts = [_part(lowering, panels, op.along, part * step, part * size_bytes) for part in range(lowering.ctas)]
    issued = [_issues_part(lowering, op, part) for part in range(lowering.ctas)]
    for copies, issues in zip(parts, issued, strict=True):
        with lowering.where(issues, "load_part", "loaded_part"):
            yield from copies


def _part(
    lowering: Lowering, panels: list[tuple[ir.Value, list[ir.Value]]], along: int, moved: int, bytes_before: int
) -> list[tuple[ir.Value, list[ir.Value]]]:
    """The addresses and the box coordinates of a part of each panel, `moved` elements further along a coordinate."""
    return [
        (
            lowering.plus(address, bytes_before),
            [lowering.plus(value, moved) if d == along else value for d, value in enumerate(coordinates)],
        )
        for address, coordinates in panels
    ]


def _issues_part(lowering: Lowering, op: TmaLoadOp, part: int) -> ir.Value:
    """Whether a CTA copies a part: that of its rank, or each where the condition is false."""
    of_rank = lowering.compute("setp.eq.s32 $0, $1, $2;", "i1", lowering.cluster_rank, part)
    alone = lowering.compute("not.pred $0, $1;", "i1", lowering.scalar(op.condition))
    return lowering.compute("or.pred $0, $1, $2;", "i1", of_rank, alone)


def _signalled_barrier(lowering: Lowering, channel: ChannelPlan) -> ir.Value:
    """The barrier that counts the bytes: that of this CTA, or of the one that leads its pair."""
    barrier = barrier_address(lowering, channel, channel.full, PRODUCER)
    return address_in_cta(lowering, barrier, pair_leader(lowering)) if channel.across == PAIR else barrier


@lowers(TmaPrefetchOp)
def _tma_prefetch(lowering: Lowering, operation: ir.Operation) -> None:
    op: TmaPrefetchOp = operation.opview
    map, coordinates = map_address(lowering, op), [lowering.scalar(value) for value in own_coordinates(op)]
    rank = len(coordinates)
    with lowering.issuing() as elected:
        text = f"@$0 cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [$1, {{{operands(rank, 2)}}}];"
        lowering.b.execute(text, (), elected, map, *coordinates)


@lowers(TmaGatherOp)
def _tma_gather(lowering: Lowering, operation: ir.Operation) -> None:
    """Four rows per instruction; the elected thread reads their indices, since its coordinates are in registers."""
    if not lowering.target.gathers_rows:
        raise lowering.unsupported(
            operation,
            f"{lowering.target.name} has no tile::gather4, which needs {targets_with('gathers_rows')} "
            "(PTX ISA 9.7.9.27.1.2): gather with tile_gpu.load_view",
        )
    op: TmaGatherOp = operation.opview
    channel = lowering.plan.channels[op.channel]
    map, column = map_address(lowering, op), lowering.scalar(op.column)
    barrier = barrier_address(lowering, channel, channel.full, PRODUCER)
    with lowering.issuing() as elected:
        for address, coordinates in _copies_of_rows(lowering, op, column, elected):
            lowering.b.execute(_GATHER, (), elected, address, map, barrier, *coordinates)


def _copies_of_rows(
    lowering: Lowering, op: TmaGatherOp | TmaStoreOp, column: ir.Value, elected: ir.Value
) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
    """The address and the coordinates of each copy of four rows: the column, and the indices of the rows."""
    indices, layout, base = lowering.scalar(op.rows), shared_layout(op.buffer.type), lowering.scalar(op.buffer)
    none = [lowering.constant(_INDEX, 0)] * GATHERED_ROWS
    for first in range(0, layout.shape[0], GATHERED_ROWS):
        one = Access("shared", indices, first * _INDEX.bytes, elected)
        rows = load(lowering, one, _INDEX, GATHERED_ROWS, none)
        for panel in range(layout.panels):
            address = lowering.plus(base, panel * layout.panel_stride_bytes + first * layout.row_bytes)
            yield address, [lowering.plus(column, panel * layout.panel_elements), *rows]


_INDEX = element_named("i32")
_GATHER = (
    "@$0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
    f"[$1], [$2, {{{operands(1 + GATHERED_ROWS, 4)}}}], [$3];"
)


@lowers(TmaStoreOp)
def _tma_store(lowering: Lowering, operation: ir.Operation) -> None:
    op: TmaStoreOp = operation.opview
    if op.rows is not None:
        _scatter_rows(lowering, op)
        return
    map = map_address(lowering, op)
    mode = "tile" if op.map.owner.kind is None else "im2col_no_offs"
    name, reduction = ("cp.reduce", f".{op.reduction}") if op.reduction is not None else ("cp", "")
    with lowering.issuing() as elected:
        for address, coordinates in _panels(lowering, operation, op.buffer):
            rank = len(coordinates)
            head = f"{name}.async.bulk.tensor.{rank}d.global.shared::cta{reduction}.{mode}.bulk_group"
            text = f"@$0 {head} [$1, {{{operands(rank, 3)}}}], [$2];"
            lowering.b.execute(text, (), elected, map, address, *coordinates)
        lowering.b.execute("@$0 cp.async.bulk.commit_group;", (), elected)
        if op.end is not None:
            _store_row_ends(lowering, op)


def _scatter_rows(lowering: Lowering, op: TmaStoreOp) -> None:
    """Four rows per instruction; the elected thread reads their indices."""
    if not lowering.target.scatters_rows:
        raise lowering.unsupported(
            op.operation,
            f"{lowering.target.name} has no tile::scatter4, which needs {targets_with('scatters_rows')} "
            "(PTX ISA 9.7.9.27.1.3): scatter with tile_gpu.store_view",
        )
    map, column = map_address(lowering, op), lowering.scalar(op.coordinates[0])
    with lowering.issuing() as elected:
        for address, coordinates in _copies_of_rows(lowering, op, column, elected):
            lowering.b.execute(_SCATTER, (), elected, map, address, *coordinates)
        lowering.b.execute("@$0 cp.async.bulk.commit_group;", (), elected)


_SCATTER = (
    "@$0 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
    f"[$1, {{{operands(1 + GATHERED_ROWS, 3)}}}], [$2];"
)


@lowers(StoreWaitOp)
def _store_wait(lowering: Lowering, operation: ir.Operation) -> None:
    read = "read" in operation.attributes
    with lowering.issuing() as elected:
        lowering.b.execute(f"@$0 cp.async.bulk.wait_group{'.read' if read else ''} 0;", (), elected)


def _store_row_ends(lowering: Lowering, op: TmaStoreOp) -> None:
    """Stores the elements from the end of the map to `end`, if they are in the tile; all lanes of the warp call it.

    TMA writes 16 bytes as a whole (docs/hardware.md), so the map of such a tensor ends at the last multiple of them.
    Only the tiles that hold the end of rows have such elements, and one warp stores them row by row.
    """
    coordinates = [lowering.scalar(value) for value in own_coordinates(op)]
    element = element_of(op.buffer.type.element)
    layout = shared_layout(op.buffer.type)
    assert op.end is not None
    end = _narrow(lowering, lowering.scalar(op.end), op.end.type)
    # The extent of the map, which the launcher computes.
    first = lowering.compute(f"and.b32 $0, $1, {-widest(element)};", "i32", end)
    column = lowering.compute("sub.s32 $0, $1, $2;", "i32", first, coordinates[0])
    count = lowering.compute("sub.s32 $0, $1, $2;", "i32", end, first)
    width = layout.shape[layout.contiguous]
    tile_has_column = lowering.compute(f"setp.lt.u32 $0, $1, {width};", "i1", column)
    any_left = lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", count)
    stores = lowering.compute("and.pred $0, $1, $2;", "i1", tile_has_column, any_left)
    with lowering.where(stores, "row_ends", "after_row_ends"):
        rows = math.prod(layout.shape) // width
        with counted(lowering, max(1, rows // LANES), "row_end") as step:
            # This code runs rarely. ptxas 13.5 would unroll the loop, and take a fifth more time for a GEMM of 128x128.
            lowering.b.execute('.pragma "nounroll";')
            row = lowering.compute(f"mad.lo.s32 $0, $1, {LANES}, $2;", "i32", step, lowering.lane)
            is_row = None
            if rows < LANES:
                is_row = lowering.compute(f"setp.lt.u32 $0, $1, {rows};", "i1", row)
                row = lowering.compute(f"and.b32 $0, $1, {rows - 1};", "i32", row)
            position, has_row = _position(lowering, op, coordinates, row, is_row)
            address = _global_address(lowering, op, element, first, position)
            chunk = _shared_address(lowering, op, layout, column, row)
            left = lowering.compute("selp.s32 $0, $1, 0, $2;", "i32", count, has_row)
            for number, value in enumerate(load(lowering, Access("shared", chunk), element, widest(element))[:-1]):
                guard = lowering.compute(f"setp.gt.s32 $0, $1, {number};", "i1", left)
                store(lowering, Access("global", address, number * element.bytes, guard), element, [value])
        # A later store by TMA may write these elements, and the elected thread gives the buffer back.
        lowering.b.execute("fence.proxy.async.global;")
        lowering.b.execute("bar.warp.sync 0xffffffff;")


def _narrow(lowering: Lowering, register: ir.Value, type: ir.Type) -> ir.Value:
    """An extent, which is below 2**31 in all tensors that have a map, in 32 bits."""
    return lowering.compute("cvt.u32.u64 $0, $1;", "i32", register) if str(type) == "i64" else register


def _position(
    lowering: Lowering, op: TmaStoreOp, coordinates: list[ir.Value], row: ir.Value, has_row: ir.Value | None
) -> tuple[list[ir.Value], ir.Value | None]:
    """The position of a row of the buffer in the outer dimensions of the tensor; `has_row`, and the tensor has it."""
    position, below = [], 1
    extents, box = list(op.map.owner.extents), list(op.map.owner.box)
    box[outermost_wide(box)] *= row_boxes(op)
    for extent, size, start in zip(extents[1:], box[1:], coordinates[1:], strict=True):
        offset = lowering.compute(f"shr.u32 $0, $1, {below.bit_length() - 1};", "i32", row) if below > 1 else row
        below *= size
        if below < math.prod(box[1:]):
            offset = lowering.compute(f"and.b32 $0, $1, {size - 1};", "i32", offset)
        position.append(lowering.compute("add.s32 $0, $1, $2;", "i32", start, offset))
        below_extent = lowering.compute(
            "setp.lt.u32 $0, $1, $2;",
            "i1",
            position[-1],
            _narrow(lowering, table_word(lowering, op, extent), extent.type),
        )
        has_row = conjunction(lowering, has_row, below_extent)
    return position, has_row


def _global_address(
    lowering: Lowering, op: TmaStoreOp, element: PtxElement, first: ir.Value, position: list[ir.Value]
) -> ir.Value:
    offset = lowering.compute("cvt.u64.u32 $0, $1;", "i64", first)
    for index, stride in zip(position, op.map.owner.strides, strict=True):
        register, wide = table_word(lowering, op, stride), lowering.compute("cvt.u64.u32 $0, $1;", "i64", index)
        if str(stride.type) != "i64":
            register = lowering.compute("cvt.u64.u32 $0, $1;", "i64", register)
        offset = lowering.compute("mad.lo.s64 $0, $1, $2, $3;", "i64", wide, register, offset)
    base = table_word(lowering, op, op.map.owner.base)
    return lowering.compute(f"mad.lo.s64 $0, $1, {element.bytes}, $2;", "i64", offset, base)


def _shared_address(
    lowering: Lowering, op: TmaStoreOp, layout: SharedLayout, column: ir.Value, row: ir.Value
) -> ir.Value:
    """The address of the 16 bytes at a column of a row of the buffer."""
    width = layout.shape[layout.contiguous]
    rows = replace(layout, shape=(math.prod(layout.shape) // width, width), contiguous=1)
    element = lowering.compute(f"mad.lo.s32 $0, $1, {width}, $2;", "i32", row, column)
    offset = linear_index(lowering, rows.matrix, element)
    assert offset is not None
    return lowering.compute("add.s32 $0, $1, $2;", "i32", lowering.scalar(op.buffer), offset)
