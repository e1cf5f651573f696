"""A lower bound of the interval, and its reason: a unit, a role, or a recurrence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tilec.lowering.schedule.arcs import (
    Arc,
    Roles,
    critical_cycle,
    edge_arcs,
    least_interval,
    register_arcs,
    ring_arcs,
    same_components,
)
from tilec.lowering.schedule.memory_share import memory_share
from tilec.lowering.schedule.parts import ProblemError
from tilec.lowering.schedule.problem import QUANTUM, Problem, rounded


@dataclass(frozen=True)
class Bound:
    """The interval in clocks that no schedule is below, and its reason in words."""

    interval: int
    reason: str


def bound(problem: Problem, roles: Roles = None) -> Bound:
    """The bound of a problem with times in the quantum; with roles, the bound of schedules with these roles.

    Raises:
        ProblemError: no interval satisfies the dependences, or the buffers do not fit.
    """
    found = work_bound(problem, roles)
    arcs = certain_arcs(problem, roles)
    most = sum(arc.latency for arc in arcs) + found.interval
    interval = least_interval(len(problem.operations), arcs, QUANTUM, most)
    if interval is None:
        names = _cycle_names(problem, arcs, rounded(most))
        raise ProblemError(f"problem '{problem.name}': no interval satisfies the recurrence {names}")
    if interval <= found.interval:
        return found
    return Bound(interval, "recurrence " + _cycle_names(problem, arcs, interval - QUANTUM))


def work_bound(problem: Problem, roles: Roles = None) -> Bound:
    """The work of the busiest unit, or of the busiest role: a part of the bound that takes little time."""
    return max((unit_bound(problem), *_streams(problem, roles)), key=lambda candidate: candidate.interval)


def unit_bound(problem: Problem) -> Bound:
    """The work of the busiest unit; 0 if the operations use none."""
    return max(_units(problem), key=lambda candidate: candidate.interval, default=Bound(0, "no unit"))


def certain_arcs(problem: Problem, roles: Roles = None) -> list[Arc]:
    """The arcs that every schedule (with these roles) obeys: rings have the largest depth that the memory allows."""
    share = memory_share(problem)
    # A buffer that may lie in the slot of another one has no limit of its own.
    optional = {buffer.name for buffer in problem.buffers if buffer.overlay} - share.forced
    depth = {name: most for name, most in share.most.items() if name not in optional}
    return edge_arcs(problem, roles) + ring_arcs(problem, depth, share.forced) + register_arcs(problem, roles)


def _units(problem: Problem) -> Iterator[Bound]:
    for unit in problem.units:
        uses = (use for operation in problem.operations for use in operation.uses if use.unit == unit)
        yield Bound(rounded(sum(use.busy for use in uses)), f"unit {unit}")


def _streams(problem: Problem, roles: Roles) -> Iterator[Bound]:
    """The instruction streams of roles: the operations that certainly share one."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(same_components(problem) if roles is None else roles):
        groups[group].append(number)
    for numbers in groups.values():
        busy = sum(problem.operations[number].duration for number in numbers)
        first = problem.operations[numbers[0]].name
        yield Bound(busy, f"duration of {first}" if len(numbers) == 1 else f"instructions of the role of {first}")


def _cycle_names(problem: Problem, arcs: list[Arc], interval: int) -> str:
    cycle = critical_cycle(len(problem.operations), arcs, interval)
    names = [problem.operations[arc.source].name for arc in cycle]
    return " -> ".join([*names, names[0]])
