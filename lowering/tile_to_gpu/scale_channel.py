"""Channels that move scale factors from registers through shared memory into tensor memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MMA, THREADS, slot_results
from tilec.dialect.tile_gpu.types import MEMORIES, BufferType
from tilec.lowering.layout.scale_layout import ScaleLayout
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion, in_loop
from tilec.lowering.tile_to_gpu.declared_channel import declare_channel


class ScaleFactors:
    """The factors of one operand in tensor memory for the time of one multiply."""

    def __init__(self, value: ir.Value, layout: ScaleLayout, op: ir.OpView, conversion: Conversion) -> None:
        tile = conversion.get(value)
        buffers = [BufferType.get(layout.shape, tile.type.element_type, memory, str(layout)) for memory in MEMORIES]
        self._channel = declare_channel(conversion, buffers, THREADS, [MMA], in_loop(op))
        filled, _ = emitter.gpu("put_begin", [self._channel], slot_results(buffers)).results
        emitter.gpu("store_shared", [tile, filled])
        emitter.gpu("put_commit", [self._channel])
        source, self.buffer = emitter.gpu("get", [self._channel], slot_results(buffers), consumer=0).results
        emitter.gpu("tcgen05_copy_scales", [source, self.buffer])

    def release(self) -> None:
        """Releases the slot when the multiply is complete."""
        emitter.gpu("release", [self._channel], consumer=0)
