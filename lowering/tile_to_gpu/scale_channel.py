"""Scale factors of a block-scaled multiply: from global memory or registers through shared into tensor memory."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MMA, THREADS, slot_results
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion, in_loop
from tilec.lowering.tile_to_gpu.declared_channel import declare_channel
from tilec.lowering.tile_to_gpu.matrix_plan import Scale
from tilec.lowering.tile_to_gpu.operand_channel import scale_buffers


class ScaleFactors:
    """The factors of one operand in tensor memory for the time of one multiply."""

    def __init__(self, scale: Scale, op: ir.OpView, conversion: Conversion) -> None:
        self._conversion = conversion
        self._channel: ir.Value | None = None
        if scale.load is not None:
            source, self.buffer = conversion.slots.buffers(scale.load.operation.results[0], MMA)
        else:
            source, self.buffer = self._of_registers(scale, op)
        emitter.gpu("tcgen05_copy_scales", [source, self.buffer])

    def _of_registers(self, scale: Scale, op: ir.OpView) -> tuple[ir.Value, ir.Value]:
        tile = self._conversion.get(scale.value)
        buffers = scale_buffers(scale.layout, tile.type.element_type)
        self._channel = declare_channel(self._conversion, buffers, THREADS, [MMA], in_loop(op))
        filled, _ = emitter.gpu("put_begin", [self._channel], slot_results(buffers)).results
        emitter.gpu("store_shared", [tile, filled])
        emitter.gpu("put_commit", [self._channel])
        source, copied = emitter.gpu("get", [self._channel], slot_results(buffers), consumer=0).results
        return source, copied

    def release(self) -> None:
        """Releases a slot that was filled for this multiply alone."""
        if self._channel is not None:
            emitter.gpu("release", [self._channel], consumer=0)
