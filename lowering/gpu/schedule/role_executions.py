"""The executions of the steps of a role in their order, if each loop has a certain number of iterations.

A branch executes both of its regions, one after the other, as the worst that it may do: of the executions in which it
takes one region alone the steps of the other one are missing, so that each step waits for a release that is earlier.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tilec.lowering.gpu.schedule.role_steps import (
    GET,
    ORDER_SIGNAL,
    ORDER_WAIT,
    PUT,
    RELEASE,
    SKIP,
    Branch,
    Item,
    Loop,
    Party,
    Role,
    Step,
)

# All of a branch, or one of its regions.
BOTH_REGIONS, FIRST_REGIONS, SECOND_REGIONS = (0, 1), (0,), (1,)
# The steps of a role that are worth the time.
MOST_STEPS = 50_000


class TooManySteps(Exception):
    """The loops of the roles have more executions than are worth the time."""


@dataclass
class Executions:
    """The executions of the steps of a role, or of one of its warpgroups.

    Attributes:
        role: the name of the role.
        steps: the steps in the order of execution.
        indices: for each of them, how many of the same party precede it.
        loops: for each execution of a loop, by name, the number of its first step in each iteration, and the end.
        alternate: the names of the loops of which another role has every other iteration.
        regions: how many steps of a ring each execution of a region has, by the id of its branch and its number.
    """

    role: str
    steps: list[Step] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    loops: defaultdict[str, list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    alternate: set[str] = field(default_factory=set)
    regions: dict[tuple[int, int, int], Counter[Party]] = field(default_factory=dict)


def executions(role: Role, iterations: Mapping[str, int], regions: Collection[int]) -> list[Executions]:
    """The executions of a role: of each of its warpgroups, if they wait for each other.

    Args:
        role: the code of the role.
        iterations: the iterations of each loop by name, with those before it and after it.
        regions: the regions that branches execute.

    Raises:
        TooManySteps: the role has more than MOST_STEPS steps.
    """
    groups = range(role.groups) if role.is_ordered else range(1)
    return [_Execution(role, iterations, regions, group).made for group in groups]


class _Execution:
    """One execution of a role by a warpgroup."""

    def __init__(self, role: Role, iterations: Mapping[str, int], taken: Collection[int], group: int) -> None:
        self._iterations, self._taken = iterations, taken
        self._first, self._last = group == 0, group == role.groups - 1
        self._counts: Counter[Party] = Counter()
        self._executed: Counter[int] = Counter()
        self.made = Executions(role.name)
        self._execute(role.items, is_first=False)

    def _execute(self, items: Sequence[Item], *, is_first: bool) -> None:
        for item in items:
            if isinstance(item, Step):
                self._step(item, items)
            elif isinstance(item, Loop):
                self._loop(item)
            elif item.id is not None:
                self._branch(item.id, item, is_first)
            elif not (is_first and item.skips_first):
                self._execute(item.regions[0], is_first=is_first)

    def _step(self, step: Step, around: Sequence[Item]) -> None:
        name = step.name
        if name == SKIP:
            self._skip(step, around)
            return
        if name == ORDER_WAIT and not self._first and step.op.opview.last:
            return
        if name == ORDER_SIGNAL and not self._last and step.op.opview.first:
            return
        party = step.party
        # A put waits for the slot that its commit fills: those of the first round have no put that waits.
        self.made.indices.append(self._counts[party])
        self.made.steps.append(step)
        if name != PUT:
            self._counts[party] += 1
        if len(self.made.steps) > MOST_STEPS:
            raise TooManySteps

    def _skip(self, step: Step, around: Sequence[Item]) -> None:
        """Passes over as many slots as this role gets of a tile: the other one has as many of the next tile."""
        slots = self._steps_of(around, step)
        for name in (GET, RELEASE):
            self._counts[step.ring, name, step.consumer] += slots

    def _steps_of(self, items: Sequence[Item], skip: Step) -> int:
        """The slots that some code gets as the consumer of a skip."""
        found = 0
        for item in items:
            if isinstance(item, Loop):
                found += self.iterations_of(item) * self._steps_of(item.body, skip)
            elif isinstance(item, Branch):
                found += self._steps_of(item.regions[0], skip)
            else:
                found += (item.name, item.ring, item.consumer) == (GET, skip.ring, skip.consumer)
        return found

    def iterations_of(self, loop: Loop) -> int:
        """The iterations of a loop without those before it and after it."""
        total = self._iterations[loop.name]
        return max(0, (total // 2 if loop.is_alternate else total) - loop.ahead)

    def _loop(self, loop: Loop) -> None:
        starts = []
        for iteration in range(self.iterations_of(loop)):
            starts.append(len(self.made.steps))
            self._execute(loop.body, is_first=iteration == 0)
        self.made.loops[loop.name].append([*starts, len(self.made.steps)])
        if loop.is_alternate:
            self.made.alternate.add(loop.name)

    def _branch(self, id: int, branch: Branch, is_first: bool) -> None:
        number = self._executed[id]
        self._executed[id] += 1
        for region in self._taken:
            before = Counter(self._counts)
            if region < len(branch.regions):
                self._execute(branch.regions[region], is_first=is_first)
            self.made.regions[id, number, region] = self._counts - before
