"""In the role `mma`, multiplies that need only loads run one iteration ahead of those that wait for threads.

before:   for i < n { s = q @ k(i);  o = p(i) @ v(i) }             the unit waits while threads compute p(i) from s(i)
after:    s(0);  for i < n - 1 { s(i + 1);  o = p(i) @ v(i) }  o = p(n - 1) @ v(n - 1)

If the operand p is in the columns of the sums s, s(i + 1) follows the multiply of p(i), and the unit multiplies
meanwhile for the other chain of tiles (assign_roles.py): p0 @ v, q0 @ k', p1 @ v, q1 @ k'.

Otherwise the threads release s(i) before they put p(i), so that s(i + 1) may wait for its slot before p(i) @ v(i).

With one slot for v, or two, the role `load` then loads in the order in which `mma` multiplies, k(i + 1) before v(i). In
program order k(i + 1) would wait until the slot of v(i) is free, at the end of p(i - 1) @ v(i - 1), or of the multiply
before that.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS, TENSOR_CORE_OPERATIONS
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.channel import COPIES, MMA, THREADS, TMA, MakeChannelOp, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import operations_in, operations_of, users_of, with_inner
from tilec.lowering.gpu.channels.pipeline import set_stages
from tilec.lowering.gpu.ir.enclosing import LOOPS, path_to
from tilec.lowering.gpu.ir.operation_role import LOAD, MULTIPLY, is_rematerializable
from tilec.lowering.gpu.ir.slots import GET, PUT, VIEW, has_own_slots, step_of_buffer
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_attributes import iterations_ahead
from tilec.lowering.gpu.loops.other_iteration import scalars_behind
from tilec.lowering.gpu.schedule.legal_schedules import (
    are_legal,
    operations_of_body,
    write_legal_schedules,
    write_schedules,
)

_COMMIT, _RELEASE = PutCommitOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
# Causal attention of 128x128, d = 128, with two slots has 1,465 modelled cycles in this order, else 1,685.
_FEW_SLOTS = 2


def advance_multiplies(kernel: KernelOp, context: Context) -> None:
    """Gives the loops of the roles `mma` and `load` schedules, where that is possible and all roles terminate."""
    for loop, loads in _loops_of_multiplies(kernel):
        if rotations := _rotations(loop, loads):
            write_schedules(kernel, _orders(rotations), context)


def order_ahead(loop: ir.Operation) -> LoopOrder | None:
    """The order of a loop of the role `mma` with multiplies ahead, for any slots; None if none may be, or some are."""
    found = None if iterations_ahead(loop) else _rotation(loop, _group(operations_of_body(loop)))
    return None if found is None else found.order()


# The new slots of rings by their channel, and the ids of loops that no other schedule makes shorter then.
Needed = tuple[Mapping[ir.Value, int], Collection[int]]


def advance_again(
    kernel: KernelOp, context: Context, needed: Callable[[ir.Operation, Sequence[MakeChannelOp]], Needed | None]
) -> bool:
    """Advances multiplies that are one iteration ahead by another one, and their loads by two; returns whether any are.

    `needed` gets a loop of the role `mma` and the rings of the sums that are ahead in it; None if it is not worth it.
    """
    is_changed = False
    for loop, loads in _loops_of_multiplies(kernel):
        if iterations_ahead(loop) != 1 or loads is None or iterations_ahead(loads):
            continue
        multiplies = _rotation(loop, _group(operations_of_body(loop)))
        copies = None if multiplies is None else _rotation_of_loads(loads, multiplies.group, lambda _: True)
        if multiplies is None or copies is None:
            continue
        orders = _orders([multiplies, replace(copies, count=2)])
        wanted = needed(loop, [_channel(op) for op in multiplies.group.members if op.name == _COMMIT])
        if wanted and are_legal(kernel, orders, context) and _set_slots(kernel, orders, wanted[0], context):
            write_legal_schedules(orders, context)
            context.at_bound.update(wanted[1])
            is_changed = True
    return is_changed


def _set_slots(
    kernel: KernelOp, orders: Mapping[ir.Operation, LoopOrder], slots: Mapping[ir.Value, int], context: Context
) -> bool:
    """Gives rings new slots; returns whether orders that are legal with the present ones are so with these.

    If they are not, the rings keep the present ones.
    """
    if not slots:
        return True
    present = {channel: channel.owner.opview.stages for channel in slots}
    for channel, count in slots.items():
        set_stages(channel.owner.opview, count)
    if not are_legal(kernel, orders, context):
        for channel, count in present.items():
            set_stages(channel.owner.opview, count)
        return False
    context.changed()
    return True


@dataclass(frozen=True)
class _Rotation:
    """A loop of which a group of operations runs `count` iterations further ahead."""

    loop: ir.Operation
    group: _Group
    count: int = 1

    def order(self) -> LoopOrder:
        """The operations of the body in their new order, without scalars."""
        members = {number: [(op, self.count) for op in found] for number, found in self.group.following.items()}
        rest = ([(op, 0), *members.get(number, [])] for number, op in enumerate(self.group.rest))
        order = [*members.get(-1, []), *itertools.chain.from_iterable(rest)]
        return [(op, ahead) for op, ahead in order if not is_rematerializable(op)]


def _orders(rotations: Sequence[_Rotation]) -> dict[ir.Operation, LoopOrder]:
    return {rotation.loop: rotation.order() for rotation in rotations}


def _loops_of_multiplies(kernel: KernelOp) -> list[tuple[ir.Operation, ir.Operation | None]]:
    """The loops of the role `mma`, each with the loop of the role `load` that loads for it, if that is known."""
    roles = kernel.roles
    if roles is None or MULTIPLY not in roles.bodies:
        return []
    loops = {name: _loops(roles.bodies[name].blocks[0]) for name in (MULTIPLY, LOAD) if name in roles.bodies}
    return [(loop, _loop_of_loads(loop, loops)) for loop in loops[MULTIPLY]]


def _loops(block: ir.Block) -> list[ir.Operation]:
    return [op for op in operations_of(block) if op.name == "scf.for"]


def _rotations(loop: ir.Operation, loads: ir.Operation | None) -> list[_Rotation]:
    """The rotations of a loop of multiplies, and of the loop of its loads if the order of these has to change."""
    operations = operations_of_body(loop)
    multiplies = _rotation(loop, _group(operations))
    if multiplies is None:
        return []
    copies = None if loads is None else _rotation_of_loads(loads, multiplies.group, _waits_for_slots)
    if copies is not None:
        return [copies, multiplies]
    return [multiplies] if _has_room_for_loads(operations, multiplies.group.members) else []


def _rotation_of_loads(
    loop: ir.Operation, multiplies: _Group, is_worth: Callable[[Sequence[ir.Operation]], bool]
) -> _Rotation | None:
    """The rotation of the loop of the loads for a group of multiplies; None if its order stays.

    `is_worth` gets the loads after those of the group.
    """
    return _rotation(loop, _group_of_loads(operations_of_body(loop), multiplies, is_worth))


def _rotation(loop: ir.Operation, group: _Group | None) -> _Rotation | None:
    """The rotation of a loop by a group; None without a group, or if it needs more than scalars of the counter."""
    if group is None or scalars_behind(group.members, loop.regions[0].blocks[0]) is None:
        return None
    return _Rotation(loop, group)


# ---- which multiplies run ahead


@dataclass
class _Group:
    """The operations that run ahead, the rest of the body, and by the number of one of the rest those that follow it.

    Number -1 stands for the start of the body.
    """

    members: list[ir.Operation]
    rest: list[ir.Operation]
    following: dict[int, list[ir.Operation]]


def _group(operations: Sequence[ir.Operation]) -> _Group | None:
    """The group in the operations of a body; None if no multiply may run ahead, or no other is left."""
    multiplies = _leading_multiplies(operations)
    slots = {slot for op in multiplies for slot in _slots_of(op)}
    members, given = [], set[_Slot]()
    for op in operations:
        given |= _given_by_threads(op)
        is_step = op.name in STEPS or op.name == VIEW
        if op in multiplies or is_step and slots & {_slot(op)} - given:
            members.append(op)
    rest = [op for op in operations if op not in members]
    filled = {_slot_of_step(op) for op in members if op.name == _COMMIT}
    if not multiplies or not any(map(_multiplies, rest)):
        return None
    if not all(_slot_of(op.operands[0]) in filled for op in multiplies):
        return None
    # Not the first channel of the ring, which a loop before this one uses.
    signals = {op.operands[0] for op in members if op.name == _COMMIT}
    is_released = all(_is_released_first(channel, rest) for channel in signals)
    return _Group(members, rest, _places(members, rest)) if is_released else None


def _leading_multiplies(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The multiplies none of whose slots threads, or other multiplies, have filled in this iteration."""
    found, given = list[ir.Operation](), dict[_Slot, int]()
    for number, op in enumerate(operations):
        if op.name in TENSOR_CORE_OPERATIONS and given.keys().isdisjoint(_slots_of(op)):
            found.append(op)
        for slot in _given_by_threads(op):
            # Where threads give the slot first.
            given.setdefault(slot, number)
    inside = [(number, inner) for number, op in enumerate(operations) for inner in with_inner(op)]
    multiplies = [(number, inner) for number, inner in inside if inner.name in TENSOR_CORE_OPERATIONS]
    stepped = {_slot(op) for op in operations if op.name in STEPS}
    while True:
        # A slot of the loop is that of the group alone, until threads have it.
        others = [(number, inner) for number, inner in multiplies if operations[number] not in found]
        shared = {
            slot for number, op in others for slot in _slots_of(op) & stepped if given.get(slot, number) >= number
        }
        kept = [op for op in found if not shared & _slots_of(op)]
        if len(kept) == len(found):
            return kept
        found = kept


