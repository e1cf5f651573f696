"""The slots of channels that buffers are in, and the operations that use a slot, also through views.

    %slot = tile_gpu.put_begin %ring;  %view = tile_gpu.view_buffer %slot;  tile_gpu.copy_view .. -> %view
    channel_of_buffer(%view) is the operation that makes %ring; users_of_slot(%slot) has the view and the copy.

A buffer may also be a staging buffer, a placed tile, or carried by a loop: these are in no slot of a channel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import GetOp, MakeChannelOp, PutBeginOp, SlotOp, channel_of
from tilec.dialect.tile_gpu.memory import ViewBufferOp

PUT, GET, SLOT = PutBeginOp.OPERATION_NAME, GetOp.OPERATION_NAME, SlotOp.OPERATION_NAME
VIEW = ViewBufferOp.OPERATION_NAME
# The operations whose results are the buffers of a slot.
SLOT_STEPS = (PUT, GET, SLOT)


def owner_of(value: ir.Value) -> ir.Operation | None:
    """The operation that defines a value; None for an argument of a kernel or of a loop."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def without_views(buffer: ir.Value) -> ir.Value:
    """The buffer that a buffer is a view of, through any number of views; a buffer that is not a view is itself."""
    while (op := owner_of(buffer)) is not None and op.name == VIEW:
        buffer = op.operands[0]
    return buffer


def step_of_buffer(buffer: ir.Value) -> ir.Operation | None:
    """The put_begin, get or slot that returns the slot of a buffer; None for a buffer in no slot."""
    op = owner_of(without_views(buffer))
    return op if op is not None and op.name in SLOT_STEPS else None


def channel_of_buffer(buffer: ir.Value) -> MakeChannelOp | None:
    """The operation that makes the channel of the slot of a buffer; None for a buffer in no slot."""
    step = step_of_buffer(buffer)
    return None if step is None else channel_of(step.operands[0])


def users_of_slot(slot: ir.Value) -> Iterator[ir.Operation]:
    """The operations that use a slot, or a view of it."""
    for use in slot.uses:
        op = use.owner.operation
        yield op
        if op.name == VIEW:
            yield from users_of_slot(op.results[0])


def users_of_slots(channel: ir.Value, steps: Collection[str] = SLOT_STEPS) -> Iterator[ir.Operation]:
    """The operations that use the slots that some steps of a channel return, or views of them."""
    for step in [use.owner.operation for use in channel.uses if use.owner.operation.name in steps]:
        for slot in step.results:
            yield from users_of_slot(slot)
