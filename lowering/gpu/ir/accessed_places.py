"""The places in memory that an operation accesses: a write keeps its order with other accesses of its place.

A place is a channel with its slots, the slots of one consumer of a ring that TMA fills, or one of the names below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import TMA, GetOp, MakeChannelOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.debug import AssertOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import (
    BarrierOp,
    FenceAsyncOp,
    LoadSharedOp,
    LoadSharedRowsOp,
    LoadTensorMemoryOp,
    StoreSharedOp,
    StoreTensorMemoryOp,
    StoreWaitOp,
)
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05CopyScalesOp
from tilec.dialect.tile_gpu.operations.shifted_rows import Tcgen05CopyRowsOp, Tcgen05ShiftRowsOp
from tilec.dialect.tile_gpu.operations.tma import TmaPrefetchOp, TmaStoreOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import owner_of, users_of, with_inner
from tilec.lowering.gpu.ir.operation_role import has_repeatable_elements
from tilec.lowering.gpu.ir.slots import GET, PUT, SLOT, step_of_buffer, users_of_slots, without_views

Place: TypeAlias = ir.Value | str | tuple[ir.Value, int]

# An operation that writes this place keeps its order with all operations that access a place.
EVERYTHING = "everything"
# Global memory; buffers outside of channels, and copies from them.
_MEMORY, _STAGING = "memory", "staging"
# Stores of threads that the next one without `pending` completes, which they have to precede.
_PENDING_STORES = "pending stores of tensor memory"
# Copies of threads, whose addresses an assertion before them may check; TMA loads nothing outside of its tensor.
_CHECKED = "copies after assertions"

_MULTIPLY, _WAIT = WgmmaOp.OPERATION_NAME, WgmmaWaitOp.OPERATION_NAME
_STORE = TmaStoreOp.OPERATION_NAME
# The places that an operation writes besides its buffers.
_WRITTEN: dict[str, tuple[Place, ...]] = {
    **dict.fromkeys(GLOBAL_STORES, (_MEMORY,)),
    **dict.fromkeys((op.OPERATION_NAME for op in (StoreWaitOp, FenceAsyncOp, BarrierOp)), (_STAGING, _MEMORY)),
    _STORE: (_STAGING, _MEMORY),
    **dict.fromkeys((StoreSharedOp.OPERATION_NAME, *TMA_LOADS, *COPIES_OF_THREADS), ()),
    StoreTensorMemoryOp.OPERATION_NAME: (),
    **dict.fromkeys((op.OPERATION_NAME for op in (Tcgen05CopyScalesOp, Tcgen05CopyRowsOp, Tcgen05ShiftRowsOp)), ()),
    TmaPrefetchOp.OPERATION_NAME: (),
    # It keeps its order with copies that it may guard, with stores, and with other output, but waits for no other role.
    AssertOp.OPERATION_NAME: (_CHECKED, _MEMORY),
}
_OF_CONSUMERS = (GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME)
_OF_CHANNELS = (PUT, GET)
# Operations that read all of their buffers, or all but the accumulator.
_LOADS = (LoadSharedOp.OPERATION_NAME, LoadSharedRowsOp.OPERATION_NAME, LoadTensorMemoryOp.OPERATION_NAME)
_READERS = (*_LOADS, *MULTIPLIES)


def _awaited_multiplies(wait: ir.Operation) -> Iterator[ir.Operation]:
    """The multiply of a wait, and those of a block to whose sums in flight it adds."""
    owner = wait.operands[0].owner
    while not isinstance(owner, ir.Block) and owner.operation.name in (_MULTIPLY, _WAIT):
        if owner.operation.name == _MULTIPLY:
            yield owner.operation
        elif not owner.operation.opview.pending:
            return
        owner = owner.operation.opview.accumulator.owner


@dataclass(frozen=True)
class _ChannelPlaces:
    """The places of the slots of a channel.

    Attributes:
        ring: the channel that has the slots.
        is_signal: whether it has no buffers: it is ordered after all operations before it.
        is_counted_apart: whether each consumer counts its slots apart, and reads them, as of a ring that TMA fills.
        is_staging: whether TMA stores the slots: waits, fences and barriers are between its steps.
        consumers: the number of consumers.
    """

    ring: ir.Value
    is_signal: bool
    is_counted_apart: bool
    is_staging: bool
    consumers: int

    @classmethod
    def of(cls, channel: ir.Value) -> _ChannelPlaces:
        made = channel.owner.opview
        ring, shares = channel, made.shares
        while shares is not None:
            ring, shares = shares, shares.owner.opview.shares
        users = users_of(channel)
        is_shared = made.shares is not None or any(user.name == MakeChannelOp.OPERATION_NAME for user in users)
        return cls(
            ring,
            is_signal=made.shares is None and not channel.type.buffers,
            is_counted_apart=made.producer == TMA and not is_shared,
            is_staging=any(user.name == _STORE for user in users_of_slots(channel, STEPS_AND_SKIPS)),
            consumers=len(made.consumer_names),
        )

    def of_step(self, step: ir.Operation) -> tuple[Place, ...]:
        """The places that a step on the channel accesses."""
        if self.is_signal:
            return (EVERYTHING,)
        if not self.is_counted_apart:
            return (self.ring,)
        if step.name in _OF_CONSUMERS:
            return ((self.ring, step.opview.consumer),)
        return tuple((self.ring, consumer) for consumer in range(self.consumers))


class AccessedPlaces:
    """The places that operations of a kernel access, which does not change meanwhile."""

    def __init__(self) -> None:
        self._channels: dict[ir.Value, _ChannelPlaces] = {}

    def of(self, op: ir.Operation) -> dict[Place, bool]:
        """The places that an operation, or one inside of it, accesses, and whether it writes them."""
        inside = with_inner(op)
        found: dict[Place, bool] = {}
        for place, is_written in (access for each in inside for access in self._accesses(each)):
            found[place] = found.get(place, False) or is_written
        return found

    def writes_memory(self, op: ir.Operation) -> bool:
        """Whether an operation, or one inside of it, may write global memory, or orders the accesses of it."""
        found = self.of(op)
        return found.get(EVERYTHING, False) or found.get(_MEMORY, False)

    def _accesses(self, op: ir.Operation) -> Iterator[tuple[Place, bool]]:
        if op.name in STEPS_AND_SKIPS:
            channel = self._channel(op.operands[0])
            yield from ((place, True) for place in channel.of_step(op))
            if channel.is_staging:
                yield _STAGING, True
        elif op.name == _WAIT and not isinstance(op.operands[0].owner, ir.Block):
            # The slots that the multiplies read are released after the wait.
            for multiply in _awaited_multiplies(op):
                yield from self._accesses(multiply)
        elif op.name in GLOBAL_LOADS and op.opview.order is None:
            if "early" not in op.attributes and not has_repeatable_elements(op):
                yield _MEMORY, False
        elif op.name in _READERS:
            for value in op.operands:
                is_written = op.name in TENSOR_MEMORY_MULTIPLIES and value == op.opview.accumulator
                yield from ((place, is_written) for place in self._of_buffer(value))
        elif op.name in _WRITTEN and not ("order" in op.attributes and op.opview.order is not None):
            yield from ((place, True) for place in _WRITTEN[op.name])
            yield from ((place, True) for value in op.operands for place in self._of_buffer(value))
            if any(map(self._is_staged, op.operands)):
                yield _STAGING, True
            if op.name in COPIES_OF_THREADS:
                yield _CHECKED, False
            if op.name == StoreTensorMemoryOp.OPERATION_NAME:
                yield _PENDING_STORES, op.opview.pending
        elif op.name not in ("scf.if", "scf.yield") and not interface_of(op.name).is_pure:
            yield EVERYTHING, True

    def _channel(self, channel: ir.Value) -> _ChannelPlaces:
        found = self._channels.get(channel)
        if found is None:
            found = self._channels[channel] = _ChannelPlaces.of(channel)
        return found

    def _is_staged(self, value: ir.Value) -> bool:
        """Whether a value is a slot that TMA stores."""
        step = step_of_buffer(value)
        return step is not None and step.name != SLOT and self._channel(step.operands[0]).is_staging

    def _of_buffer(self, value: ir.Value) -> tuple[Place, ...]:
        """The places of a buffer; none for another value."""
        if not isinstance(value.type, BufferType):
            return ()
        if owner_of(without_views(value)) is None:
            return (EVERYTHING,)
        step = step_of_buffer(value)
        if step is None:
            return (_STAGING,)
        channel = self._channel(step.operands[0])
        return channel.of_step(step) if step.name in _OF_CHANNELS else (channel.ring,)