def _given_by_threads(op: ir.Operation) -> set[_Slot]:
    """The slots that an operation, or one inside of it, gets from threads, which store or copy tiles in their order."""
    gets = [inner for inner in with_inner(op) if inner.name == GET]
    return {_slot_of_step(get) for get in gets if _channel(get).producer in (THREADS, COPIES)}


def _has_room_for_loads(operations: Sequence[ir.Operation], members: Sequence[ir.Operation]) -> bool:
    """Whether the rings of the rest have room for all that is loaded before the group of the following iteration.

    The role of the loads keeps its order, and the rest of an iteration uses them after that group.
    """
    last = max((number for number, op in enumerate(operations) if op in members and _is_load(op)), default=-1)
    # What the group gets of a ring that the rest uses too precedes the release of the rest.
    slots = Counter({_slot_of_step(op)[0] for op in members if _is_load(op)})
    for number, op in enumerate(operations):
        for inner in () if op in members else filter(_is_load, with_inner(op)):
            around = path_to(inner)
            if any(each.name in LOOPS for each in around[around.index(op) :]):
                return False
            slots[_slot_of_step(inner)[0]] += 2 if number < last else 1
    return all(count <= ring.owner.opview.stages for ring, count in slots.items())


def _is_load(op: ir.Operation) -> bool:
    return op.name == GET and _channel(op).producer == TMA


