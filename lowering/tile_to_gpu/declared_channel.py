"""Channels declared at the top of the kernel."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.types import BufferType, ChannelType
from tilec.lowering.tile_to_gpu.conversion import Conversion


def declare_channel(
    conversion: Conversion,
    buffers: list[BufferType],
    producer: str,
    consumers: list[str],
    ring: bool,
    shares: ir.Value | None = None,
) -> ir.Value:
    """A channel of one slot; the pipeline pass deepens rings."""
    return conversion.declarations.declare(
        "make_channel",
        [shares],
        [ChannelType.get(buffers)],
        stages=1,
        producer=producer,
        consumers=ir.ArrayAttr.get([ir.StringAttr.get(name) for name in consumers]),
        reuse="ring" if ring else "once",
    )
