"""Staging buffers of TMA stores in the slots of a ring that threads fill.

before:   store_shared t, s   fence_async   barrier   tma_store s
after:    put_begin r   store_shared t, r   fence_async   barrier   tma_store r   store_wait read   put_commit r
          get r   release r

The consumer of the ring takes the slot and gives it back at once, so that its barriers order the store like any other
use of the slot. The store is complete before the next operation of the role, so this is for kernels short of memory.
"""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import MMA, THREADS, WGMMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import SharedOp, StoreSharedOp, StoreWaitOp
from tilec.dialect.tile_gpu.operations.tma import TmaStoreOp
from tilec.dialect.tile_gpu.types import SHARED
from tilec.dialect.walk import operations_in, users_of
from tilec.lowering.gpu.ir.build_channels import channel_like, put_begin, put_commit, take
from tilec.lowering.gpu.ir.enclosing import operations_after
from tilec.lowering.gpu.memory.channel_life import ChannelLife, places_of

_STORE, _COPY = StoreSharedOp.OPERATION_NAME, TmaStoreOp.OPERATION_NAME


def staging_life(kernel: KernelOp) -> ChannelLife | None:
    """When staging buffers are in use; None if there are none, or if one is not used by stores alone."""
    stores = [_stores(buffer.results[0]) for buffer in _buffers(kernel)]
    if not stores or None in stores:
        return None
    return ChannelLife((), places_of([op for found in stores for pair in found or () for op in pair]))


def holds_staging(life: ChannelLife) -> bool:
    """Whether threads fill the slots in shared memory of a channel with one consumer, of which no other has a part."""
    first, *sharing = life.channels
    if sharing or first.across is not None or first.producer != THREADS:
        return False
    return first.consumer_names in ([MMA], [WGMMA]) and {each.memory for each in first.channel.type.buffers} == {SHARED}


def stage_through_channels(kernel: KernelOp, ring: MakeChannelOp) -> list[MakeChannelOp]:
    """Replaces the staging buffers by channels between the parties of a ring; returns the channels."""
    channels = []
    for buffer in reversed(_buffers(kernel)):
        with buffer.location, ir.InsertionPoint(buffer):
            channel = channel_like(ring, [buffer.results[0].type], reuse="ring")
        for store, copy in _stores(buffer.results[0]) or ():
            _stage(store, copy, channel)
        buffer.erase()
        channels.append(channel.owner)
    return channels


def _buffers(kernel: KernelOp) -> list[ir.Operation]:
    """The declarations of the staging buffers of a kernel, but not of the indices of rows, which are small."""
    shared = [op for op in operations_in(kernel.body.blocks[0]) if op.name == SharedOp.OPERATION_NAME]
    return [op for op in shared if not _has_indices(op.results[0])]


def _has_indices(buffer: ir.Value) -> bool:
    indices = [user.opview.rows for user in users_of(buffer) if user.name == _COPY]
    return any(rows is not None and rows == buffer for rows in indices)


def _stores(buffer: ir.Value) -> list[tuple[ir.Operation, ir.Operation]] | None:
    """The operations that fill a staging buffer, each with the copy that follows in its block or in a branch there."""
    users = [user for user in users_of(buffer) if user.name != SharedOp.OPERATION_NAME]
    fills = [user for user in users if user.name == _STORE]
    copies = [user for user in users if user.name == _COPY]
    pairs = []
    for fill in fills:
        following = _next_copy(fill)
        # The operation is the copy, or has it in a branch.
        found = [copy for copy in copies if following is not None and following in (copy, copy.parent.operation)]
        if len(found) != 1:
            return None
        pairs.append((fill, found[0]))
    return pairs if len(fills) == len(copies) == len(users) - len(fills) else None


def _next_copy(fill: ir.Operation) -> ir.Operation | None:
    """The first operation after a store that is, or contains in its first branch, a copy by TMA."""
    for op in operations_after(fill):
        branch = operations_in(op.regions[0].blocks[0]) if op.name == "scf.if" else ()
        if any(each.name == _COPY for each in (op, *branch)):
            return op
    return None


def _stage(store: ir.Operation, copy: ir.Operation, channel: ir.Value) -> None:
    """Replaces one use of a staging buffer by the use of a slot."""
    with store.location, ir.InsertionPoint(store):
        slot = put_begin(channel).results[0]
    store.operands[1] = slot
    for number, operand in enumerate(copy.operands):
        if operand.type == slot.type:
            copy.operands[number] = slot
    following = _next_copy(store)
    assert following is not None
    with store.location, ir.InsertionPoint.after(following):
        build(StoreWaitOp.OPERATION_NAME, attributes={"read": True})
        put_commit(channel)
        take(channel)
