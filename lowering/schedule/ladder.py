"""The schedule of a problem by the cheapest method that suffices: bound, present, stored answers, list, exact, joint.

A schedule of the code as it is, or a list schedule, at the bound ends the search, and the solver is never imported.
Then come the exact schedule with roles by rule, and the exact schedule with roles of its own choice, which is taken if
it is more than 1 % faster. Every answer is verified. If the solver is missing, fails, or gives an illegal schedule, the
list schedule is the whole answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tilec.lowering.schedule.arcs import join, same_components
from tilec.lowering.schedule.bound import Bound, bound
from tilec.lowering.schedule.exact import Budget, Found, SolverError, search
from tilec.lowering.schedule.list_schedule import list_schedule
from tilec.lowering.schedule.memory_share import MOST_SLOTS
from tilec.lowering.schedule.parts import Kind, Operation, ProblemError
from tilec.lowering.schedule.problem import Problem, quantized
from tilec.lowering.schedule.schedule import Schedule, numbered_by_first, warps_of_roles
from tilec.lowering.schedule.store import Answer, How, Store
from tilec.lowering.schedule.verify import verify

# An interval within this fraction of the bound is not improved, and roles by rule are kept for less than it.
_TOLERANCE = 0.01

BUDGET = Budget()

Search = Callable[[Problem, tuple[int, ...] | None, int | None, Budget], Found | None]


def solve(
    problem: Problem,
    store: Store | None = None,
    budget: Budget = BUDGET,
    searched: Search = search,
    present: Schedule | None = None,
    upper: int | None = None,
) -> Answer:
    """The schedule of a problem.

    Args:
        problem: the loop.
        store: the answers that were found before.
        budget: the limits of the exact scheduler.
        searched: the exact scheduler.
        present: the schedule of the code as it is.
        upper: an interval in clocks, below which that of the answer has to be.

    Raises:
        ProblemError: no schedule exists, or none was found.

    Example:
        >>> load = Operation("load", Kind.STREAM, 30, (Use("tma", 192),))
        >>> mma = Operation("mma", Kind.ISSUE, 48, (Use("tc", 512),))
        >>> answer = solve(Problem("gemm", (load, mma), (Edge("load", "mma", 700, cross=92),)))
        >>> answer.schedule.interval, answer.bound.reason, answer.how.value
        (512, 'unit tc', 'list')
    """
    climb = _Climb(problem, quantized(problem), store, budget, searched, present, upper)
    return climb.answer()


@dataclass
class _Climb:
    """The state of one search: the problem, and the remarks so far."""

    problem: Problem
    rounded: Problem
    store: Store | None
    budget: Budget
    searched: Search
    present: Schedule | None
    upper: int | None
    remarks: list[str] = field(default_factory=list)

    def answer(self) -> Answer:
        least = bound(self.rounded)
        # Iterations of the code as it is may differ, which no schedule describes.
        present = None if self.present is None or verify(self.problem, self.present) else self.present
        if present and present.interval <= (1 + _TOLERANCE) * least.interval:
            return Answer(present, least, How.PRESENT, is_proven=present.interval == least.interval)
        if self.store and (stored := self.store.find(self.problem)):
            return replace(stored, bound=least)
        roles = rule_roles(self.rounded)
        listed = self._legal("list", list_schedule(self.rounded, roles, self.upper))
        if listed and listed.interval == least.interval:
            return self._finished(listed, least, How.LIST, is_proven=True)
        fast = min(filter(None, (present, listed)), key=lambda schedule: schedule.interval, default=None)
        found, how = self._exact(roles, least, fast)
        if found is None and fast is not None and fast is present:
            return Answer(present, least, How.PRESENT, is_proven=False, remarks=tuple(self.remarks))
        if found is None:
            return self._fallback(listed, least)
        answer = self._finished(found.schedule, least, how, found.is_proven)
        if self.store:
            self.store.add(self.problem, answer)
        return answer

    def _exact(self, roles: tuple[int, ...], least: Bound, listed: Schedule | None) -> tuple[Found | None, How]:
        """The better of the exact schedules with roles by rule and with any roles."""
        upper = listed.interval if listed else self.upper
        found = self._search(roles, upper)
        is_pinned = all(operation.role for operation in self.problem.operations)
        if is_pinned or found and found.schedule.interval <= (1 + _TOLERANCE) * least.interval:
            return found, How.EXACT
        if found:
            upper = found.schedule.interval
        joint = self._search(None, upper)
        if joint and (upper is None or joint.schedule.interval < (1 - _TOLERANCE) * upper):
            return joint, How.JOINT
        return found, How.EXACT

    def _search(self, roles: tuple[int, ...] | None, upper: int | None) -> Found | None:
        try:
            found = self.searched(self.rounded, roles, upper, self.budget)
        except SolverError as problem:
            self._remark(str(problem))
            return None
        return found if found and self._legal("exact", found.schedule) else None

    def _legal(self, solver: str, schedule: Schedule | None) -> Schedule | None:
        if schedule is None:
            return None
        if broken := verify(self.problem, schedule):
            self._remark(f"the {solver} scheduler gave an illegal schedule: {broken[0]}")
            return None
        return schedule

    def _fallback(self, listed: Schedule | None, least: Bound) -> Answer:
        if listed is None:
            raise ProblemError(
                f"no schedule of '{self.problem.name}' was found: {'; '.join(self.remarks) or 'no time'}"
            )
        self._remark(f"the list schedule has an interval of {listed.interval} clocks, the bound is {least.interval}")
        return self._finished(listed, least, How.LIST, is_proven=False)

    def _finished(self, schedule: Schedule, least: Bound, how: How, is_proven: bool) -> Answer:
        deeper = deepened(self.problem, schedule)
        return Answer(deeper, least, how, is_proven, tuple(self.remarks))

    def _remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)


def deepened(problem: Problem, schedule: Schedule) -> Schedule:
    """The schedule with one more slot for each ring that a stream fills, where memory allows: latencies vary."""
    for position, buffer in enumerate(problem.buffers):
        is_stream = problem.operation(buffer.source).kind == Kind.STREAM
        if is_stream and schedule.depth[position] < MOST_SLOTS:
            depth = tuple(slots + (at == position) for at, slots in enumerate(schedule.depth))
            deeper = replace(schedule, depth=depth)
            schedule = deeper if not verify(problem, deeper) else schedule
    return schedule


def rule_roles(problem: Problem) -> tuple[int, ...]:
    """The role of each operation.

    Tile operations are joined if they exchange registers, or read the same accumulator. If the roles exceed the limits
    of the target, the two tile roles with the least work are joined.
    """
    component = same_components(problem)
    for first, second in _joined(problem):
        join(component, problem.index[first], problem.index[second])
    while not _fits(problem, component):
        pair = _least_busy_pair(problem, component)
        if pair is None:
            break
        join(component, *pair)
    return numbered_by_first(component)


def _joined(problem: Problem) -> Iterator[tuple[str, str]]:
    """Pairs of operations that the rule puts into one role."""
    pinned = {operation.name for operation in problem.operations if operation.role}
    first_of: dict[str, str] = {}
    for operation in problem.operations:
        group = _group(operation)
        if group and operation.name not in pinned:
            yield first_of.setdefault(group, operation.name), operation.name
    for edge in problem.edges:
        source, target = problem.operation(edge.source), problem.operation(edge.target)
        if edge.moved_kb and _is_common(source) and _is_common(target) and not {edge.source, edge.target} & pinned:
            yield edge.source, edge.target
    for buffer in problem.buffers:
        if problem.operation(buffer.source).kind == Kind.ISSUE:
            readers = [use.operation for use in buffer.uses if _is_common(problem.operation(use.operation))]
            yield from ((readers[0], reader) for reader in readers[1:] if not {readers[0], reader} & pinned)


def _group(operation: Operation) -> str:
    """The group of operations that share one role; empty for those of components."""
    if operation.kind != Kind.TILE:
        return operation.kind
    if operation.is_rare:
        return "rare"
    return "single" if operation.warps == 1 else ""


def _is_common(operation: Operation) -> bool:
    return operation.kind == Kind.TILE and not operation.is_rare and operation.warps > 1


def _fits(problem: Problem, component: list[int]) -> bool:
    warps = warps_of_roles(problem, numbered_by_first(component))
    return len(warps) <= problem.limits.roles and sum(warps) <= problem.limits.warps


def _least_busy_pair(problem: Problem, component: list[int]) -> tuple[int, int] | None:
    """The two tile roles with the least work; None if there is only one."""
    busy: defaultdict[int, int] = defaultdict(int)
    for operation, number in zip(problem.operations, component, strict=True):
        if operation.kind == Kind.TILE:
            busy[number] += operation.duration
    least = sorted(busy, key=lambda number: (busy[number], number))[:2]
    return (least[0], least[1]) if len(least) == 2 else None
