"""Fuses two TMA channels that are filled, read and released together: half the barriers.

Before the channels of A and B of a multiply, in one block:   put a, put b, get a, get b, mma, release a, release b
after:                                                        put (a, b), get (a, b), mma, release (a, b)

A multiply that needs what threads compute in the same iteration, as the second one of attention, does not share a slot
with one that does not: that one may run ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import TENSOR_CORE_OPERATIONS, TMA_LOADS
from tilec.dialect.tile_gpu.channel import (
    MAXIMUM_BUFFERS,
    THREADS,
    TMA,
    GetOp,
    MakeChannelOp,
    PutBeginOp,
    PutCommitOp,
    ReleaseOp,
    slot_results,
)
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.types import BufferType, ChannelType
from tilec.lowering.gpu.ir.compute_roles import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import PUT, step_of_buffer, users_of_slot
from tilec.lowering.gpu.kernel_pass import Context

# The operations of each step on a channel, in program order.
_STEPS = (
    (PUT,),
    TMA_LOADS,
    (PutCommitOp.OPERATION_NAME,),
    (GetOp.OPERATION_NAME,),
    (ReleaseOp.OPERATION_NAME,),
)


@dataclass(frozen=True)
class _Uses:
    """The only operation of each kind on a channel, all in one block."""

    channel: MakeChannelOp
    put_begin: ir.Operation
    copy: ir.Operation
    put_commit: ir.Operation
    get: ir.Operation
    release: ir.Operation


def fuse_channels(kernel: KernelOp, _context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place; run before the kernel is split into roles."""
    block = kernel.operation.regions[0].blocks[0]
    candidates = [uses for op in block.operations if (uses := _uses(op)) is not None]
    orders: dict[ir.Block, dict[ir.Operation, int]] = {}
    while candidates:
        first = candidates.pop(0)
        block = first.put_begin.block
        # What a fusion adds is not numbered: no other candidate uses it.
        if block not in orders:
            orders[block] = _order(block)
        order = orders[block]
        partner = next((second for second in candidates if _together(first, second, order)), None)
        if partner is not None:
            candidates.remove(partner)
            _fuse(first, partner, order)


def _uses(op: ir.OpView) -> _Uses | None:
    if (
        op.operation.name != MakeChannelOp.OPERATION_NAME
        or op.producer != TMA
        or op.across is not None
        or len(op.consumer_names) != 1
    ):
        return None
    users = [use.owner.operation for use in op.operation.results[0].uses]
    found = [[user for user in users if user.name in names] for names in _STEPS]
    if len(users) != len(_STEPS) or any(len(group) != 1 for group in found):
        return None
    steps = [group[0] for group in found]
    return _Uses(op, *steps) if all(step.block == steps[0].block for step in steps) else None


def _order(block: ir.Block) -> dict[ir.Operation, int]:
    """The number of each operation in a block."""
    return {op.operation: number for number, op in enumerate(block.operations)}


def _together(first: _Uses, second: _Uses, order: Mapping[ir.Operation, int]) -> bool:
    """Whether two channels of one block agree, and both are filled before any read, and read before any release."""
    if first.put_begin.block != second.put_begin.block or compute_role(first.get) != compute_role(second.get):
        return False
    if _waits_for_threads(first) != _waits_for_threads(second):
        return False
    if len(first.put_begin.results) + len(second.put_begin.results) > MAXIMUM_BUFFERS:
        return False
    for name in ("stages", "consumers", "reuse"):
        if first.channel.operation.attributes[name] != second.channel.operation.attributes[name]:
            return False
    filled = max(order[uses.put_commit] for uses in (first, second))
    read = [order[uses.get] for uses in (first, second)]
    released = min(order[uses.release] for uses in (first, second))
    return filled < min(read) and max(read) < released


def _waits_for_threads(uses: _Uses) -> bool:
    """Whether a multiply of a slot has an operand that threads store in the block of the loads."""
    multiplies = [op for slot in uses.get.results for op in users_of_slot(slot) if op.name in TENSOR_CORE_OPERATIONS]
    operands = [channel for op in multiplies for value in op.operands if (channel := _channel_of(value)) is not None]
    channels = [channel for channel in operands if channel.owner.opview.producer == THREADS]
    puts = (use.owner.operation for channel in channels for use in channel.uses if use.owner.name == PUT)
    return any(put.block == uses.put_begin.block for put in puts)


def _channel_of(value: ir.Value) -> ir.Value | None:
    """The channel of a slot, or of one that this is a view of; None for other values."""
    step = step_of_buffer(value)
    return None if step is None or step.name == PUT else step.operands[0]


def _fuse(first: _Uses, second: _Uses, order: Mapping[ir.Operation, int]) -> None:
    if order[second.put_begin] < order[first.put_begin]:
        first, second = second, first
    buffers = [*first.channel.operation.results[0].type.buffers, *second.channel.operation.results[0].type.buffers]
    attributes = {
        name: first.channel.operation.attributes[name] for name in ("stages", "producer", "consumers", "reuse")
    }
    later = max(first.channel.operation, second.channel.operation, key=_position)
    with later.location, ir.InsertionPoint(later):
        channel = build(MakeChannelOp.OPERATION_NAME, [None], [ChannelType.get(buffers)], attributes).results[0]
    slot = _replaced(PutBeginOp.OPERATION_NAME, first.put_begin, channel, buffers)
    earlier = min(first.get, second.get, key=order.__getitem__)
    held = _replaced(GetOp.OPERATION_NAME, earlier, channel, buffers, consumer=0)
    with second.put_commit.location, ir.InsertionPoint(second.put_commit):
        build(PutCommitOp.OPERATION_NAME, [channel])
    last = max(first.release, second.release, key=order.__getitem__)
    with last.location, ir.InsertionPoint(last):
        released = build(ReleaseOp.OPERATION_NAME, [channel], attributes={"consumer": 0})
    for step in (held[0].owner, released):
        set_compute_role(step, compute_role(last))
    for uses in (first, second):
        for replaced, given in ((uses.put_begin.results, slot), (uses.get.results, held)):
            for result in replaced:
                result.replace_all_uses_with(given.pop(0))
        uses.copy.operands[len(uses.copy.operands) - 1] = channel
        for op in (uses.release, uses.get, uses.put_commit, uses.put_begin, uses.channel.operation):
            op.erase()


def _position(op: ir.Operation) -> int:
    return next(number for number, other in enumerate(op.block.operations) if other.operation == op)


def _replaced(
    name: str, before: ir.Operation, channel: ir.Value, buffers: list[BufferType], **attributes: object
) -> list[ir.Value]:
    with before.location, ir.InsertionPoint(before):
        return list(build(name, [channel], slot_results(buffers), attributes).results)
