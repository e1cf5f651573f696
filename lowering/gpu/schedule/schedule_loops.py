"""Loops get schedules: one heuristic after the other writes those that it finds (README.md, Schedules).

A heuristic that reads a loop needs the order in which it is executed, so that the schedules of the one before are
expanded first; those of the last one are left to `expand-schedules`.
"""

from __future__ import annotations

from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.lowering.gpu.columns.emulate_exponentials import emulate_exponentials
from tilec.lowering.gpu.columns.emulate_waiting import emulate_waiting
from tilec.lowering.gpu.kernel_pass import Context, KernelPass, State, in_order
from tilec.lowering.gpu.schedule.advance_first_multiplies import advance_first_multiplies
from tilec.lowering.gpu.schedule.advance_late_sums import advance_late_sums
from tilec.lowering.gpu.schedule.advance_loads import advance_loads
from tilec.lowering.gpu.schedule.advance_multiplies import advance_multiplies
from tilec.lowering.gpu.schedule.delay_multiplies import delay_multiplies
from tilec.lowering.gpu.schedule.expand_schedules import expand
from tilec.lowering.gpu.schedule.follow_schedule import follow_schedule
from tilec.lowering.gpu.schedule.issue_early import issue_early
from tilec.lowering.gpu.schedule.unroll_loads import unroll_loads
from tilec.lowering.gpu.schedule.wgmma_in_flight import wgmma_in_flight
from tilec.process.time_limit import check_time

_RECORDS = (
    KernelPass(
        "advance-multiplies",
        advance_multiplies,
        guarantees=(
            "in the role `mma`, multiplies that need only loads are scheduled one iteration ahead of those that wait "
            "for threads; so are their loads in the role `load`, where a later one has a ring of at most two slots, if "
            'it is proven that all roles still terminate ("Schedules", "Liveness")'
        ),
        without="the tensor core waits for the threads",
        needs=(State.CHANNELLED, State.EXPANDED),
        option="pipeline",
    ),
    KernelPass(
        "issue-early",
        issue_early,
        guarantees=(
            "in loops of roles with several `wgmma`, those that need only tiles of `tma` are scheduled after the first"
            " one, as far as the role of the loads needs nothing between; waits are before the first use or "
            "release, in the order of the multiplies, if the registers of the sums remain"
        ),
        without="each multiply is awaited before the next one is issued",
        needs=(State.CHANNELLED, State.EXPANDED),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "delay-multiplies",
        delay_multiplies,
        guarantees=(
            "the last `wgmma` of one lhs in registers, whose accumulators a loop carries, are scheduled after the "
            "others of the next iteration, if the registers of lhs remain; threads that store their rhs do so after "
            "them; one that shares a slot of at least three with others gets it as a consumer of its own"
        ),
        without="the tensor core waits for the threads",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("issue-early",),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "advance-first-multiplies",
        advance_first_multiplies,
        guarantees=(
            "a `wgmma` that starts an iteration, before one that `delay-multiplies` delayed, is scheduled after that "
            "one, an iteration ahead, if registers suffice and the modelled cycles of the loops are fewer"
        ),
        without="threads wait for the first multiply of each iteration",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("delay-multiplies",),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "unroll-loads",
        unroll_loads,
        guarantees=(
            "innermost loops whose threads load few bytes early have rounds of up to four iterations, as long as the "
            "early loads of a round have at most 64 bytes per thread; these loads come first"
        ),
        without="the loads of one iteration are in flight",
        needs=(State.CHANNELLED, State.EXPANDED),
        option="pipeline",
    ),
    KernelPass(
        "wgmma-in-flight",
        wgmma_in_flight,
        guarantees=(
            "loops whose multiplies carry an accumulator have a schedule in which all but the last waits for `wgmma`, "
            "one for each accumulator, and the last releases of their slots is an iteration ahead"
        ),
        without="each multiply is awaited in its iteration",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("delay-multiplies",),
        option="pipeline",
        unit="wgmma",
    ),
    KernelPass(
        "advance-loads",
        advance_loads,
        guarantees=(
            "in innermost loops of multiplies, loads of threads that are `early` are scheduled as many "
            "iterations ahead as hide the latency of memory, if the registers suffice"
        ),
        without="threads wait for memory in each iteration",
        needs=(State.CHANNELLED, State.EXPANDED),
        option="pipeline",
    ),
    KernelPass(
        "emulate-exponentials",
        emulate_exponentials,
        guarantees=(
            "in loops where MUFU takes as long as other units, exp2 of tiles of f32 has `polynomials`: "
            "the share of the elements with which all units together take the fewest cycles"
        ),
        without="MUFU computes all",
        needs=(State.CHANNELLED, State.EXPANDED),
    ),
    KernelPass(
        "advance-late-sums",
        advance_late_sums,
        guarantees=(
            "multiplies that `advance-multiplies` has one iteration ahead are scheduled two ahead, and so are their "
            "loads, where the steady state of the loop (`lowering/schedule`) is then shorter and the sums have two "
            "slots; `follow-schedule` leaves loops alone that then meet their bound"
        ),
        without="threads wait for the sums, which are multiplied after the tile that they made before",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("advance-multiplies", "emulate-exponentials"),
        option="pipeline",
    ),
    KernelPass(
        "follow-schedule",
        follow_schedule,
        guarantees=(
            "loops of roles that multiply, and whose steady state is more than 1 % longer than its bound, have a "
            'schedule ("Schedules"), and their rings the slots of it'
        ),
        without="loops are as the passes before leave them",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("advance-late-sums",),
        option="pipeline",
    ),
    KernelPass(
        "emulate-waiting",
        emulate_waiting,
        guarantees=(
            "exp2 of tiles of f32 has the `polynomials` with which a loop takes the fewest cycles in the order of its "
            "schedule, where roles wait for each other"
        ),
        without="the share is that of `emulate-exponentials`",
        needs=(State.CHANNELLED, State.EXPANDED),
        after=("follow-schedule",),
        unit="tcgen05",
    ),
)
# By name, in the order in which they run.
HEURISTICS: dict[str, KernelPass] = {record.name: record for record in _RECORDS}


def schedule_loops(kernel: KernelOp, context: Context) -> None:
    """Runs the heuristics over a kernel in place; `context.observe` gets the name of each."""
    for record in in_order(HEURISTICS, _RECORDS):
        check_time()
        if not record.is_enabled(context):
            continue
        if record.missing(kernel, context) is State.EXPANDED:
            expand(kernel, context)
            context.changed()
            context.look_up_again((State.EXPANDED,))
        if record.missing(kernel, context) is None:
            record.apply(kernel, context)
        context.observe(record.name)
