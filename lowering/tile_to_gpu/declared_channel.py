"""Channels declared at the top of the kernel."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.types import BufferType, ChannelType
from tilec.lowering.tile_to_gpu.conversion import Conversion, in_loop
from tilec.lowering.tile_to_gpu.multiply_site import site_of


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


def declare_site_channel(
    conversion: Conversion, multiply: ir.OpView, buffers: list[BufferType], producer: str, consumer: str, use: str
) -> ir.Value:
    """A channel that the multiplies of a site fill one after the other with such buffers, for one `use`."""
    site = site_of(multiply)
    key = site, (use, tuple(buffers), consumer)
    if key not in conversion.site_channels:
        ring = in_loop(multiply) or conversion.plan.sites[site] > 1
        conversion.site_channels[key] = declare_channel(conversion, buffers, producer, [consumer], ring)
    return conversion.site_channels[key]
