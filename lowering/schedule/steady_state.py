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


@dataclass
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
        intervals = [(starts[number] - starts.get(before, -math.inf)) / self.period for starts in start]
        is_repeated = max(*intervals, self.interval) - min(*intervals, self.interval) < _ERROR
        self.repeated, self.interval = self.repeated + 1 if is_repeated else 0, intervals[0]
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
        ready: the next operations that wait only for started ones, by role: when they can start, the number of
            the operation and its iteration.
        awaited: the first operation that the next one of a role waits for, by role, and its iteration.
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
    ready: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    awaited: dict[int, tuple[int, int]] = field(default_factory=dict)
    running: dict[int, _Running] = field(default_factory=dict)
    slowed: dict[tuple[tuple[int, int], ...], dict[int, float]] = field(default_factory=dict)
    clock: float = 0.0
    interval: float = 0.0
    last: int | None = None

    def run(self) -> None:
        """Executes all iterations, or until all roles wait, or until all operations repeat at the same interval."""
        self.issued = [0] * len(self.members)
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
        ready, running, awaited, start = self.ready, self.running, self.awaited, self.start
        idle = [role for role in range(len(self.members)) if role not in ready and role not in running]
        latest = self.clock + _ERROR
        while True:
            for role in idle:
                if role in awaited:
                    source, iteration = awaited[role]
                    if iteration not in start[source]:
                        continue
                    del awaited[role]
                self._prepare(role)
            now = [role for role, (clock, _, _) in ready.items() if clock <= latest]
            if not now:
                return [clock for clock, _, _ in ready.values()]
            for role in sorted(now):
                self._issue(role)
            idle = [role for role in {*idle, *now} if role not in ready and role not in running]

    def _prepare(self, role: int) -> None:
        """Notes when the next operation of a role can start, unless it waits for one that has not, or none is left."""
        iteration, position = divmod(self.issued[role], len(self.members[role]))
        if iteration == self.iterations:
            return
        number = self.members[role][position]
        step, start = self.steps[number], self.start
        iteration += step.ahead
        clock = self.free[role]
        for source, distance, latency, first in step.sources:
            before = iteration - distance
            if before >= first:
                started = start[source].get(before)
                if started is None:
                    self.awaited[role] = source, before
                    return
                if started + latency > clock:
                    clock = started + latency
        self.ready[role] = clock, number, iteration

    def _issue(self, role: int) -> None:
        _, number, iteration = self.ready.pop(role)
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
            self.start[number][iteration] = start
            self.free[role] = clock + step.duration
        else:
            self.running[role] = _Running(number, iteration, step.duration, start - clock)

    def _advance(self, later: list[float]) -> None:
        """Executes until an operation ends, or one can start at one of the clocks."""
        clock, slowed = self.clock, self._slowed()
        ends = [clock + running.left * slowed[role] for role, running in self.running.items()]
        self.clock = following = min(later + ends)
        ended = []
        for role, running in self.running.items():
            running.left -= (following - clock) / slowed[role]
            if running.left <= _ERROR:
                duration = self.steps[running.number].duration
                self.start[running.number][running.iteration] = following - duration + running.delay
                self.free[role] = following
                ended.append(role)
        for role in ended:
            del self.running[role]

    def _slowed(self) -> dict[int, float]:
        """The ratio by which the operation of each role takes longer."""
        # In the order in which the roles have started: another order of a sum would round in another way.
        together = tuple([(role, running.number) for role, running in self.running.items()])
        if together not in self.slowed:
            self.slowed[together] = self._ratios(together)
        return self.slowed[together]

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
    problem: Problem,
    roles: tuple[int, ...],
    ahead: Sequence[int],
    slots: Sequence[int],
    iterations: int = ITERATIONS,
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
