"""Rings get the slots that hide the latency of their loads, so that copies run ahead of their consumers.

With roles, the `load` role runs ahead by itself. Without, each iteration issues the copies of a later iteration, and
those of the first iterations are issued before the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ASSUMED_ITERATIONS
from tilec.dialect.tile_gpu.categories import TENSOR_CORE_OPERATIONS, TENSOR_MEMORY_MULTIPLIES, TMA_LOADS
from tilec.dialect.tile_gpu.ids import ID
from tilec.dialect.tile_gpu.operations.channel import COPIES, MMA, THREADS, TMA, MakeChannelOp, PutBeginOp, PutCommitOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_in, operations_inside, operations_named, users_of
from tilec.lowering import emitter
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.channels.ring_depth import (
    MAXIMUM_STAGES,
    is_read_by_threads,
    loads_of,
    of_ring,
    rings_of,
    set_wanted_stages,
)
from tilec.lowering.gpu.ir.enclosing import LOOPS, is_inside, is_repeated, loops_around
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.slots import users_of_slot
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_parts import divided_loops, has_choices
from tilec.lowering.gpu.loops.other_iteration import copy_for, scalars_behind
from tilec.lowering.gpu.memory.occupancy import blocks_in_memory, blocks_together, followed_occupancy
from tilec.lowering.gpu.memory.shared_plan import BARRIER_BYTES, SharedPlan, memory_plan
from tilec.lowering.kernel_hints import LATENCY, OCCUPANCY, kernel_hint
from tilec.lowering.layout.shared_layout import BASE_ALIGNMENT_BYTES
from tilec.lowering.target import Target, share_of_block
from tilec.remarks import Loss, Remark

# The rows of a multiply by a pair of CTAs, each of which has half of the accumulator (PTX ISA 9.7.16.2.1).
_ROWS_OF_A_PAIR = 256
# The most slots of a ring, in those that it wants.
_MOST_OF_WANTED = 2
# The slots of rings of loops of few iterations count this many times.
_RARE_SHARE = 2
# One is loaded while the other is read.
_LEAST_SLOTS = 2
# The full and the empty barrier of a slot.
_BARRIERS_BYTES = 2 * BARRIER_BYTES
_PUTS = (PutBeginOp.OPERATION_NAME, *TMA_LOADS, PutCommitOp.OPERATION_NAME)


def pipeline(kernel: KernelOp, context: Context) -> None:
    """Deepens the rings of a tile_gpu.kernel in place, as far as memory goes; the option `stages` limits their slots.

    The hint `occupancy` limits the memory. If one slot per ring exceeds that limit, the hint becomes a remark.
    """
    set_wanted_stages(kernel, context)
    target, plan = context.target, context.plan(kernel)
    blocks = followed_occupancy(kernel, target, plan.declared_bytes, plan.tensor_columns, context.remarks)
    if blocks is not None:
        target = share_of_block(target, blocks)
        plan = context.plan(kernel, target)
    elif OCCUPANCY in kernel.operation.attributes:
        del kernel.operation.attributes[OCCUPANCY]
    plan = _deepen_scale_factors(kernel, plan, target, context)
    filled = rings_of(kernel, TMA)
    has_roles = kernel.roles is not None
    # Without roles a loop issues the copies of all its rings equally far ahead.
    groups = [[op] for op in filled] if has_roles or not filled else [filled]
    if has_roles:
        stored = [op for op in rings_of(kernel, THREADS, COPIES) if op.wanted is not None]
        groups += [[op] for op in stored if not plan.channels[op.channel].slot_columns]
    rings = _ring_slots(kernel, groups, plan, target, context.options.stages)
    for group in rings:
        for op in group.rings:
            set_stages(op, group.slots)
    context.remarks += filter(None, map(_single_slot_remark, rings))
    single = _deepen_accumulators(kernel, target)
    context.remarks += [_epilogue_remark(op, target) for op in single if has_roles and is_of_tiles(op)]
    if not has_roles:
        deep = [op for group in rings if group.slots > 1 for op in group.rings]
        # The copies are erased when they move, so only loops are kept.
        for loop in [op for op in operations_inside(kernel) if op.name == "scf.for"]:
            _run_ahead(loop, deep)


def _deepen_scale_factors(kernel: KernelOp, plan: SharedPlan, target: Target, context: Context) -> SharedPlan:
    """Two slots of scale factors from registers, so that one is stored while the other is multiplied; the new plan."""
    slots = [(op, plan.channels[op.channel]) for op in rings_of(kernel, THREADS)]
    factors = [(op, slot) for op, slot in slots if slot.slot_columns and slot.slot_bytes]
    if not factors:
        return plan
    free = target.shared_bytes - scratch_bytes(kernel) - plan.scratch
    columns = target.tensor_memory_columns - plan.columns_used
    for op, slot in factors:
        if slot.slot_bytes <= free and slot.slot_columns <= columns:
            set_stages(op, 2)
            free, columns = free - slot.slot_bytes, columns - slot.slot_columns
    context.changed()
    return context.plan(kernel, target)


def set_stages(op: MakeChannelOp, stages: int) -> None:
    """Sets the slots of a ring, in all channels of the ring."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), stages)
    for channel in of_ring(op):
        channel.operation.attributes["stages"] = attribute


