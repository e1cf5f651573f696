"""In the role `mma`, sums for which threads wait run two iterations ahead instead of one.

before:   s(0);  for i < n - 1 { s(i + 1);  p(i) @ v(i) }  p(n - 1) @ v(n - 1)
after:    s(0);  s(1);  for i < n - 2 { s(i + 2);  p(i) @ v(i) }  p(n - 2) @ v(n - 2);  p(n - 1) @ v(n - 1)

Before, s(i + 1) is multiplied after p(i - 1) @ v(i - 1). From p(i - 1) to p(i + 1), two iterations, the time is that
of all multiplies of an iteration, of the threads, of two barriers, and of a result of the tensor core. Where
multiplies and threads take similar times, half of it is more than either. After, s(i + 2) is multiplied while threads
compute p(i), unless p(i) @ v(i) would then wait for the tensor core: the steady state of the loop decides.

Threads that compute p(i + 1) while others correct the sum for p(i) need two slots for the factors between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.channel import THREADS, TMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.lowering.gpu.ir.operation_role import MULTIPLY
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_parts import divided_loops
from tilec.lowering.gpu.memory.shared_plan import SharedPlan
from tilec.lowering.gpu.schedule.advance_multiplies import Needed, advance_again
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem
from tilec.lowering.gpu.schedule.present_interval import (
    FEW_ITERATIONS,
    GAIN,
    present_schedule,
    role_numbers,
    steady_state_of,
)
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.model.constants import device_of
from tilec.lowering.schedule.bound import work_bound
from tilec.lowering.schedule.costs import MBARRIER, TENSOR_CORE
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.target import Target

# The sums of the present iteration, and those that are ahead while they are read.
_SLOTS = 2


def advance_late_sums(kernel: KernelOp, context: Context) -> bool:
    """Gives the loops of the roles `mma` and `load` schedules, or returns False; run when threads' work is final."""
    return advance_again(kernel, context, lambda loop, sums: _needed(kernel, loop, sums, context))


def _needed(kernel: KernelOp, loop: ir.Operation, sums: Sequence[MakeChannelOp], context: Context) -> Needed | None:
    """The slots that other rings need if the sums are two iterations ahead; None if iterations are not shorter then."""
    if not all(map(_has_slots, sums)):
        return None
    plan, target = context.plan(kernel), context.target
    loops = enumerate(context.once(divided_loops, lambda: divided_loops(kernel)))
    number = next((at for at, parts in loops if any(part.loop.operation == loop for part in parts)), None)
    state = None if number is None else steady_state_of(kernel, number, context)
    if state is None or not _may_be_late(state.loop, target) or (now := state.of_few_iterations) is None:
        return None
    found, rounded = state.loop, state.rounded
    further = replace(found, ahead=_further_ahead(found))
    schedule = present_schedule(further, rounded, FEW_ITERATIONS)
    if schedule is not None and _is_shorter(schedule, now):
        is_at_bound = work_bound(rounded, role_numbers(found)).interval >= (1 - GAIN) * schedule.interval
        ids = [id_of(part.loop.operation) for part in found.parts if is_at_bound]
        return {}, [id for id in ids if id is not None]
    slots = _slots_with_factors(found, plan, kernel, target)
    counts = tuple(slots.get(buffer.name, count) for buffer, count in zip(rounded.buffers, found.slots, strict=True))
    if not slots or not _is_shorter(present_schedule(replace(further, slots=counts), rounded, FEW_ITERATIONS), now):
        return None
    return {
        channel: slots[each.name] for channel, each in plan.channels.items() if each.ring is None and each.name in slots
    }, ()


def _is_shorter(schedule: Schedule | None, now: Schedule) -> bool:
    return schedule is not None and schedule.interval < (1 - GAIN) * now.interval


def _slots_with_factors(found: LoopProblem, plan: SharedPlan, kernel: KernelOp, target: Target) -> dict[str, int]:
    """The new slots of rings, by name: two for values that cross from threads to threads; none if they do not fit.

    If memory is missing, the longest ring of loads has one slot less.
    """
    used = {buffer.name for buffer in found.problem.buffers}
    rings = [each for each in plan.channels.values() if each.name in used and each.is_ring and each.slot_bytes]
    single = [each for each in rings if each.stages == 1 and [each.producer, *each.consumers] == [THREADS] * 2]
    if not single or blocks_of_hint(kernel) > 1:
        return {}
    slots = {each.name: _SLOTS for each in single}
    missing = sum(each.slot_bytes for each in single) - (target.shared_bytes - plan.declared_bytes)
    if missing <= 0:
        return slots
    longest = max((each for each in rings if each.producer == TMA), key=lambda each: each.stages, default=None)
    if longest is None or longest.stages <= _SLOTS or longest.slot_bytes < missing:
        return {}
    return slots | {longest.name: longest.stages - 1}


def _may_be_late(found: LoopProblem, target: Target) -> bool:
    """Whether half of two iterations with all of their latencies is more than the multiplies, and than the threads."""
    clocks = defaultdict[str, int](int)
    for operation, role in zip(found.problem.operations, found.roles, strict=True):
        multiplies = sum(use.busy for use in operation.uses if use.unit == TENSOR_CORE)
        clocks[role] += multiplies or operation.duration
    multiplies = clocks.pop(MULTIPLY, 0)
    latencies = 2 * MBARRIER + device_of(target.name).multiply_latency_cycles
    return any(multiplies + threads + latencies > 2 * max(multiplies, threads) for threads in clocks.values())


def _further_ahead(found: LoopProblem) -> tuple[int, ...]:
    """The iterations that operations are ahead when the sums, and what is loaded for them alone, are two."""
    operations = list(zip(found.problem.index, found.roles, found.ahead, strict=True))
    sums = {name for name, role, count in operations if role == MULTIPLY and count}
    loads = {each.source for each in found.problem.buffers if {use.operation for use in each.uses} <= sums}
    return tuple(2 if name in sums | loads else count for name, _, count in operations)


def _has_slots(ring: MakeChannelOp) -> bool:
    users = [use.owner.operation.name for use in ring.operation.results[0].uses]
    return ring.reuse == "ring" and ring.stages >= _SLOTS and MakeChannelOp.OPERATION_NAME not in users
