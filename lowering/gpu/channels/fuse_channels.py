"""Fuses two TMA channels that are filled, read and released together: half the barriers.

Before the channels of A and B of a multiply, in one block:   put a, put b, get a, get b, mma, release a, release b
after:                                                        put (a, b), get (a, b), mma, release (a, b)

A multiply that needs a tile that threads compute in the same iteration, as the second one of attention, does not share
a slot with another one, which may run ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import TENSOR_CORE_OPERATIONS, TMA_LOADS
from tilec.dialect.tile_gpu.operations.channel import (
    MAXIMUM_BUFFERS,
    THREADS,
    TMA,
    MakeChannelOp,
    PutCommitOp,
    ReleaseOp,
)
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import users_of
from tilec.lowering.gpu.ir.build_channels import channel_like, get_slot, put_begin, put_commit, release_slot
from tilec.lowering.gpu.ir.enclosing import numbers_of
from tilec.lowering.gpu.ir.operation_role import compute_role, set_compute_role
from tilec.lowering.gpu.ir.slots import GET, PUT, channels_of, step_of_buffer, users_of_slot
from tilec.lowering.gpu.kernel_pass import Context

# The operations of each step on a channel, in program order.
_STEPS = ((PUT,), TMA_LOADS, (PutCommitOp.OPERATION_NAME,), (GET,), (ReleaseOp.OPERATION_NAME,))


# The attributes of two channels that are fused are equal.
_AGREED = ("stages", "consumers", "reuse")


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
    candidates = [uses for op in channels_of(kernel) if (uses := _uses(op)) is not None]
    # Operations that a fusion adds are not numbered: no other candidate uses them.
    order_of = cache(numbers_of)
    while candidates:
        first = candidates.pop(0)
        order = order_of(first.put_begin.block)
        partner = next((second for second in candidates if _together(first, second, order)), None)
        if partner is not None:
            candidates.remove(partner)
            _fuse(first, partner, order)


def _uses(op: MakeChannelOp) -> _Uses | None:
    if op.producer != TMA or op.across is not None or len(op.consumer_names) != 1:
        return None
    users = users_of(op.channel)
    found = [[user for user in users if user.name in names] for names in _STEPS]
    if len(users) != len(_STEPS) or any(len(group) != 1 for group in found):
        return None
    steps = [group[0] for group in found]
    return _Uses(op, *steps) if all(step.block == steps[0].block for step in steps) else None


def _together(first: _Uses, second: _Uses, order: Mapping[ir.Operation, int]) -> bool:
    """Whether two channels of one block agree, and both are filled before any read, and read before any release."""
    if first.put_begin.block != second.put_begin.block or compute_role(first.get) != compute_role(second.get):
        return False
    if _waits_for_threads(first) != _waits_for_threads(second):
        return False
    if len(first.put_begin.results) + len(second.put_begin.results) > MAXIMUM_BUFFERS:
        return False
    if any(first.channel.attributes[name] != second.channel.attributes[name] for name in _AGREED):
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
    users = (user for channel in channels for user in users_of(channel))
    return any(user.name == PUT and user.block == uses.put_begin.block for user in users)


def _channel_of(value: ir.Value) -> ir.Value | None:
    """The channel of a slot, or of one that this is a view of; None for other values."""
    step = step_of_buffer(value)
    return None if step is None or step.name == PUT else step.operands[0]


def _fuse(first: _Uses, second: _Uses, order: Mapping[ir.Operation, int]) -> None:
    if order[second.put_begin] < order[first.put_begin]:
        first, second = second, first
    declared = [first.channel.operation, second.channel.operation]
    later = declared[0] if declared[1].is_before_in_block(declared[0]) else declared[1]
    with later.location, ir.InsertionPoint(later):
        buffers = [*first.channel.channel.type.buffers, *second.channel.channel.type.buffers]
        channel = channel_like(first.channel, buffers)
    with first.put_begin.location, ir.InsertionPoint(first.put_begin):
        slot = put_begin(channel)
    earlier = min(first.get, second.get, key=order.__getitem__)
    with earlier.location, ir.InsertionPoint(earlier):
        held = get_slot(channel)
    with second.put_commit.location, ir.InsertionPoint(second.put_commit):
        put_commit(channel)
    last = max(first.release, second.release, key=order.__getitem__)
    with last.location, ir.InsertionPoint(last):
        released = release_slot(channel)
    for step in (held, released):
        set_compute_role(step, compute_role(last))
    for steps, made in (((first.put_begin, second.put_begin), slot), ((first.get, second.get), held)):
        replaced = [result for step in steps for result in step.results]
        for result, buffer in zip(replaced, made.results, strict=True):
            result.replace_all_uses_with(buffer)
    for uses in (first, second):
        uses.copy.operands[len(uses.copy.operands) - 1] = channel
        for op in (uses.release, uses.get, uses.put_commit, uses.put_begin, uses.channel.operation):
            op.erase()
