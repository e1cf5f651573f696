"""The places in memory that an operation accesses: a write keeps its order with other accesses of its place.

A place is a channel with its slots, the slots of one consumer of a ring that TMA fills, or one of the names below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import (
    COPIES_OF_THREADS,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    MULTIPLIES,
    STEPS_AND_SKIPS,
    TENSOR_MEMORY_MULTIPLIES,
    TMA_LOADS,
)
from tilec.dialect.tile_gpu.channel import TMA, GetOp, MakeChannelOp, ReleaseOp
from tilec.dialect.tile_gpu.debug import AssertOp
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.matrix import WgmmaWaitOp
from tilec.dialect.tile_gpu.memory import (
    BarrierOp,
    FenceAsyncOp,
    LoadSharedOp,
    LoadTensorMemoryOp,
    StoreSharedOp,
    StoreTensorMemoryOp,
    StoreWaitOp,
)
from tilec.dialect.tile_gpu.scaled import Tcgen05CopyScalesOp
from tilec.dialect.tile_gpu.tma import TmaStoreOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import operations_inside, owner_of
from tilec.lowering.gpu.ir.operation_role import has_repeatable_elements
from tilec.lowering.gpu.ir.slots import GET, PUT, SLOT, step_of_buffer, users_of_slots, without_views

Place: TypeAlias = ir.Value | str | tuple[ir.Value, int]

# An operation that writes this place keeps its order with all operations that access a place.
EVERYTHING = "everything"
# Global memory; buffers outside of channels, and copies from them.
_MEMORY, _STAGING = "memory", "staging"
# A store of a thread, which is complete after the next store of the thread.
_TENSOR_STORES = "stores of tensor memory"
# Copies of threads, whose addresses an assertion before them may check; TMA loads nothing outside of its tensor.
_CHECKED = "copies after assertions"

_WAIT = WgmmaWaitOp.OPERATION_NAME
_STORE = TmaStoreOp.OPERATION_NAME
# The places that an operation writes besides its buffers.
_WRITTEN: dict[str, tuple[Place, ...]] = {
    **dict.fromkeys(GLOBAL_STORES, (_MEMORY,)),
    **dict.fromkeys((op.OPERATION_NAME for op in (StoreWaitOp, FenceAsyncOp, BarrierOp)), (_STAGING, _MEMORY)),
    _STORE: (_STAGING, _MEMORY),
    StoreTensorMemoryOp.OPERATION_NAME: (_TENSOR_STORES,),
    **dict.fromkeys((StoreSharedOp.OPERATION_NAME, *TMA_LOADS, *COPIES_OF_THREADS), ()),
    Tcgen05CopyScalesOp.OPERATION_NAME: (),
    # It keeps its order with copies that it may guard, with stores, and with other output, but waits for no other role.
    AssertOp.OPERATION_NAME: (_CHECKED, _MEMORY),
}
_OF_CONSUMERS = (GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME)
_OF_CHANNELS = (PUT, GET)
_CHANNEL = MakeChannelOp.OPERATION_NAME
# Operations that read all of their buffers, or all but the accumulator.
_READERS = (LoadSharedOp.OPERATION_NAME, LoadTensorMemoryOp.OPERATION_NAME, *MULTIPLIES)


def accessed_places(op: ir.Operation) -> dict[Place, bool]:
    """The places that an operation, or one inside of it, accesses, and whether it writes them."""
    inside = [op, *operations_inside(op)] if op.regions else [op]
    found: dict[Place, bool] = {}
    for place, is_written in (access for each in inside for access in _accesses(each)):
        found[place] = found.get(place, False) or is_written
    return found


def _accesses(op: ir.Operation) -> Iterator[tuple[Place, bool]]:
    if op.name in STEPS_AND_SKIPS:
        yield from ((place, True) for place in _places_of_step(op))
        if _is_staging(op.operands[0]):
            yield _STAGING, True
    elif op.name == _WAIT and not isinstance(op.operands[0].owner, ir.Block):
        # The slots that the multiply reads are released after the wait.
        yield from _accesses(op.operands[0].owner.operation)
    elif op.name in GLOBAL_LOADS and op.opview.order is None:
        if "early" not in op.attributes and not has_repeatable_elements(op):
            yield _MEMORY, False
    elif op.name in _READERS:
        for value in op.operands:
            is_written = op.name in TENSOR_MEMORY_MULTIPLIES and value == op.opview.accumulator
            yield from ((place, is_written) for place in _places_of_buffer(value))
    elif op.name in _WRITTEN and not ("order" in op.attributes and op.opview.order is not None):
        yield from ((place, True) for place in _WRITTEN[op.name])
        yield from ((place, True) for value in op.operands for place in _places_of_buffer(value))
        if any(map(_is_staged, op.operands)):
            yield _STAGING, True
        if op.name in COPIES_OF_THREADS:
            yield _CHECKED, False
    elif op.name not in ("scf.if", "scf.yield") and not interface_of(op.name).is_pure:
        yield EVERYTHING, True


def _places_of_step(step: ir.Operation) -> tuple[Place, ...]:
    """A signal, which is a channel without buffers, is ordered after all operations before it.

    Each consumer of a ring that TMA fills counts its slots apart, and reads them.
    """
    channel = step.operands[0]
    made = channel.owner.opview
    if made.shares is None and not channel.type.buffers:
        return (EVERYTHING,)
    ring = _ring(channel)
    is_shared = made.shares is not None or any(use.owner.operation.name == _CHANNEL for use in channel.uses)
    if made.producer != TMA or is_shared:
        return (ring,)
    own = step.name in _OF_CONSUMERS
    return ((ring, step.opview.consumer),) if own else tuple((ring, n) for n in range(len(made.consumer_names)))


def _ring(channel: ir.Value) -> ir.Value:
    """The channel that has the slots of a channel."""
    shared = channel.owner.opview.shares
    return channel if shared is None else _ring(shared)


def _is_staged(value: ir.Value) -> bool:
    """Whether a value is a slot that TMA stores."""
    step = step_of_buffer(value)
    return step is not None and step.name != SLOT and _is_staging(step.operands[0])


def _is_staging(channel: ir.Value) -> bool:
    """Whether TMA stores the slots of a channel: waits, fences and barriers are between its steps."""
    return any(user.name == _STORE for user in users_of_slots(channel, STEPS_AND_SKIPS))


def _places_of_buffer(value: ir.Value) -> tuple[Place, ...]:
    """The places of a buffer; none for another value."""
    if not isinstance(value.type, BufferType):
        return ()
    if owner_of(without_views(value)) is None:
        return (EVERYTHING,)
    step = step_of_buffer(value)
    if step is None:
        return (_STAGING,)
    return _places_of_step(step) if step.name in _OF_CHANNELS else (_ring(step.operands[0]),)
