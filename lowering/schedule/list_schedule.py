"""The fast modulo scheduler: operations in order of their height, each at the first free clock, with eviction.

B. R. Rau, "Iterative Modulo Scheduling", MICRO 27 (1994). It is not complete: it may miss the least interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tilec.lowering.schedule.arcs import Arc, earliest_starts
from tilec.lowering.schedule.bound import bound, certain_arcs
from tilec.lowering.schedule.memory_share import least_slots, memory_share, uses_of_slot
from tilec.lowering.schedule.parts import Buffer
from tilec.lowering.schedule.problem import QUANTUM, Problem, rounded
from tilec.lowering.schedule.schedule import Schedule

# An attempt ends after this many placements per operation.
_PLACEMENTS = 8
# Intervals grow by 1/64 in the first attempts, then by 1/16, up to the sum of all durations and latencies.
_FINE_ATTEMPTS, _FINE_STEP, _STEP = 8, 64, 16


def list_schedule(problem: Problem, roles: tuple[int, ...], upper: int | None = None) -> Schedule | None:
    """A schedule with these roles, of a problem with times in the quantum.

    If no attempt succeeds, one operation runs after the other; None if even that exceeds a memory. With `upper` only
    shorter intervals are tried; None if no attempt succeeds.
    """
    least = bound(problem, roles).interval
    most = sum(operation.duration for operation in problem.operations) + sum(
        arc.latency for arc in certain_arcs(problem, roles)
    )
    failed = None
    for interval in _intervals(max(least, QUANTUM), most):
        if upper is not None and interval >= upper:
            return None
        if schedule := schedule_at(problem, roles, interval):
            return schedule if failed is None else _shortened(problem, roles, failed, schedule)
        failed = interval
    return None if upper is not None else sequential(problem, roles)


def _shortened(problem: Problem, roles: tuple[int, ...], failed: int, schedule: Schedule) -> Schedule:
    """A schedule by bisection between an interval that failed and that of a schedule."""
    while schedule.interval - failed > QUANTUM:
        middle = failed + rounded((schedule.interval - failed) // 2)
        found = schedule_at(problem, roles, middle)
        if found is None:
            failed = middle
        else:
            schedule = found
    return schedule


def _intervals(least: int, most: int) -> Iterator[int]:
    interval = least
    for attempt in itertools.count():
        yield interval
        interval += max(QUANTUM, rounded(interval // (_FINE_STEP if attempt < _FINE_ATTEMPTS else _STEP)))
        if interval > most:
            return


def sequential(problem: Problem, roles: tuple[int, ...]) -> Schedule | None:
    """Each operation starts when all work of the one before it has ended; None if the buffers do not fit."""
    clock, start = 0, []
    for operation in problem.operations:
        start.append(clock)
        lengths = [operation.duration, *(use.busy for use in operation.uses)]
        lengths += [edge.latency + edge.cross for edge in problem.edges if edge.source == operation.name]
        uses = [use for buffer in problem.buffers for use in buffer.uses]
        uses += [use for value in problem.registers for use in value.uses]
        lengths += [use.completion for use in uses if use.operation == operation.name]
        clock += max(lengths)
    depths = ring_depths(problem, max(clock, QUANTUM), start)
    return None if depths is None else Schedule(max(clock, QUANTUM), tuple(start), roles, depths)


def schedule_at(problem: Problem, roles: tuple[int, ...], interval: int) -> Schedule | None:
    """A schedule with these roles and this interval, or None if the attempt failed."""
    arcs = certain_arcs(problem, roles)
    if earliest_starts(len(problem.operations), arcs, interval) is None:
        return None
    attempt = _Attempt(problem, roles, interval, arcs, _exclusive_pairs(problem, roles))
    if not attempt.run():
        return None
    first = min(attempt.start.values()) // interval * interval
    start = tuple(attempt.start[number] - first for number in range(len(problem.operations)))
    depths = ring_depths(problem, interval, start)
    return None if depths is None else Schedule(interval, start, roles, depths)


def _exclusive_pairs(problem: Problem, roles: tuple[int, ...]) -> list[list[list[tuple[int, int]]]]:
    """For each two operations, the clocks of both on the role and the units that they cannot use together."""
    everything = range(len(problem.operations))
    return [[list(_exclusive(problem, roles, first, second)) for second in everything] for first in everything]


def _exclusive(problem: Problem, roles: tuple[int, ...], first: int, second: int) -> Iterator[tuple[int, int]]:
    mine, theirs = problem.operations[first], problem.operations[second]
    if roles[first] == roles[second] and mine.duration and theirs.duration:
        yield mine.duration, theirs.duration
    busy = {use.unit: use for use in theirs.uses}
    for use in mine.uses:
        other = busy.get(use.unit)
        if other and use.busy and other.busy:
            yield use.busy, other.busy


@dataclass
class _Attempt:
    """The state of one attempt: the starts of placed operations."""

    problem: Problem
    roles: tuple[int, ...]
    interval: int
    arcs: list[Arc]
    pairs: list[list[list[tuple[int, int]]]]
    start: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def run(self) -> bool:
        heights = self._heights()
        for _ in range(_PLACEMENTS * len(self.problem.operations)):
            waiting = [number for number in range(len(self.problem.operations)) if number not in self.start]
            if not waiting:
                return True
            self._place(max(waiting, key=lambda number: (heights[number], -number)))
        return False

    def _heights(self) -> list[int]:
        """The longest path from each operation, with distances counted as intervals."""
        reversed_arcs = [Arc(arc.target, arc.source, arc.latency, arc.distance) for arc in self.arcs]
        heights = earliest_starts(len(self.problem.operations), reversed_arcs, self.interval)
        assert heights is not None
        return heights

    def _place(self, number: int) -> None:
        incoming = [arc for arc in self.arcs if arc.target == number and arc.source in self.start]
        earliest = max((self._ready(arc) for arc in incoming), default=0)
        free = self._free_clock(number, earliest)
        if free is None:
            free = max(earliest, self.last.get(number, -QUANTUM) + QUANTUM)
        self.start[number] = self.last[number] = free
        self._evict(number)

    def _ready(self, arc: Arc) -> int:
        return self.start[arc.source] + arc.latency - arc.distance * self.interval

    def _free_clock(self, number: int, earliest: int) -> int | None:
        """The first clock at which the role and the units are free, within one interval."""
        clock = earliest
        while clock < earliest + self.interval:
            delay = max((self._delay(number, clock, other) for other in self.start), default=0)
            if not delay:
                return clock
            clock += max(delay, QUANTUM)
        return None

    def _evict(self, number: int) -> None:
        """Removes the operations that conflict with the one just placed, or start too early or late for it."""
        clock = self.start[number]
        gone = {other for other in self.start if other != number and self._delay(number, clock, other)}
        for arc in self.arcs:
            if number in (arc.source, arc.target) and arc.source in self.start and arc.target in self.start:
                if self._ready(arc) > self.start[arc.target]:
                    gone.add(arc.target if arc.source == number else arc.source)
        for other in gone - {number}:
            del self.start[other]

    def _delay(self, number: int, clock: int, other: int) -> int:
        """The clocks until two operations no longer overlap modulo the interval; 0 if they do not."""
        after = (self.start[other] - clock) % self.interval
        before = (clock - self.start[other]) % self.interval
        return max(
            (
                after + second if after < first else second - before
                for first, second in self.pairs[number][other]
                if after < first or before < second
            ),
            default=0,
        )


def ring_depths(problem: Problem, interval: int, start: Sequence[int]) -> tuple[int, ...] | None:
    """The smallest depth of each buffer, overlays only where memory requires them; None if they do not fit."""
    forced = memory_share(problem).forced
    optional = frozenset(buffer.name for buffer in problem.buffers if buffer.overlay)
    for overlaid in dict.fromkeys((forced, optional)):
        depths = tuple(_depth(problem, buffer, interval, start, overlaid) for buffer in problem.buffers)
        if _fits(problem, depths):
            return depths
    return None


def _life(problem: Problem, buffer: Buffer, interval: int, start: Sequence[int], overlaid: frozenset[str]) -> int:
    """The clocks from the start of the source to the completion of the last use of its slot."""
    ends = (
        start[problem.index[use.operation]] + use.completion + use.distance * interval
        for use in uses_of_slot(problem, buffer, overlaid)
    )
    return max(ends) - start[problem.index[buffer.source]]


def _depth(problem: Problem, buffer: Buffer, interval: int, start: Sequence[int], overlaid: frozenset[str]) -> int:
    if buffer.name in overlaid:
        return 0
    needed = -(-_life(problem, buffer, interval, start, overlaid) // interval)
    return max(needed, least_slots(buffer))


def _fits(problem: Problem, depths: tuple[int, ...]) -> bool:
    for memory, capacity in problem.capacity.items():
        rings = zip(problem.buffers, depths, strict=True)
        if sum(buffer.size * depth for buffer, depth in rings if buffer.memory == memory) > capacity:
            return False
    return True
