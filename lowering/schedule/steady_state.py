"""The steady state of a loop: roles issue operations in program order, and units serve those that arrive first.

A role does not wait for the units of an asynchronous operation, which starts when they are free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilec.lowering.schedule.arcs import edge_arcs, ring_arcs
from tilec.lowering.schedule.parts import Operation
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.recurrence import Arc
from tilec.lowering.schedule.schedule import Schedule

# Iterations that are executed, and those at the end of which the interval is the mean: rings are full by then.
_ITERATIONS = 48
_MEASURED = 16


@dataclass
class _Execution:
    """The starts of operations so far.

    Attributes:
        problem: the loop.
        members: the operations of each role, in program order.
        ahead: the iterations that each operation is ahead.
        arcs: what each operation waits for.
        start: the starts of each operation, by iteration.
        free: when the role, or the unit, of a name is free.
        issued: the number of operations that each role has issued.
    """

    problem: Problem
    members: list[list[int]]
    ahead: Sequence[int]
    arcs: dict[int, list[Arc]]
    start: list[dict[int, int]]
    free: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    issued: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Executes all iterations, or until all roles wait."""
        self.issued = [0] * len(self.members)
        while True:
            waiting = [role for role in range(len(self.members)) if self._iteration(role) < _ITERATIONS]
            ready = [(clock, role) for role in waiting if (clock := self._ready(role)) is not None]
            if not ready:
                return
            clock, role = min(ready)
            self._issue(role, clock)

    def _iteration(self, role: int) -> int:
        return self.issued[role] // len(self.members[role])

    def _next(self, role: int) -> tuple[int, int]:
        """The next operation of a role, and its iteration."""
        number = self.members[role][self.issued[role] % len(self.members[role])]
        return number, self._iteration(role) + self.ahead[number]

    def _ready(self, role: int) -> int | None:
        """When the next operation of a role can start; None if it waits for one that has not started."""
        number, iteration = self._next(role)
        clock = self.free[f"role {role}"]
        for arc in self.arcs[number]:
            source = iteration - arc.distance
            # Operations that are ahead execute their first iterations in front of the loop.
            if source < self.ahead[arc.source]:
                continue
            if source not in self.start[arc.source]:
                return None
            clock = max(clock, self.start[arc.source][source] + arc.latency)
        operation = self.problem.operations[number]
        return clock if _is_asynchronous(operation) else self._served(operation, clock)

    def _served(self, operation: Operation, clock: int) -> int:
        """When the units of an operation are free."""
        return max([clock, *(self.free[use.unit] for use in operation.uses)])

    def _issue(self, role: int, clock: int) -> None:
        number, iteration = self._next(role)
        operation = self.problem.operations[number]
        self.free[f"role {role}"] = clock + operation.duration
        self.start[number][iteration] = start = self._served(operation, clock)
        for use in operation.uses:
            self.free[use.unit] = start + use.busy
        self.issued[role] += 1


def _is_asynchronous(operation: Operation) -> bool:
    """Whether an operation occupies a unit for longer than its role."""
    return any(use.busy > operation.duration for use in operation.uses)


def steady_state(
    problem: Problem, roles: tuple[int, ...], ahead: Sequence[int], slots: Sequence[int]
) -> Schedule | None:
    """The steady state of a loop whose roles have program order, with rings of so many slots; None if it has none.

    The interval is the mean of some iterations, rounded up; the starts are those of one of them.

    Args:
        problem: the loop; its units are used by one operation at a time.
        roles: the number of the role of each operation.
        ahead: the iterations that each operation is ahead of the others in its role.
        slots: the slots of each buffer.
    """
    members: list[list[int]] = [[] for _ in range(max(roles) + 1)]
    for number, role in enumerate(roles):
        members[role].append(number)
    depth = {buffer.name: count for buffer, count in zip(problem.buffers, slots, strict=True)}
    arcs = defaultdict[int, list[Arc]](list)
    for arc in edge_arcs(problem, roles) + ring_arcs(problem, depth, frozenset()):
        arcs[arc.target].append(arc)
    execution = _Execution(problem, members, ahead, arcs, [{} for _ in problem.operations])
    execution.run()
    # Operations that are ahead wait for iterations behind the last one.
    last = _ITERATIONS - 1 - max(ahead)
    if any(last not in starts for starts in execution.start):
        return None
    clocks = max(starts[last] - starts[last - _MEASURED] for starts in execution.start)
    base = min(starts[last] for starts in execution.start)
    start = tuple(starts[last] - base for starts in execution.start)
    return Schedule(max(1, -(-clocks // _MEASURED)), start, roles, tuple(slots))
