"""A schedule that is shorter than a loop as it is, with the roles that the loop has."""

from __future__ import annotations

import math
from dataclasses import replace

from tilec import cache_files, options
from tilec.lowering.gpu.schedule.loop_problem import LoopProblem
from tilec.lowering.gpu.schedule.present_interval import present_schedule, role_numbers
from tilec.lowering.schedule.bound import bound
from tilec.lowering.schedule.exact import Budget, search
from tilec.lowering.schedule.ladder import solve
from tilec.lowering.schedule.parts import Kind, ProblemError
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.quantum import quantized
from tilec.lowering.schedule.role_order import RoleOrder, role_order
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.store import Store

# The part of an iteration that is worth other code.
GAIN = 0.01
# What the solver may take for one loop.
BUDGET = Budget(probe=1.0, search=2.0, improve=0.2)
# Loads from DRAM take about this much longer than those from L2, whose latency problems have.
_SLOW_MEMORY = 1.5
# Rings are full behind the first third of these iterations, for they seldom have more than eight slots.
_FEW_ITERATIONS = 24


def shorter_schedule(found: LoopProblem, has_solver: bool) -> Schedule | None:
    """A schedule of a loop; None if the code is near its bound, or nothing shorter is found.

    It is a stored answer, or a list schedule; with the solver also one that the solver finds.
    """
    now = present_schedule(found, quantized(found.problem), _FEW_ITERATIONS)
    if now is None:
        return None
    named = zip(found.problem.operations, found.roles, strict=True)
    pinned = replace(found.problem, operations=tuple(replace(operation, role=role) for operation, role in named))
    upper = math.floor((1 - GAIN) * now.interval)
    try:
        if bound(quantized(pinned), role_numbers(found)).interval >= upper:
            return None
        store = Store(_folder() if has_solver else None, BUDGET)
        return solve(pinned, store, BUDGET, search if has_solver else _no_search, upper=upper).schedule
    except ProblemError:
        return None


def _no_search(*_: object) -> None:
    """The exact scheduler of a compile without the solver: it finds nothing."""


def steady_intervals(found: LoopProblem) -> tuple[int, int] | None:
    """The interval of the steady state of a loop, and that with a slower memory; None if it has none."""
    states = [present_schedule(found, quantized(each)) for each in (found.problem, _slower(found.problem))]
    intervals = [state.interval for state in states if state is not None]
    return (intervals[0], intervals[1]) if len(intervals) == len(states) else None


def role_orders(found: LoopProblem, schedule: Schedule) -> dict[str, RoleOrder]:
    """The order that a schedule asks for in each role; warpgroups of one role have that of the first."""
    first = {part.loop.operation: number for number, part in reversed(list(enumerate(found.parts)))}
    return {found.roles[number]: role_order(schedule, schedule.role[number], found.ahead) for number in first.values()}


def _folder() -> str | None:
    """The folder of answers; None if the cache keeps nothing, or if other users could write it."""
    return cache_files.folder("schedules") if options.cache_size_bytes() else None


def _slower(problem: Problem) -> Problem:
    """A problem whose loads take longer."""
    streams = {operation.name for operation in problem.operations if operation.kind == Kind.STREAM}
    edges = (
        replace(edge, latency=round(edge.latency * _SLOW_MEMORY)) if edge.source in streams else edge
        for edge in problem.edges
    )
    return replace(problem, edges=tuple(edges))