def _is_released_first(channel: ir.Value, rest: Sequence[ir.Operation]) -> bool:
    """Whether threads release the sums of a ring before they wait for the rest, or put a tile computed from them."""
    if channel.owner.opview.reuse != "ring":
        return True
    gets = [user for user in users_of(channel) if user.name == GET]
    filled = {_slot(inner) for op in rest for inner in with_inner(op) if inner.name == _COMMIT}
    held = (inner for get in gets for op in _held(get) for inner in with_inner(op))
    precede = (inner for get in gets for op in _until_release(get) for inner in with_inner(op))
    awaited = (_slot(inner) for inner in precede if inner.name == GET)
    return bool(gets) and all(inner.name != _COMMIT for inner in held) and filled.isdisjoint(awaited)


def _held(get: ir.Operation) -> list[ir.Operation]:
    """The operations from a get to the release in its block; without one, to the end of the block."""
    return list(itertools.dropwhile(lambda op: op != get, _until_release(get)))


def _until_release(get: ir.Operation) -> list[ir.Operation]:
    """The operations of the block of a get up to the release that follows it; without one, all of them."""
    operations = operations_in(get.block)
    following = operations.index(get)
    releases = (
        number for number, op in enumerate(operations) if op.name == _RELEASE and op.operands[0] == get.operands[0]
    )
    return operations[: next((number for number in releases if number > following), len(operations))]


def _places(members: Sequence[ir.Operation], rest: Sequence[ir.Operation]) -> dict[int, list[ir.Operation]]:
    """A multiply follows the last use of its accumulator by the rest; the steps around it stay with it.

    Signals after that use are given first, so that they do not wait for the multiply.
    """
    last = {slot: number for number, op in enumerate(rest) for inner in with_inner(op) for slot in _slots_of(inner)}
    following, at, waiting = defaultdict[int, list[ir.Operation]](list), -1, list[ir.Operation]()
    for op in members:
        waiting.append(op)
        if op.name in TENSOR_CORE_OPERATIONS:
            used = max((last[slot] for slot in _slots_of(op) if slot in last), default=-1)
            at = max(at, _after_signals(rest, used))
        if op.name in (*TENSOR_CORE_OPERATIONS, _COMMIT, _RELEASE):
            following[at] += waiting
            waiting = []
    return following


