"""The interval of a loop as it is, each role in program order, with the present rings: a bound, and a schedule."""

from __future__ import annotations

from collections import defaultdict

from tilec.lowering.gpu.schedule.loop_problem import LoopProblem
from tilec.lowering.schedule.arcs import Arc, edge_arcs, least_interval, ring_arcs
from tilec.lowering.schedule.bound import Bound, unit_bound
from tilec.lowering.schedule.problem import QUANTUM, Problem
from tilec.lowering.schedule.schedule import Schedule
from tilec.lowering.schedule.steady_state import ITERATIONS, steady_state


def present_interval(loop: LoopProblem, rounded: Problem) -> int | None:
    """A lower bound, in clocks, of the interval of a loop with its problem in the quantum; None if it has none.

    It is the greatest of the busiest unit and the longest recurrence, among them the order of each role. Waits for
    units that are busy are not counted.
    """
    roles = role_numbers(loop)
    slots = {buffer.name: count for buffer, count in zip(rounded.buffers, loop.slots, strict=True)}
    arcs = edge_arcs(rounded, roles) + ring_arcs(rounded, slots, frozenset()) + _order(rounded, roles, loop.ahead)
    units: Bound = unit_bound(rounded)
    most = units.interval + sum(arc.latency for arc in arcs)
    interval = least_interval(len(rounded.operations), arcs, QUANTUM, most)
    return None if interval is None else max(interval, units.interval)


def present_schedule(loop: LoopProblem, rounded: Problem, iterations: int = ITERATIONS) -> Schedule | None:
    """The steady state of a loop as it is, where roles share units; None if it has none.

    It is a legal schedule if all iterations are alike, and no operations use a unit at the same time.
    """
    return steady_state(rounded, role_numbers(loop), loop.ahead, loop.slots, iterations)


def role_numbers(loop: LoopProblem) -> tuple[int, ...]:
    """The number of the present role of each operation."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(loop.roles))}
    return tuple(numbers[name] for name in loop.roles)


def _order(problem: Problem, roles: tuple[int, ...], ahead: tuple[int, ...]) -> list[Arc]:
    """Each operation of a role starts after the one before; the first one after the last of the iteration before.

    An operation that is `ahead` follows those of an earlier iteration, so that distances may be negative.
    """
    members: defaultdict[int, list[int]] = defaultdict(list)
    for number, role in enumerate(roles):
        members[role].append(number)
    arcs = []
    for numbers in members.values():
        arcs += [
            Arc(first, second, problem.operations[first].duration, ahead[second] - ahead[first])
            for first, second in zip(numbers, numbers[1:], strict=False)
        ]
        first, last = numbers[0], numbers[-1]
        arcs.append(Arc(last, first, problem.operations[last].duration, 1 + ahead[first] - ahead[last]))
    return arcs
