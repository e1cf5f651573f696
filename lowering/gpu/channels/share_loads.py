"""Loads tiles that several CTAs need once: CTAs of one tile block multiply in pairs, or load parts by multicast.

Where a tile block is one CTA, adjacent tile blocks are a cluster if L2 is far slower than the multiplies.
"""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import TENSOR_MEMORY_MULTIPLIES
from tilec.dialect.tile_gpu.operations.channel import CLUSTER, TMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.channels.adjacent_blocks import join_blocks
from tilec.lowering.gpu.channels.pair_multiplies import NotPairsError, make_pairs
from tilec.lowering.gpu.channels.parts_of_loads import load_part, loads_alike, loads_into, part_box
from tilec.lowering.gpu.ir.equal_values import EqualValues
from tilec.lowering.gpu.ir.slots import channels_of
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.kernel_hints import CLUSTER_CHOICE
from tilec.lowering.layout.scale_layout import is_scale_layout
from tilec.remarks import Remark


def share_loads(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run before slots are shared and the kernel is split into roles."""
    if kernel.cluster_ctas == 1:
        join_blocks(kernel, context)
    elif kernel.ctas > 1:
        _share_in_cluster(kernel, context)


def _share_in_cluster(kernel: KernelOp, context: Context) -> None:
    """Shares loads among the CTAs of a tile block; a remark says why they do not multiply in pairs."""
    equal = EqualValues(kernel)
    multiplies = operations_named(kernel, TENSOR_MEMORY_MULTIPLIES)
    channels = [op for op in channels_of(kernel) if op.across is None]
    if multiplies:
        try:
            make_pairs(kernel, multiplies, channels, EqualValues(kernel, in_pairs=True))
            return
        except NotPairsError as error:
            # Without a hint, a block is divided because it exceeds one CTA (lowering/plan/chain_room.py).
            if CLUSTER_CHOICE not in kernel.operation.attributes:
                message = f"the blocks of a cluster do not multiply in pairs: {error}"
                context.remarks.append(Remark("hint", message, source_location(multiplies[0].operation.location)))
    for channel in channels:
        _multicast(kernel, channel, equal)


def _multicast(kernel: KernelOp, channel: MakeChannelOp, equal: EqualValues) -> None:
    """Makes each CTA load a part of the buffers that all CTAs fill alike."""
    if channel.producer != TMA or TMA in channel.consumer_names:
        return
    buffers = channel.channel.type.buffers
    # Scale factors, and the rows of images that move, are copied to tensor memory in each CTA.
    if any(is_scale_layout(buffer.layout) or buffer.memory == TENSOR for buffer in buffers):
        return
    for number, buffer in enumerate(buffers):
        loads = loads_into(channel, number) if buffer.memory == SHARED else []
        parts = [part for load in loads if loads_alike(load, equal) and (part := part_box(load, kernel.ctas))]
        if not loads or len(parts) < len(loads):
            continue
        for load, (box, coordinate, rows) in zip(loads, parts, strict=True):
            load_part(kernel, load, box, coordinate, rows, kernel.ctas)
            load.operation.attributes["multicast"] = ir.UnitAttr.get()
        channel.operation.attributes["across"] = ir.StringAttr.get(CLUSTER)
