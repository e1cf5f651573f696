"""Channels whose slots are never in use at the same time become one ring.

before:   for { put a, get a, mma, release a }   for { put b, get b, mma, release b }
after:    for { put r, get r, mma, release r }   for { put r, get r, mma, release r }

The barriers of the ring then order the second loop's writes after the first loop's reads, in every role, and the load
role still runs ahead into the second loop. Slots with other buffers keep their own type (`continues`) and are as large
as the largest. Channels of loops are joined always, as their order stays: all releases of one precede all puts of the
other. So are those of multiplies of one loop that are in turn (rings_in_turn.py). Others are joined only as far as
memory requires, since a put then waits that did not wait before.
Roles do not share slots: if the operands of several computing roles need more memory than there is, one role computes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_inside, users_of
from tilec.lowering.gpu.channels.rings_in_turn import load_in_turn, may_be_in_turn
from tilec.lowering.gpu.channels.stage_through_channels import holds_staging, stage_through_channels, staging_life
from tilec.lowering.gpu.ir.build_channels import channel_like
from tilec.lowering.gpu.ir.enclosing import loops_around, numbers_of
from tilec.lowering.gpu.ir.operation_role import clear_compute_role, has_compute_roles, role_of
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.slots import PUT
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.channel_life import ChannelLife, channel_lives, uses
from tilec.lowering.gpu.memory.shared_plan import memory_plan, slot_size
from tilec.remarks import Remark


@dataclass
class _Ring:
    """Channels that become one ring; `size` has the bytes and columns of a slot."""

    lives: list[ChannelLife]
    parties: tuple[object, ...]
    size: tuple[int, int]

    def may_join(self, other: _Ring) -> bool:
        return self.parties == other.parties and all(
            own.is_apart(others) for own in self.lives for others in other.lives
        )

    def is_in_other_loops(self, other: _Ring, *, in_turn: bool) -> bool:
        """Whether the channels of two rings are in different loops, or with `in_turn` in turn in one."""
        pairs = itertools.product(self.lives, other.lives)
        return all(own.is_in_another_loop(others) or in_turn and may_be_in_turn(own, others) for own, others in pairs)

    def common(self, other: _Ring) -> tuple[int, int]:
        """The bytes and columns that one slot saves for two rings."""
        return min(self.size[0], other.size[0]), min(self.size[1], other.size[1])

    def join(self, other: _Ring) -> int:
        """Takes the channels of another ring; returns the bytes that this saves."""
        saved_bytes = self.lives[0].channels[0].stages * self.common(other)[0]
        self.size = max(self.size[0], other.size[0]), max(self.size[1], other.size[1])
        self.lives += other.lives
        return saved_bytes


def reuse_channels(kernel: KernelOp, context: Context) -> None:
    """Rewrites a tile_gpu.kernel without roles in place."""
    if kernel.roles is not None:
        return
    # Without roles the loads of a loop run ahead if each fills a ring of its own.
    if context.options.roles:
        load_in_turn(kernel)
    rings, short_bytes = _joined(kernel, context)
    excess_bytes = short_bytes - scratch_bytes(kernel)
    # The operations are in an order in which one role may execute them.
    if excess_bytes > 0 and has_compute_roles(kernel):
        context.remarks.append(_one_role(kernel, excess_bytes))
        for op in operations_inside(kernel):
            clear_compute_role(op)
        rings, short_bytes = _joined(kernel, context)
    if short_bytes > 0:
        _join_staging(rings, kernel)
    for ring in rings:
        if len(ring.lives) > 1:
            _rewrite(ring)


def _one_role(kernel: KernelOp, excess_bytes: int) -> Remark:
    reason = f"the operands of several roles need {excess_bytes} bytes more shared memory than there is"
    message = f"one role computes all chains of products: {reason}"
    return Remark("roles", message, source_location(kernel.operation.location))


def _joined(kernel: KernelOp, context: Context) -> tuple[list[_Ring], int]:
    """The rings of all channels, and the bytes of shared memory that they need beside those that there are."""
    plan = memory_plan(kernel)
    short_bytes = plan.declared_bytes + scratch_bytes(kernel) - context.target.shared_bytes
    short_columns = plan.columns_used - context.target.tensor_memory_columns
    lives = channel_lives(kernel)
    packed = [life for life in lives if short_columns > 0 and _ring(life).size[1]]
    rings, in_turn = _packed(packed), context.options.roles
    for ring in (_ring(life) for life in lives if life not in packed):
        found = [
            earlier for earlier in rings if earlier.may_join(ring) and earlier.is_in_other_loops(ring, in_turn=in_turn)
        ]
        if found:
            short_bytes -= min(found, key=lambda earlier: _difference(earlier, ring)).join(ring)
        else:
            rings.append(ring)
    return rings, _join_while_short(rings, short_bytes)


def _join_staging(rings: list[_Ring], kernel: KernelOp) -> None:
    """Puts the staging buffers into the slots of the largest ring that threads fill and that is not in use then."""
    life = staging_life(kernel)
    if life is None or has_compute_roles(kernel):
        return
    found = [ring for ring in rings if holds_staging(ring.lives[0]) and all(one.is_apart(life) for one in ring.lives)]
    if found:
        ring = max(found, key=lambda ring: ring.size)
        for channel in stage_through_channels(kernel, ring.lives[0].channels[0]):
            ring.lives.append(ChannelLife((channel,), life.places))


def _ring(life: ChannelLife) -> _Ring:
    return _Ring([life], _parties(life), slot_size(life.channels[0].channel.type.buffers))


def _parties(life: ChannelLife) -> tuple[object, ...]:
    """A key that is equal for the channels of a ring; those whose slots others share also have equal buffers.

    One role fills all slots of a ring, and each consumer is one role: two would count the steps of the ring separately.
    The inbound and the outbound channel of an accumulator do not wait for other warps between two accumulators, so
    each warp must access the same columns of both.
    """
    first = life.channels[0]
    roles = frozenset((_side(op), role) for channel in life.channels for op in uses(channel) if (role := role_of(op)))
    common = (*(first.operation.attributes[name] for name in ("stages", "producer", "consumers")), first.across, roles)
    if len(life.channels) == 1:
        return *common, frozenset(buffer.memory for buffer in first.channel.type.buffers)
    sharing = [(op.producer, op.operation.attributes["consumers"], op.reuse) for op in life.channels]
    return *common, *(op.channel.type for op in life.channels), *sharing


def _side(op: ir.Operation) -> int | None:
    """The number of the consumer that executes a step of a channel; None for a step of the producer."""
    return op.attributes["consumer"].value if "consumer" in op.attributes else None


def _difference(first: _Ring, second: _Ring) -> tuple[bool, int]:
    """Sorts equal slots first, then those of similar sizes."""
    types = [ring.lives[0].channels[0].channel.type for ring in (first, second)]
    return types[0] != types[1], sum(abs(own - other) for own, other in zip(first.size, second.size, strict=True))


def _packed(lives: list[ChannelLife]) -> list[_Ring]:
    """Rings for channels in tensor memory, in which all join that may: of two orders the one with fewer columns.

    Inner loops come first where units are chosen (plan/matrix/unit_choice.py), so that this order fits. In a ring of
    two slots a multiply overlaps the read of the accumulator before.
    """
    orders = sorted(lives, key=_depth, reverse=True), sorted(lives, key=lambda life: _ring(life).size[1], reverse=True)
    return min(map(_first_fit, orders), key=lambda rings: sum(ring.size[1] for ring in rings))


def _depth(life: ChannelLife) -> int:
    """The number of loops around the multiplies into the slots of a channel."""
    puts = [op for op in uses(life.channels[0]) if op.name == PUT]
    return max((len(loops_around(user)) for op in puts for user in users_of(op.results[0])), default=0)


def _first_fit(lives: list[ChannelLife]) -> list[_Ring]:
    rings: list[_Ring] = []
    for ring in map(_ring, lives):
        usable = [earlier for earlier in rings if earlier.may_join(ring)]
        if usable:
            max(usable, key=lambda earlier: ring.common(earlier)[1]).join(ring)
        else:
            rings.append(ring)
    return rings


def _join_while_short(rings: list[_Ring], short_bytes: int) -> int:
    """Joins rings outside of loops or in one loop, the largest first, until `short_bytes` bytes are saved.

    Returns the bytes that are still to be saved.
    """
    for ring in sorted(rings, key=lambda ring: ring.size, reverse=True):
        if short_bytes <= 0 or not ring.size[0]:
            continue
        others = sorted((other for other in rings if other is not ring), key=ring.common, reverse=True)
        partner = next((other for other in others if other.may_join(ring)), None)
        if partner is not None:
            short_bytes -= partner.join(ring)
            rings.remove(ring)
    return short_bytes


def _rewrite(ring: _Ring) -> None:
    """Makes one ring of channels: equal ones are one channel, the others continue it."""
    for channels in zip(*(life.channels for life in ring.lives), strict=True):
        numbers = numbers_of(channels[0].operation.block)
        first = min(channels, key=lambda op: numbers[op.operation])
        if len(ring.lives[0].channels) == 1:
            first.operation.attributes["reuse"] = ir.StringAttr.get("ring")
        same = {first.channel.type: first.channel}
        for op in channels:
            if op == first:
                continue
            type = op.channel.type
            if type not in same:
                with op.operation.location, ir.InsertionPoint(op.operation):
                    same[type] = channel_like(first, type.buffers, first.channel, across=first.across, continues=True)
            op.channel.replace_all_uses_with(same[type])
            op.operation.erase()
