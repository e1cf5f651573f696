"""The elements after the last multiple of 16 bytes of a row, which a store by TMA leaves to threads.

TMA writes 16 bytes as a whole (docs/hardware.md), so the map of such a tensor ends at the last multiple of them. Only
the tiles that hold the end of rows have such elements, and one warp stores them row by row.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.tma import TmaStoreOp
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.gpu_to_ptx.memory.access import load, store, widest
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction
from tilec.lowering.gpu_to_ptx.registers.linear_index import linear_index
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.one_thread import counted
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.target import LANES


def store_row_ends(lowering: Lowering, op: TmaStoreOp) -> None:
    """Stores the elements from the end of the map to `end`, if they are in the tile; all lanes of the warp call it."""
    coordinates = [lowering.scalar(value) for value in op.coordinates]
    element = element_of(op.buffer.type.element)
    layout = shared_layout(op.buffer.type)
    end = _narrow(lowering, op.end)
    # The extent of the map, which the launcher computes.
    first = lowering.compute(f"and.b32 $0, $1, {-widest(element)};", "i32", end)
    column = lowering.compute("sub.s32 $0, $1, $2;", "i32", first, coordinates[0])
    count = lowering.compute("sub.s32 $0, $1, $2;", "i32", end, first)
    width = layout.shape[layout.contiguous]
    tile_has_column = lowering.compute(f"setp.lt.u32 $0, $1, {width};", "i1", column)
    any_left = lowering.compute("setp.ne.s32 $0, $1, 0;", "i1", count)
    stores = lowering.compute("and.pred $0, $1, $2;", "i1", tile_has_column, any_left)
    body, after = lowering.b.block(label="row_ends"), lowering.b.block(label="after_row_ends")
    lowering.b.cond_branch(stores, body, [], after, [], uniform=True)
    lowering.at(body)
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
        for number, value in enumerate(load(lowering, "shared", element, widest(element), chunk, 0)[:-1]):
            guard = lowering.compute(f"setp.gt.s32 $0, $1, {number};", "i1", left)
            store(lowering, "global", element, [value], address, number * element.bytes, guard)
    # A later store by TMA may write these elements, and the elected thread gives the buffer back.
    lowering.b.execute("fence.proxy.async.global;")
    lowering.b.execute("bar.warp.sync 0xffffffff;")
    lowering.b.branch(after)
    lowering.at(after)


def _narrow(lowering: Lowering, value: ir.Value) -> ir.Value:
    """An extent, which is below 2**31 in all tensors that have a map, in 32 bits."""
    register = lowering.scalar(value)
    return lowering.compute("cvt.u32.u64 $0, $1;", "i32", register) if str(value.type) == "i64" else register


def _position(
    lowering: Lowering, op: TmaStoreOp, coordinates: list[ir.Value], row: ir.Value, has_row: ir.Value | None
) -> tuple[list[ir.Value], ir.Value | None]:
    """The position of a row of the buffer in the outer dimensions of the tensor; `has_row`, and the tensor has it."""
    position, below = [], 1
    extents, box = list(op.map.owner.extents), list(op.map.owner.box)
    for extent, size, start in zip(extents[1:], box[1:], coordinates[1:], strict=True):
        offset = lowering.compute(f"shr.u32 $0, $1, {below.bit_length() - 1};", "i32", row) if below > 1 else row
        below *= size
        if below < math.prod(box[1:]):
            offset = lowering.compute(f"and.b32 $0, $1, {size - 1};", "i32", offset)
        position.append(lowering.compute("add.s32 $0, $1, $2;", "i32", start, offset))
        below_extent = lowering.compute("setp.lt.u32 $0, $1, $2;", "i1", position[-1], _narrow(lowering, extent))
        has_row = conjunction(lowering, has_row, below_extent)
    return position, has_row


def _global_address(
    lowering: Lowering, op: TmaStoreOp, element: PtxElement, first: ir.Value, position: list[ir.Value]
) -> ir.Value:
    """The address of element `first` of the row at a position."""
    offset = lowering.compute("cvt.u64.u32 $0, $1;", "i64", first)
    for index, stride in zip(position, op.map.owner.strides, strict=True):
        register, wide = lowering.scalar(stride), lowering.compute("cvt.u64.u32 $0, $1;", "i64", index)
        if str(stride.type) != "i64":
            register = lowering.compute("cvt.u64.u32 $0, $1;", "i64", register)
        offset = lowering.compute("mad.lo.s64 $0, $1, $2, $3;", "i64", wide, register, offset)
    base = lowering.scalar(op.map.owner.base)
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
