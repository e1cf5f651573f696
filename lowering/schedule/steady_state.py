"""The steady state of a loop: roles issue operations in program order, and share units.

Asynchronous operations are executed in the order of arrival; a role does not wait for their units. Loads and stores of
threads wait for memory in the same way. Units execute the instructions of threads of all roles alternately: while those
of several roles need more than all clocks of a unit, each of them takes longer in the same ratio.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilec.lowering.schedule.arcs import Arc, edge_arcs, ring_arcs
from tilec.lowering.schedule.costs import MEMORY_UNITS
from tilec.lowering.schedule.parts import Kind, Operation
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.schedule.schedule import Schedule

# Iterations that are executed; the interval is the mean of the last third of them: rings are full by then.
ITERATIONS = 96
_MEASURED = 1 / 3
# The state is steady if operations repeat for this number of iterations, and for as many as a dependence crosses.
_LEAST_REPEATED = 4
# Rings of two slots alternate between two intervals.
_PERIODS = (1, 2)
# Clocks are sums of quotients.
_ERROR = 1e-6


@dataclass(frozen=True)
class _Step:
    """The facts about an operation that its execution needs.

    Attributes:
        ahead: the iterations that it is ahead.
        sources: the operations that it waits for, each with the iterations before, the latency, and the first
            iteration in the loop. Operations that are ahead execute their first iterations before the loop.
        duration: the clocks of its role.
        is_asynchronous: whether no thread executes it, or it occupies a unit for longer than its role.
        queues: the units that must be free.
        uses: the units that it occupies, and for how many clocks.
        loads: the units that threads share meanwhile, and the part of the clocks of each that it needs.
    """

    ahead: int
    sources: tuple[tuple[int, int, float, int], ...]
    duration: float
    is_asynchronous: bool
    queues: tuple[str, ...]
    uses: tuple[tuple[str, float], ...]
    loads: tuple[tuple[str, float], ...]


def _step(operation: Operation, number: int, ahead: Sequence[int], arcs: Sequence[Arc]) -> _Step:
    uses = operation.uses
    is_asynchronous = operation.kind != Kind.TILE or any(use.busy > operation.duration for use in uses)
    clocks = max(1, operation.duration)
    return _Step(
        ahead[number],
        tuple((arc.source, arc.distance, arc.latency, ahead[arc.source]) for arc in arcs),
        operation.duration,
        is_asynchronous,
        tuple(use.unit for use in uses if is_asynchronous or use.unit in MEMORY_UNITS),
        tuple((use.unit, float(use.busy)) for use in uses),
        tuple((use.unit, use.busy / clocks) for use in uses if use.unit not in MEMORY_UNITS),
    )


@dataclass(slots=True)
class _Running:
    """An operation that threads of a role execute.

    Attributes:
        number: the operation.
        iteration: its iteration.
        left: the clocks that are left if no role shares.
        delay: the clocks that its result waits for memory.
    """

    number: int
    iteration: int
    left: float
    delay: float


@dataclass
class _Repeats:
    """The newest iterations that take as long as those a period before them, with all of their operations.

    Attributes:
        period: the iterations of a period.
        interval: the clocks of the newest iteration, as the mean of a period.
        repeated: the number of iterations.
    """

    period: int
    interval: float = 0.0
    repeated: int = 0

    def count(self, start: Sequence[Mapping[int, float]], number: int) -> int:
        """The iterations up to `number`, the iteration after the one that was counted before."""
        before = number - self.period
        first, last = start[0][number], self.interval
        self.interval = (first - start[0].get(before, -math.inf)) / self.period
        is_repeated = abs(self.interval - last) < _ERROR
        if is_repeated:
            intervals = [(starts[number] - starts.get(before, -math.inf)) / self.period for starts in start]
            is_repeated = max(*intervals, last) - min(*intervals, last) < _ERROR
        self.repeated = self.repeated + 1 if is_repeated else 0
        return self.repeated


@dataclass
class _Execution:
    """The starts of operations so far.

    Attributes:
        steps: the operations.
        members: the operations of each role, in program order.
        iterations: the iterations to execute.
        start: the starts of each operation, by iteration; those of operations that others slowed down are delayed.
        free: when each role is free.
        unit_free: when each unit has executed all asynchronous operations.
        issued: the number of operations that each role has issued.
        ready: when the next operations that wait only for started ones can start, by role.
        following: the number of the next operation of each role in `ready`, and its iteration.
        idle: the roles whose next operation is to be looked at.
        waiting: the roles whose next operation waits for another one, by the number of this one and its iteration.
        running: the operations that the threads of roles execute.
        slowed: the ratios by which operations that threads execute together take longer, by role.
        clock: now.
        interval: the clocks between iterations, if all operations repeat.
        last: the iteration from which on all operations repeat at the interval; None if that is not known.
    """

    steps: Sequence[_Step]
    members: list[list[int]]
    iterations: int
    start: list[dict[int, float]]
    free: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    unit_free: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    issued: list[int] = field(default_factory=list)
    ready: dict[int, float] = field(default_factory=dict)
    following: dict[int, tuple[int, int]] = field(default_factory=dict)
    idle: list[int] = field(default_factory=list)
    waiting: defaultdict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    running: dict[int, _Running] = field(default_factory=dict)
    slowed: dict[tuple[tuple[int, int], ...], dict[int, float]] = field(default_factory=dict)
    clock: float = 0.0
    interval: float = 0.0
    last: int | None = None

    def run(self) -> None:
        """Executes all iterations, or until all roles wait, or until all operations repeat at the same interval."""
        self.issued, self.idle = [0] * len(self.members), list(range(len(self.members)))
        distances = (distance for step in self.steps for _, distance, _, _ in step.sources)
        wanted = _LEAST_REPEATED + max(distances, default=0)
        repeats = {period: _Repeats(period) for period in _PERIODS}
        number = max(step.ahead for step in self.steps)
        # The role that has issued the fewest iterations, as far as known.
        slowest, lengths = 0, list(map(len, self.members))
        while (later := self._issue_all()) or self.running:
            self._advance(later)
            # Threads may still execute the newest operation of a role.
            while self.issued[slowest] >= (number + 3) * lengths[slowest]:
                slowest = min(range(len(lengths)), key=lambda role: self.issued[role] // lengths[role])
                if self.issued[slowest] < (number + 3) * lengths[slowest]:
                    break
                number += 1
                for each in repeats.values():
                    if each.count(self.start, number) == wanted:
                        self.interval, self.last = each.interval, number
                        return

    def _issue_all(self) -> list[float]:
        """Issues the operations that can start now; returns the clocks at which the next operations can start."""
        ready, idle, latest = self.ready, self.idle, self.clock + _ERROR
        while True:
            while idle:
                self._prepare(idle.pop())
            if not ready or min(ready.values()) > latest:
                return list(ready.values())
            for role in sorted([role for role, clock in ready.items() if clock <= latest]):
                self._issue(role)

    def _prepare(self, role: int) -> None:
        """Notes when the next operation of a role can start, unless it waits for one that has not, or none is left."""
        iteration, position = divmod(self.issued[role], len(self.members[role]))
        if iteration == self.iterations:
            return
        number, start = self.members[role][position], self.start
        step = self.steps[number]
        iteration += step.ahead
        clock = self.free[role]
        for source, distance, latency, first in step.sources:
            before = iteration - distance
            if before >= first:
                started = start[source].get(before)
                if started is None:
                    self.waiting[source, before].append(role)
                    return
                if started + latency > clock:
                    clock = started + latency
        self.ready[role], self.following[role] = clock, (number, iteration)

    def _note_start(self, number: int, iteration: int, clock: float) -> None:
        """Notes the start of an operation, for which roles may wait."""
        self.start[number][iteration] = clock
        if (number, iteration) in self.waiting:
            self.idle += self.waiting.pop((number, iteration))

    def _issue(self, role: int) -> None:
        del self.ready[role]
        number, iteration = self.following[role]
        step, unit_free = self.steps[number], self.unit_free
        self.issued[role] += 1
        start = clock = self.clock
        for unit in step.queues:
            if unit_free[unit] > start:
                start = unit_free[unit]
        for unit, clocks in step.uses:
            # Operations that threads execute at the same time delay the asynchronous operations after them.
            free = unit_free[unit]
            unit_free[unit] = (free if free > start else start) + clocks
        if step.is_asynchronous:
            self.free[role] = clock + step.duration
            self.idle.append(role)
            self._note_start(number, iteration, start)
        else:
            self.running[role] = _Running(number, iteration, step.duration, start - clock)

    def _advance(self, later: list[float]) -> None:
        """Executes until an operation ends, or one can start at one of the clocks."""
        clock, running = self.clock, self.running
        # In the order in which the roles have started: another order of a sum would round in another way.
        together = tuple([(role, each.number) for role, each in running.items()])
        slowed = self.slowed.get(together)
        if slowed is None:
            slowed = self.slowed[together] = self._ratios(together)
        for role, each in running.items():
            later.append(clock + each.left * slowed[role])
        self.clock = following = min(later)
        for role, number in together:
            each = running[role]
            each.left -= (following - clock) / slowed[role]
            if each.left <= _ERROR:
                del running[role]
                self.free[role] = following
                self.idle.append(role)
                self._note_start(number, each.iteration, following - self.steps[number].duration + each.delay)

    def _ratios(self, together: tuple[tuple[int, int], ...]) -> dict[int, float]:
        steps = {role: self.steps[number] for role, number in together}
        load = defaultdict[str, float](float)
        for step in steps.values():
            for unit, part in step.loads:
                load[unit] += part
        slowed = {}
        for role, step in steps.items():
            slowed[role] = 1.0
            for unit, _ in step.loads:
                slowed[role] = max(slowed[role], load[unit])
        return slowed


def steady_state(
    problem: Problem, roles: tuple[int, ...], ahead: Sequence[int], slots: Sequence[int], iterations: int = ITERATIONS
) -> Schedule | None:
    """The steady state of a loop whose roles have program order, with rings of `slots` slots; None if it has none.

    The interval is that of the last iterations, rounded up: their mean, if they differ. The starts are those of one.

    Args:
        problem: the loop.
        roles: the number of the role of each operation.
        ahead: the iterations that each operation is ahead of the others in its role.
        slots: the slots of each buffer.
        iterations: the iterations that are executed; with less, iterations at the start may count.
    """
    members: list[list[int]] = [[] for _ in range(max(roles) + 1)]
    for number, role in enumerate(roles):
        members[role].append(number)
    depth = {buffer.name: count for buffer, count in zip(problem.buffers, slots, strict=True)}
    arcs = defaultdict[int, list[Arc]](list)
    for arc in edge_arcs(problem, roles) + ring_arcs(problem, depth, frozenset()):
        arcs[arc.target].append(arc)
    steps = [_step(operation, number, ahead, arcs[number]) for number, operation in enumerate(problem.operations)]
    execution = _Execution(steps, members, iterations, [{} for _ in steps])
    execution.run()
    clocks, last = execution.interval, execution.last
    if last is None:
        # Operations that are ahead wait for iterations after the last one.
        last, measured = iterations - 1 - max(ahead), int(iterations * _MEASURED)
        if any(last not in starts for starts in execution.start):
            return None
        clocks = max(starts[last] - starts[last - measured] for starts in execution.start) / measured
    base = min(starts[last] for starts in execution.start)
    start = tuple(round(starts[last] - base) for starts in execution.start)
    return Schedule(max(1, math.ceil(clocks - _ERROR)), start, roles, tuple(slots))