def _deepen_accumulators(kernel: KernelOp, target: Target) -> list[MakeChannelOp]:
    """Two accumulators, so that one tile is stored while the next is multiplied; returns those without room for two."""
    plan = memory_plan(kernel)
    needed, single = plan.columns_used, []
    for op in rings_of(kernel, MMA):
        columns = plan.channels[op.channel].slot_columns
        if needed + columns <= target.tensor_memory_columns:
            set_stages(op, 2)
            needed += columns
        else:
            single.append(op)
    return single


def _run_ahead(loop: ir.Operation, rings: Sequence[MakeChannelOp]) -> None:
    """Issues the copies of rings in a loop's body that depend on its counter alone some iterations earlier."""
    body = loop.regions[0].blocks[0]
    operations, channels = operations_in(body), [op.channel for ring in rings for op in of_ring(ring)]
    puts = [op for op in operations if op.name in _PUTS and op.operands[len(op.operands) - 1] in channels]
    needed = scalars_behind(puts, body)
    # The users of the rings that the loop fills.
    users = [_ring_users(op.operands[len(op.operands) - 1]) for op in puts]
    if not puts or needed is None or not all(_has_one_put(loop, each) for each in users):
        return
    stages = min(ring.stages for ring in rings)
    # The first puts of rings that this loop alone uses, once, find empty slots.
    is_first = not is_repeated(loop) and all(is_inside(user, loop) for each in users for user in each)
    group = [op for op in operations if op in needed or op in puts]
    lower, upper, step = list(loop.operands)[:3]
    unsigned = "unsignedCmp" in loop.attributes
    with loop.location:
        with ir.InsertionPoint(loop):
            ahead = _saturated_product(step, stages - 1)
            end = _first_end(lower, upper, ahead, unsigned)
            attributes = {name: loop.attributes[name] for name in loop.attributes if name in ("unsignedCmp", ID)}
            prologue = ir.Operation.create("scf.for", [], [lower, end, step], attributes, regions=1)
            first = prologue.regions[0].blocks.append(lower.type, arg_locs=[loop.location])
            with ir.InsertionPoint(first):
                copy_for(group, body.arguments[0], first.arguments[0], first_round=is_first)
                ir.Operation.create("scf.yield")
        with ir.InsertionPoint(puts[0]):
            left = emitter.binary("arith.subi", upper, body.arguments[0])
            inside = emitter.less_than(ahead, left, unsigned=True)
            with emitter.only_if(inside):
                following = emitter.binary("arith.addi", body.arguments[0], ahead)
                copy_for(group, body.arguments[0], following)
    for op in reversed(puts):
        op.erase()


def _ring_users(channel: ir.Value) -> list[ir.Operation]:
    """The steps on a channel and on all others of its ring."""
    op = channel.owner
    users = (user for each in of_ring(op.shares.owner if op.continues else op) for user in users_of(each.channel))
    return [user for user in users if user.name != MakeChannelOp.OPERATION_NAME]


