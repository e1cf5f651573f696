"""Channels that hold matrix operands in shared memory, and the lifetimes of their slots."""

from __future__ import annotations

from tilec.dialect.build import Group
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import THREADS, TMA, slot_results
from tilec.dialect.tile_gpu.types import MEMORIES, BufferType
from tilec.dialect.tilex.im2col_type import BY_ROW, Im2colViewType
from tilec.lowering.layout.scale_layout import ScaleLayout
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion, in_loop, named_location
from tilec.lowering.tile_to_gpu.declared_channel import declare_channel, declare_site_channel
from tilec.lowering.tile_to_gpu.declared_map import (
    buffer_type,
    coordinates,
    copied_buffer_type,
    declare_im2col_map,
    declare_map,
    offsets,
)
from tilec.lowering.tile_to_gpu.im2col_position import start_coordinates, tap_offsets
from tilec.lowering.tile_to_gpu.matrix_plan import Multiply, Operand
from tilec.lowering.tile_to_gpu.packing import with_whole_bytes
from tilec.lowering.tile_to_gpu.row_indices import RowIndices
from tilec.lowering.tile_to_gpu.slot_use import HeldSlot, slot_uses
from tilec.lowering.tile_to_gpu.tensor_maps import TensorMap, swizzle_for
from tilec.lowering.tile_to_gpu.values import TileView


def put_by_tma(op: ir.OpView, conversion: Conversion) -> None:
    """Fills a slot from global memory and plans its get and release around the multiplies, and a copy to registers."""
    tile = op.operation.results[0]
    map = conversion.plan.maps[tile]
    view = conversion.tile_views[op.view]
    uses = slot_uses(op, conversion.plan)
    consumers = [use.consumer for use in uses]
    buffers = _buffers(op, map, conversion)
    channel = declare_channel(conversion, buffers, TMA, consumers, ring=in_loop(op))
    _copy(op, map, view, channel, buffers, conversion)
    for use in uses:
        slot_held = HeldSlot(tile, channel, buffers, use, named_location(op))
        if use.in_registers:
            (held,) = conversion.slots.get(slot_held)
            conversion.set(tile, emitter.gpu("load_shared", [held], [conversion.type(tile)]).result)
        else:
            conversion.slots.get_before(use.first, slot_held)
        if use.last is None:
            conversion.slots.release(slot_held)
        else:
            conversion.slots.release_after(use.last, slot_held)


def _copy(
    op: ir.OpView,
    map: TensorMap,
    view: TileView,
    channel: ir.Value,
    buffers: list[BufferType],
    conversion: Conversion,
) -> None:
    """Fills the next slot of a channel with the tile of a load."""
    if isinstance(view.type, Im2colViewType):
        handle, start = declare_im2col_map(map, view, conversion), start_coordinates(op, view, conversion)
        halo = 0 if view.type.mode in BY_ROW else None
        _fill("tma_load", [handle, start, tap_offsets(op, view.type, conversion)], channel, buffers, halo)
        return
    handle = declare_map(map, view, conversion)
    start = coordinates(map, offsets(view, op, conversion))
    if view.sparse_dimension is None:
        _fill("tma_load", [handle, start, []], channel, buffers)
        return
    rows = RowIndices(op, view, conversion)
    _fill("tma_gather", [handle, start[0], rows.buffer], channel, buffers)
    rows.release()


def _fill(
    name: str, source: list[Group], channel: ir.Value, buffers: list[BufferType], halo: int | None = None
) -> None:
    """Fills the first buffer of the next slot of a channel with one copy by TMA."""
    slot = emitter.gpu("put_begin", [channel], slot_results(buffers)).results[0]
    emitter.gpu(name, [*source, slot, channel], halo=halo)
    emitter.gpu("put_commit", [channel])


def _buffers(op: ir.OpView, map: TensorMap, conversion: Conversion) -> list[BufferType]:
    """The buffers of a slot: one, or for scale factors another in tensor memory."""
    type, factors = conversion.tile_views[op.view].type, conversion.plan.scale_layouts.get(op.operation.results[0])
    if factors is None:
        return [copied_buffer_type(map, type)]
    return scale_buffers(factors, type.element)


def scale_buffers(layout: ScaleLayout, element: ir.Type) -> list[BufferType]:
    """The buffers of scale factors in shared and in tensor memory."""
    return [BufferType.get(layout.shape, element, memory, str(layout)) for memory in MEMORIES]


class OperandBuffer:
    """A matrix operand in shared memory for the time of one multiply."""

    def __init__(self, operand: Operand, multiply: Multiply, conversion: Conversion) -> None:
        self._conversion = conversion
        self._channel: ir.Value | None = None
        if operand.source is not None and operand.map is not None:
            self.buffer = self._of_load(operand, multiply)
        else:
            self.buffer = self._of_registers(operand, multiply)

    def _of_load(self, operand: Operand, multiply: Multiply) -> ir.Value:
        assert operand.source is not None and operand.map is not None
        (held,) = self._conversion.slots.buffers(operand.source.load.operation.results[0], multiply.unit.consumer)
        type = operand.value.type
        wanted = buffer_type(type.shape, type.element, operand.contiguous, operand.map.swizzle)
        return held if held.type == wanted else emitter.gpu("view_buffer", [held], [wanted]).result

    def _of_registers(self, operand: Operand, multiply: Multiply) -> ir.Value:
        conversion, type = self._conversion, operand.value.type
        row_bytes = multiply.types.row_bytes(type.shape[operand.contiguous])
        swizzle = swizzle_for(row_bytes) if multiply.unit.swizzles_operands else "none"
        buffer = buffer_type(type.shape, type.element, operand.contiguous, swizzle)
        use = "lhs" if operand is multiply.lhs else "rhs"
        consumer = multiply.unit.consumer
        self._channel = declare_site_channel(conversion, multiply.op, [buffer], THREADS, consumer, use)
        tile = with_whole_bytes(conversion.get(operand.value), operand.contiguous, conversion.warps)
        (slot,) = emitter.gpu("put_begin", [self._channel], slot_results([buffer])).results
        emitter.gpu("store_shared", [tile, slot])
        emitter.gpu("put_commit", [self._channel])
        return emitter.gpu("get", [self._channel], slot_results([buffer]), consumer=0).results[0]

    def release(self) -> None:
        """Releases a slot that was filled for this multiply alone."""
        if self._channel is not None:
            emitter.gpu("release", [self._channel], consumer=0)
