"""The slots of channels that buffers are in, and the operations that use a slot, also through views or in branches.

    %slot = tile_gpu.put_begin %ring;  %view = tile_gpu.view_buffer %slot;  tile_gpu.copy_view .. -> %view
    channel_of_buffer(%view) is the operation that makes %ring; users_of_slot(%slot) has the view and the copy.

A buffer may also be a staging buffer, a placed tile, or carried by a loop: these are in no slot of a channel.
Threads and multiplies pass some slots of tensor memory to each other: several channels have the memory of one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import GetOp, MakeChannelOp, PutBeginOp, SlotOp, channel_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp, ViewBufferOp
from tilec.dialect.walk import operations_in, owner_of, users_of, views_in, with_inner

_STORE = StoreTensorMemoryOp.OPERATION_NAME
_LOAD, _CONSTANT = LoadTensorMemoryOp.OPERATION_NAME, "arith.constant"
PUT, GET, SLOT = PutBeginOp.OPERATION_NAME, GetOp.OPERATION_NAME, SlotOp.OPERATION_NAME
VIEW = ViewBufferOp.OPERATION_NAME
# The operations whose results are the buffers of a slot.
SLOT_STEPS = (PUT, GET, SLOT)


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


def channels_of(kernel: KernelOp) -> list[MakeChannelOp]:
    """The declarations of the channels of a kernel."""
    return views_in(kernel.body.blocks[0], (MakeChannelOp.OPERATION_NAME,))


def has_own_slots(channel: MakeChannelOp) -> bool:
    """Whether no other channel has the slots of a channel."""
    users = users_of(channel.channel)
    return channel.shares is None and all(user.name != MakeChannelOp.OPERATION_NAME for user in users)


def users_of_slot(slot: ir.Value) -> Iterator[ir.Operation]:
    """The operations that use a slot, or a view of it."""
    for op in users_of(slot):
        yield op
        if op.name == VIEW:
            yield from users_of_slot(op.results[0])


def users_of_slots(channel: ir.Value, steps: Collection[str] = SLOT_STEPS) -> Iterator[ir.Operation]:
    """The operations that use the slots that some steps of a channel return, or views of them."""
    for step in users_of(channel):
        for slot in step.results if step.name in steps else ():
            yield from users_of_slot(slot)


def handed_place(value: ir.Value) -> ir.Value | None:
    """The channel that has the memory of a slot, or of a channel that passes it; None for other values."""
    op = owner_of(value)
    if op is not None and op.name == SLOT:
        return handed_place(op.operands[0])
    channel = channel_of(value)
    return None if channel is None else channel.shares or value


def is_place(value: ir.Value, place: ir.Value) -> bool:
    """Whether a value is a slot of this channel, or a channel that passes its memory."""
    found = handed_place(value)
    return found is not None and found == place


def use_place(operations: Iterable[ir.Operation], place: ir.Value) -> bool:
    """Whether operations, or operations inside of them, access the memory of a channel or pass it."""
    inside = (each for op in operations for each in with_inner(op))
    return any(is_place(value, place) for op in inside if op.name != SLOT for value in op.operands)


def load_or_constant(branch: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """The load in the first region of a branch with one result, and the constant that the second one gives.

    None if a region has any other operation: upstream's passes merge the branches of a user with these.
    """
    if branch.name != "scf.if" or len(branch.results) != 1:
        return None
    first, second = (operations_in(region.blocks[0]) for region in branch.regions)
    load, *others = first
    if load.name != _LOAD or [list(op.operands) for op in others] != [[load.results[0]]]:
        return None
    value = second[-1].operands[0]
    return (load, value) if is_constant(value) and all(op.name == _CONSTANT for op in second[:-1]) else None


def is_constant(value: ir.Value) -> bool:
    """Whether a value is the result of a constant operation."""
    op = owner_of(value)
    return op is not None and op.name == _CONSTANT


def fills_accumulator(op: ir.Operation) -> bool:
    """Whether an operation is a branch that only fills accumulators; predictions are of loops that have iterations."""
    if op.name != "scf.if" or len(op.results) or len(op.regions[1].blocks):
        return False
    *stores, _ = operations_in(op.regions[0].blocks[0])
    return bool(stores) and all(store.name == _STORE and is_constant(store.operands[0]) for store in stores)
