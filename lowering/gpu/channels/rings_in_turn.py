"""Which rings of one loop become one ring: the multiplies of an iteration read their slots one after the other.

before:   for { put a, put b, get a, mma, release a, get b, mma, release b }
after:    for { put r, get r, mma, release r, put r, get r, mma, release r }

Of the rings of an unrolled body each has a slot or none, where one ring has as many as memory holds. The loads are in
the order of the multiplies. Where a multiply waits for threads, others run ahead of it, which need rings of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import MULTIPLIES, TMA_LOADS
from tilec.dialect.tile_gpu.operations.channel import MMA, TMA, WGMMA, PutCommitOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import operations_in, operations_inside, owner_of
from tilec.lowering.gpu.ir.accessed_places import AccessedPlaces
from tilec.lowering.gpu.ir.enclosing import is_inside, loops_around
from tilec.lowering.gpu.ir.slots import GET, PUT, VIEW, step_of_buffer, users_of_slots
from tilec.lowering.gpu.memory.channel_life import ChannelLife, channel_lives, uses

_FILLS = (PUT, *TMA_LOADS, PutCommitOp.OPERATION_NAME)


def may_be_in_turn(own: ChannelLife, other: ChannelLife) -> bool:
    """Whether two lives are of rings with equal slots, which multiplies of one loop read and TMA fills."""
    key = _key(own)
    return key is not None and key == _key(other)


def load_in_turn(kernel: KernelOp) -> None:
    """Moves the loads of rings that may be in turn to their gets, if these are after the release of another ring."""
    rings: dict[object, list[ChannelLife]] = defaultdict(list)
    for life in channel_lives(kernel):
        if (key := _key(life)) is not None:
            rings[key].append(life)
    places = AccessedPlaces()
    for members in rings.values():
        operations = operations_in(members[0].home)
        numbers = {op: number for number, op in enumerate(operations)}
        members = [life for life in members if life.home == members[0].home]
        for before, after in pairwise(sorted(members, key=lambda life: _reads(life, numbers))):
            release, get = _reads(before, numbers)[1], _reads(after, numbers)[0]
            fills = sorted((op for op in uses(after.channels[0]) if op.name in _FILLS), key=numbers.__getitem__)
            put = numbers[fills[0]]
            if put < release < get and not any(map(places.writes_memory, operations[put:get])):
                for op in fills:
                    op.move_before(operations[get])


def _key(life: ChannelLife) -> object:
    """A key that is equal for rings that may be in turn; None for a channel of another kind."""
    channel = life.channels[0]
    if len(life.channels) > 1 or channel.reuse != "ring" or channel.producer != TMA:
        return None
    loops = loops_around(next(uses(channel)))
    if channel.consumer_names not in ([MMA], [WGMMA]) or not loops:
        return None
    users = [op for op in users_of_slots(channel.channel, (GET,)) if op.name != VIEW]
    if any(op.block != life.home for op in uses(channel)) or any(op.name not in MULTIPLIES for op in users):
        return None
    return None if _waits_for_threads(loops[-1]) else (loops[-1], channel.channel.type)


def _waits_for_threads(loop: ir.Operation) -> bool:
    """Whether threads compute an operand of a multiply in the loop that contains both."""
    multiplies = [op for op in operations_inside(loop) if op.name in MULTIPLIES]
    return any(_is_computed(value, loop) for op in multiplies for value in list(op.operands)[1:])


def _is_computed(operand: ir.Value, loop: ir.Operation) -> bool:
    if is_register_tile(operand.type):
        # An argument is carried by the loop, or by one inside.
        return owner_of(operand) is None or is_inside(owner_of(operand), loop)
    step = step_of_buffer(operand) if isinstance(operand.type, BufferType) else None
    return step is not None and is_inside(step, loop) and step.operands[0].owner.opview.producer != TMA


def _reads(life: ChannelLife, numbers: Mapping[ir.Operation, int]) -> tuple[int, int]:
    """The numbers of the first get and of the last release of a channel."""
    steps = [numbers[op] for op in uses(life.channels[0]) if op.name not in _FILLS]
    return min(steps), max(steps)