def _has_one_put(loop: ir.Operation, users: Sequence[ir.Operation]) -> bool:
    """Whether an iteration fills one slot of a ring, so that the copies that run ahead fill the slots in order."""
    return sum(user.name == PutBeginOp.OPERATION_NAME and is_inside(user, loop) for user in users) == 1


def _saturated_product(step: ir.Value, factor: int) -> ir.Value:
    """step * factor, or the largest unsigned number of the type: no two numbers of a loop are further apart."""
    largest = (1 << ir.IntegerType(step.type).width) - 1
    known = constant_of(step)
    if known is not None:
        return emitter.unsigned(step.type, min((known & largest) * factor, largest))
    product = emitter.multiplied(step, factor)
    limit = emitter.unsigned(step.type, largest // factor)
    fits = emitter.less_than(limit, step, unsigned=True)
    whole = emitter.constant(step.type, -1)
    return emitter.create("arith.select", [step.type], [fits, whole, product]).result


def _first_end(lower: ir.Value, upper: ir.Value, ahead: ir.Value, unsigned: bool) -> ir.Value:
    """min(lower + ahead, upper) without overflow: if the loop runs, upper - lower is exact as an unsigned number."""
    left = emitter.binary("arith.subi", upper, lower)
    further = emitter.less_than(ahead, left, unsigned=True)
    runs = emitter.less_than(lower, upper, unsigned)
    before_end = emitter.binary("arith.andi", runs, further)
    end = emitter.binary("arith.addi", lower, ahead)
    return emitter.create("arith.select", [lower.type], [before_end, end, upper]).result


def _single_slot_remark(ring: _RingSlots) -> Remark | None:
    """The remark at the first load of rings with one slot, if more are wanted and TMA or copies fill them in a loop."""
    loads = [load for first in ring.rings for channel in of_ring(first) for load in loads_of(channel)]
    repeated = [load for load in loads if is_repeated(load)]
    if ring.slots > 1 or ring.wanted == 1 or not repeated:
        return None
    message = (
        "the load waits until the tile before it is not used any more: shared memory has room for one slot of "
        f"{ring.size_bytes} bytes, and {ring.wanted} hide the latency of the load: use smaller tiles"
    )
    return Remark("pipeline", message, source_location(repeated[0].location), Loss("rings"))


@dataclass
class _RingSlots:
    """Rings of equally many slots, the size of one slot of all of them, and the numbers of slots.

    Attributes:
        rings: the first channels of the rings.
        size_bytes: bytes of shared memory of a slot and its barriers.
        columns: columns of tensor memory of a slot.
        wanted: slots that hide the latency of the loads.
        is_rare: whether only loops of few iterations, as the cost model assumes, use the rings.
        most: the most slots that are of use.
        least: slots that the rings have in the plan.
        slots: slots that the rings get.
    """

    rings: Sequence[MakeChannelOp]
    size_bytes: int
    columns: int
    wanted: int
    is_rare: bool
    most: int
    least: int
    slots: int


def _ring_slots(
    kernel: KernelOp, groups: Iterable[Sequence[MakeChannelOp]], plan: SharedPlan, target: Target, stages: int | None
) -> list[_RingSlots]:
    """The slots of each group of rings, which have few slots in the plan; `stages` replaces the slots wanted.

    Rings get the slots that they want first, or those of the hint `latency`: always the one that lacks the largest
    part. Memory that no other block on the SM could use is theirs too: latencies vary, and a slot more than wanted
    costs nothing.

    Args:
        kernel: the tile_gpu.kernel of the rings.
        groups: the first channels of rings that need equally many slots.
        plan: the memory plan of the kernel.
        target: the memory that a block may use.
        stages: the most slots of a ring, or None.
    """
    multiplies = bool(operations_named(kernel, TENSOR_CORE_OPERATIONS))
    latency = kernel_hint(kernel, LATENCY)
    found = [_wanting(rings, plan, stages, latency, multiplies) for rings in groups]
    scratch = scratch_bytes(kernel)
    used = plan.declared_bytes + (BASE_ALIGNMENT_BYTES + scratch if scratch else 0)
    _divide(found, target.shared_bytes - used, target.tensor_memory_columns - plan.columns_used, most=False)
    added = sum((group.slots - group.least) * group.size_bytes for group in found)
    blocks = blocks_together(kernel, target, used + added, plan.tensor_columns)
    if latency and any(map(has_choices, divided_loops(kernel))):
        # Few slots by a hint leave memory to another block, for which later passes save registers and scratch memory.
        blocks = blocks_in_memory(target, plan.declared_bytes + added, plan.tensor_columns)
    share = share_of_block(target, blocks)
    columns = plan.columns_used + sum((group.slots - group.least) * group.columns for group in found)
    _divide(found, share.shared_bytes - used - added, share.tensor_memory_columns - columns, most=True)
    return found


def _wanting(
    rings: Sequence[MakeChannelOp], plan: SharedPlan, stages: int | None, latency: int | None, multiplies: bool
) -> _RingSlots:
    plans = [plan.channels[op.channel] for op in rings]
    size_bytes = sum(ring.slot_bytes + _BARRIERS_BYTES for ring in plans)
    columns = sum(ring.slot_columns for ring in plans)
    least = max(op.stages for op in rings)
    is_rare = all(_is_rare(user) for op in rings for user in _ring_users(op.channel))
    if stages is not None:
        return _RingSlots(rings, size_bytes, columns, stages, is_rare, stages, least, least)
    wanted = max(op.wanted or 1 for op in rings)
    as_wanted = all(op.producer == THREADS or is_read_by_threads(op) and not multiplies for op in rings)
    most = wanted if as_wanted else min(MAXIMUM_STAGES, _MOST_OF_WANTED * wanted)
    first = latency or wanted
    return _RingSlots(rings, size_bytes, columns, first, is_rare, max(first, most), least, least)


def _is_rare(step: ir.Operation) -> bool:
    return any(ASSUMED_ITERATIONS in loop.attributes for loop in loops_around(step))


def _divide(groups: Sequence[_RingSlots], free_bytes: int, free_columns: int, *, most: bool) -> None:
    """Adds slots while they fit, up to those wanted or to the most."""
    while True:
        lacking = [
            group
            for group in groups
            if group.slots < (group.most if most else group.wanted)
            and group.size_bytes <= free_bytes
            and group.columns <= free_columns
        ]
        if not lacking:
            return
        group = min(lacking, key=_urgency)
        group.slots += 1
        free_bytes, free_columns = free_bytes - group.size_bytes, free_columns - group.columns


def _urgency(group: _RingSlots) -> tuple[bool, bool, float]:
    """The order in which rings get slots: a second one first, those of operands before those that threads read.

    Rings of loops of few iterations have half of what they want when the others have it.
    """
    has_two = group.slots >= _LEAST_SLOTS or group.is_rare
    share = group.slots / group.wanted * (_RARE_SHARE if group.is_rare else 1)
    return has_two, not has_two and all(map(is_read_by_threads, group.rings)), share


def is_of_tiles(channel: MakeChannelOp) -> bool:
    """Whether a channel has an accumulator for each iteration of a loop, which an inner loop computes for threads."""
    puts = [user for user in users_of(channel.channel) if user.name == PutBeginOp.OPERATION_NAME]
    return channel.consumer_names == [THREADS] and any(map(_starts_tile, puts))


def _starts_tile(put: ir.Operation) -> bool:
    """Whether a slot is taken in a loop and multiplies accumulate in it in a loop inside."""
    if put.parent.name not in LOOPS:
        return False
    users = [user for result in put.results for user in users_of_slot(result)]
    return any(user.name in TENSOR_MEMORY_MULTIPLIES and user.block != put.block for user in users)


def _epilogue_remark(channel: MakeChannelOp, target: Target) -> Remark:
    """The remark for an accumulator of tiles that has one slot."""
    (accumulator,) = channel.channel.type.buffers
    avoided = "use smaller tiles or num_ctas=2" if accumulator.shape[0] >= _ROWS_OF_A_PAIR else "use smaller tiles"
    message = (
        "multiplies of the next tile wait for the epilogue: two accumulators do not fit in "
        f"{target.tensor_memory_columns} columns of tensor memory: {avoided}"
    )
    return Remark("roles", message, source_location(channel.operation.location), Loss("epilogue"))
