"""Staging buffers of TMA stores in the slots of a ring that threads fill.

before:   store_shared t, s   fence_async   barrier   tma_store s
after:    put_begin r   store_shared t, r   fence_async   barrier   tma_store r   store_wait read   put_commit r
          get r   release r

The consumer of the ring takes the slot and gives it back at once, so that its barriers order the store like any other
use of the slot. The store is complete before the next operation of the role, so this is for kernels short of memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import (
    MMA,
    THREADS,
    WGMMA,
    GetOp,
    MakeChannelOp,
    PutBeginOp,
    PutCommitOp,
    ReleaseOp,
    slot_results,
)
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.memory import SharedOp, StoreSharedOp, StoreWaitOp
from tilec.dialect.tile_gpu.tma import TmaStoreOp
from tilec.dialect.tile_gpu.types import SHARED, ChannelType
from tilec.lowering.gpu.memory.channel_life import ChannelLife, life_of

_STORE, _COPY = StoreSharedOp.OPERATION_NAME, TmaStoreOp.OPERATION_NAME


def staging_life(kernel: KernelOp) -> ChannelLife | None:
    """When staging buffers are in use; None if there are none, or if one is not used by stores alone."""
    buffers = list(_buffers(kernel))
    stores = [_stores(buffer.results[0]) for buffer in buffers]
    if not buffers or any(found is None for found in stores):
        return None
    return life_of([op for found in stores if found is not None for pair in found for op in pair])


def holds_staging(life: ChannelLife) -> bool:
    """Whether threads fill the slots in shared memory of a channel with one consumer, of which no other has a part."""
    first, *sharing = life.channels
    consumers = first.consumer_names
    memories = {buffer.memory for buffer in first.operation.results[0].type.buffers}
    is_one = not sharing and first.across is None
    return is_one and first.producer == THREADS and consumers in ([MMA], [WGMMA]) and memories == {SHARED}


def stage_through_channels(kernel: KernelOp, ring: MakeChannelOp) -> list[MakeChannelOp]:
    """Replaces the staging buffers by channels between the parties of a ring; returns the channels."""
    attributes = {name: ring.operation.attributes[name] for name in ("stages", "producer", "consumers")}
    channels = []
    for buffer in reversed(list(_buffers(kernel))):
        with buffer.location, ir.InsertionPoint(buffer):
            types = [ChannelType.get([buffer.results[0].type])]
            made = build(MakeChannelOp.OPERATION_NAME, [None], types, {**attributes, "reuse": "ring"})
        for store, copy in _stores(buffer.results[0]) or ():
            _stage(store, copy, made.results[0])
        buffer.erase()
        channels.append(made.opview)
    return channels


def _buffers(kernel: KernelOp) -> Iterator[ir.Operation]:
    """The declarations of the staging buffers of a kernel."""
    for op in kernel.body.blocks[0].operations:
        if op.operation.name == SharedOp.OPERATION_NAME:
            yield op.operation


def _stores(buffer: ir.Value) -> list[tuple[ir.Operation, ir.Operation]] | None:
    """The operations that fill a staging buffer, each with the copy that follows in its block or in a branch there."""
    users = [use.owner.operation for use in buffer.uses if use.owner.operation.name != SharedOp.OPERATION_NAME]
    fills = [user for user in users if user.name == _STORE]
    copies = [user for user in users if user.name == _COPY]
    pairs = []
    for fill in fills:
        following = _next_copy(fill)
        found = [] if following is None else [copy for copy in copies if _is_inside(copy, following)]
        if len(found) != 1:
            return None
        pairs.append((fill, found[0]))
    return pairs if len(fills) == len(copies) == len(users) - len(fills) else None


def _next_copy(fill: ir.Operation) -> ir.Operation | None:
    """The first operation after a store that is, or contains, a copy by TMA."""
    operations = [op.operation for op in fill.block.operations]
    for op in operations[operations.index(fill) + 1 :]:
        if op.name == _COPY or op.name == "scf.if" and _copies_in_branch(op):
            return op
    return None


def _copies_in_branch(branch: ir.Operation) -> bool:
    return any(op.operation.name == _COPY for op in branch.regions[0].blocks[0].operations)


def _is_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an operation is another one, or in a branch of it."""
    return op == outer or op.parent.operation == outer


def _stage(store: ir.Operation, copy: ir.Operation, channel: ir.Value) -> None:
    """Replaces one use of a staging buffer by the use of a slot."""
    results = slot_results(channel.type.buffers)
    with store.location, ir.InsertionPoint(store):
        slot = build(PutBeginOp.OPERATION_NAME, [channel], results).results[0]
    store.operands[1] = slot
    for number, operand in enumerate(copy.operands):
        if operand.type == slot.type:
            copy.operands[number] = slot
    following = _next_copy(store)
    assert following is not None
    with store.location, ir.InsertionPoint.after(following):
        build(StoreWaitOp.OPERATION_NAME, attributes={"read": True})
        build(PutCommitOp.OPERATION_NAME, [channel])
        build(GetOp.OPERATION_NAME, [channel], results, {"consumer": 0})
        build(ReleaseOp.OPERATION_NAME, [channel], attributes={"consumer": 0})