def _after_signals(rest: Sequence[ir.Operation], number: int) -> int:
    """The number of the last of the puts that follow an operation of the rest directly."""
    signals = itertools.takewhile(lambda op: op.name in (PUT, _COMMIT), rest[number + 1 :]) if number >= 0 else ()
    return number + len(list(signals))


def _multiplies(op: ir.Operation) -> bool:
    return any(inner.name in TENSOR_CORE_OPERATIONS for inner in with_inner(op))


def _channel(op: ir.Operation) -> MakeChannelOp:
    return op.operands[0].owner.opview


# The channel that has a slot, and the consumer of the slot where several multiplies get it by themselves.
_Slot = tuple[ir.Value, int]


def _slot(op: ir.Operation) -> _Slot | None:
    """The slots that a step, or a view of a slot, uses."""
    return _slot_of(op.operands[0]) if op.name == VIEW else _slot_of_step(op)


def _slot_of_step(step: ir.Operation) -> _Slot:
    channel = _channel(step)
    consumer = step.opview.consumer if step.name in (GET, _RELEASE) and channel.producer == TMA else 0
    return _ring(channel), consumer


def _ring(channel: MakeChannelOp) -> ir.Value:
    """The channel that owns the slots of a channel."""
    return channel.operation.results[0] if channel.shares is None else channel.shares


def _slots_of(op: ir.Operation) -> set[_Slot]:
    if op.name in STEPS:
        return {_slot_of_step(op)}
    values = op.operands if op.name in TENSOR_CORE_OPERATIONS else ()
    return {slot for value in values if (slot := _slot_of(value)) is not None}


def _slot_of(value: ir.Value) -> _Slot | None:
    """The slot that a buffer belongs to; None for another value."""
    step = step_of_buffer(value)
    return None if step is None else _slot_of_step(step)


# ---- the loads of the multiplies that run ahead


def _loop_of_loads(loop: ir.Operation, loops: Mapping[str, Sequence[ir.Operation]]) -> ir.Operation | None:
    """The loop of the role `load` that loads what a loop of the role `mma` uses; None if it is not known."""
    channels = {op.operands[0] for op in operations_of_body(loop) if _is_load(op)}
    alike = [other for other in loops[MULTIPLY] if _uses(other, channels)]
    loads = [other for other in loops.get(LOAD, ()) if _uses(other, channels)]
    is_equal = [id_of(other) for other in alike] == [id_of(other) for other in loads]
    return loads[alike.index(loop)] if is_equal and loop in alike else None


def _uses(loop: ir.Operation, channels: Collection[ir.Value]) -> bool:
    return any(operand in channels for op in operations_of_body(loop) for operand in op.operands)


def _group_of_loads(
    operations: Sequence[ir.Operation], group: _Group, is_worth: Callable[[Sequence[ir.Operation]], bool]
) -> _Group | None:
    """The loads for a group of multiplies, in the order in which the role `mma` uses them; None if they stay."""
    channels = {op.operands[0] for op in group.members if _is_load(op)}
    inside = [inner for op in operations for inner in with_inner(op) if inner is not op]
    if any(operand in channels for op in inside for operand in op.operands) or not all(map(_is_own_ring, channels)):
        return None
    members, made = [], set[ir.Value]()
    for op in operations:
        if any(operand in channels or operand in made for operand in op.operands):
            members.append(op)
            made.update(op.results)
    rest = [op for op in operations if op not in members]
    number = min(number for number, found in group.following.items() if any(map(_is_load, found)))
    before = {op.operands[0] for op in group.rest[: number + 1] if _is_load(op)}
    at = max((place for place, op in enumerate(rest) if before.intersection(op.operands)), default=-1)
    return _Group(members, rest, {at: members}) if members and is_worth(rest[at + 1 :]) else None


def _waits_for_slots(operations: Sequence[ir.Operation]) -> bool:
    """Whether the role waits for the end of a late multiply; with more slots loads run ahead in program order too."""
    return any(op.name == PUT and _channel(op).stages <= _FEW_SLOTS for op in operations)


def _is_own_ring(channel: ir.Value) -> bool:
    """Whether the role `mma` alone uses the slots of a channel, and no other channel has them."""
    made = channel.owner.opview
    return made.consumer_names == [MMA] and has_own_slots(made)
