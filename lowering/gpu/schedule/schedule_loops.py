"""Loops get schedules: one heuristic after the other writes those that it finds (README.md, Schedules).

A heuristic that reads a loop needs the order in which it is executed, so that the schedules of the one before are
expanded first; those of the last one are left to `expand-schedules`.
"""

from __future__ import annotations

from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.lowering.gpu.columns.emulate_exponentials import emulate_exponentials
from tilec.lowering.gpu.columns.emulate_waiting import emulate_waiting
from tilec.lowering.gpu.kernel_pass import Context, KernelPass, State
from tilec.lowering.gpu.schedule.advance_late_sums import advance_late_sums
from tilec.lowering.gpu.schedule.advance_loads import advance_loads
from tilec.lowering.gpu.schedule.advance_multiplies import advance_multiplies
from tilec.lowering.gpu.schedule.delay_multiplies import delay_multiplies
from tilec.lowering.gpu.schedule.expand_schedules import expand_schedules
from tilec.lowering.gpu.schedule.follow_schedule import follow_schedule
from tilec.lowering.gpu.schedule.issue_early import issue_early
from tilec.lowering.gpu.schedule.unroll_loads import unroll_loads
from tilec.lowering.gpu.schedule.wgmma_in_flight import wgmma_in_flight
from tilec.process.time_limit import check_time

_NEEDS = (State.CHANNELLED, State.EXPANDED)
_RECORDS = (
    KernelPass("advance-multiplies", advance_multiplies, needs=_NEEDS, option="pipeline"),
    KernelPass("issue-early", issue_early, needs=_NEEDS, option="pipeline", unit="wgmma"),
    KernelPass(
        "delay-multiplies", delay_multiplies, needs=_NEEDS, after=("issue-early",), option="pipeline", unit="wgmma"
    ),
    KernelPass("unroll-loads", unroll_loads, needs=_NEEDS, option="pipeline"),
    KernelPass(
        "wgmma-in-flight", wgmma_in_flight, needs=_NEEDS, after=("delay-multiplies",), option="pipeline", unit="wgmma"
    ),
    KernelPass("advance-loads", advance_loads, needs=_NEEDS, option="pipeline"),
    KernelPass("emulate-exponentials", emulate_exponentials, needs=_NEEDS),
    KernelPass(
        "advance-late-sums",
        advance_late_sums,
        needs=_NEEDS,
        after=("advance-multiplies", "emulate-exponentials"),
        option="pipeline",
    ),
    KernelPass("follow-schedule", follow_schedule, needs=_NEEDS, after=("advance-late-sums",), option="pipeline"),
    KernelPass("emulate-waiting", emulate_waiting, needs=_NEEDS, after=("follow-schedule",), unit="tcgen05"),
)
# By name, in the order in which they run.
HEURISTICS: dict[str, KernelPass] = {record.name: record for record in _RECORDS}


def schedule_loops(kernel: KernelOp, context: Context) -> None:
    """Runs the heuristics over a kernel in place; `context.observe` gets the name of each."""
    for record in HEURISTICS.values():
        check_time()
        if not record.is_enabled(context):
            continue
        if record.missing(kernel, context) is State.EXPANDED:
            expand_schedules(kernel, context)
            context.changed()
            context.look_up_again((State.EXPANDED,))
        if record.missing(kernel, context) is None:
            record.apply(kernel, context)
        context.observe(record.name)
