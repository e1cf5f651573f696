"""Proves that the roles of a kernel terminate: none waits, over others, for itself.

The steps of the roles on their channels are the transitions of a marked graph (lowering/schedule/marked_graph.py).
Each one follows the step before it in its role; a get follows the commit of its slot, and a put the releases of the
slot by all consumers. A place from a step to one of a later iteration holds a token for each iteration between, so that
tokens are the free slots of a ring, and what a role is ahead. Deadlocks are the cycles without tokens.

Each loop is live if its steps in one iteration are a live graph. The executions around it, and its first and last ones,
are transitions of their own: as many iterations as the longest dependence has, at both ends, and what is between. Then
no further iteration is near both ends, and the proof holds for any greater number. Branches are at their worst
(role_executions.py).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.lowering.gpu.schedule.role_executions import (
    BOTH_REGIONS,
    FIRST_REGIONS,
    MOST_STEPS,
    SECOND_REGIONS,
    Executions,
    TooManySteps,
    executions,
)
from tilec.lowering.gpu.schedule.role_steps import (
    GET,
    ORDER_SIGNAL,
    ORDER_WAIT,
    PUT,
    SKIP,
    Loop,
    Party,
    Ring,
    Role,
    Step,
    loops,
    read_roles,
    steps,
    steps_outside_of_loops,
)
from tilec.lowering.schedule.marked_graph import Place, all_fire, span, token_free_cycle

# Loops with at most this number of iterations, if it is known, are unfolded exactly.
_MOST_KNOWN = 16
# The steps that wait for other roles.
_WAITING = (PUT, GET, ORDER_WAIT)
# Orders of loops that are asked for.
Orders = Mapping[ir.Operation, LoopOrder]


@dataclass(frozen=True)
class Liveness:
    """What is known of the roles of a kernel.

    Attributes:
        problem: the reason why it is not proven that all roles terminate; None if it is.
        is_deadlock: whether roles wait for each other where all branches take the same region, or are one party of a
            ring without skipping the slots of each other.
    """

    problem: str | None = None
    is_deadlock: bool = False

    @property
    def is_proven(self) -> bool:
        return self.problem is None


def liveness(kernel: KernelOp, orders: Orders | None = None) -> Liveness:
    """Whether all roles of a kernel terminate, the loops with `orders` as if they were rewritten so."""
    if kernel.roles is None:
        return Liveness()
    code = _Code(read_roles(kernel, orders))
    if problem := code.shared_party():
        return Liveness(problem, is_deadlock=True)
    try:
        found = code.problem(BOTH_REGIONS)
        if not isinstance(found, _Cycle):
            return Liveness(found)
        is_certain = any(isinstance(code.problem(each), _Cycle) for each in (FIRST_REGIONS, SECOND_REGIONS))
        return Liveness(found.text, is_certain)
    except TooManySteps:
        return Liveness(f"a role has more than {MOST_STEPS} steps")


@dataclass(frozen=True)
class _Cycle:
    """The text of a cycle without tokens."""

    text: str


class _Code:
    """The code of the roles of a kernel."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self._roles = roles
        self._loops: defaultdict[str, list[Loop]] = defaultdict(list)
        for role in roles:
            for loop in loops(role.items):
                self._loops[loop.name].append(loop)
        totals = (
            (name, [loop.total for loop in found if loop.total is not None]) for name, found in self._loops.items()
        )
        self._known = {name: found[0] for name, found in totals if found and found[0] <= _MOST_KNOWN}
        self._alternate = {name for name, found in self._loops.items() if any(loop.is_alternate for loop in found)}

    def shared_party(self) -> str | None:
        """The problem with several roles that count their steps apart, though they are one party, or None."""
        parties: dict[Party, Role] = {}
        for role in self._roles:
            own = {step.party: step for step in steps(role.items) if step.ring is not None}
            for party, step in own.items():
                other = parties.setdefault(party, role)
                if other is not role and (step.ring, SKIP, step.consumer) not in own:
                    return f"roles '{other.name}' and '{role.name}' count apart how often they execute {_spelled(step)}"
        return None

    def problem(self, regions: Sequence[int]) -> _Cycle | str | None:
        """A cycle without tokens, or the reason why there may be one, or None."""
        if problem := self._graph(self._few_iterations(), regions).problem():
            return problem
        longest = self._longest_dependences()
        while True:
            graph = self._graph(self._iterations(longest), regions)
            if problem := graph.problem():
                return problem
            found = {name: graph.period(name) for name in longest}
            for period in found.values():
                if isinstance(period, _Cycle):
                    return period
            reached = {name: period for name, period in found.items() if isinstance(period, int)}
            if all(reached[name] <= longest[name] for name in longest):
                return None
            # Chains of dependences go over more iterations than one of them; TooManySteps ends the search.
            longest = {name: max(reached[name], count) for name, count in longest.items()}

    def _few_iterations(self) -> dict[str, int]:
        """As many iterations of each loop as are before one and after it, and another one, or two alternate."""
        found = {name: 1 + max(loop.ahead for loop in each) for name, each in self._loops.items()}
        return {name: self._known.get(name, 2 if name in self._alternate else few) for name, few in found.items()}

    def _longest_dependences(self) -> dict[str, int]:
        """For each loop whose iterations are not known, or many, over how many of them its dependences probably go."""
        longest = {}
        for name, found in self._loops.items():
            if name in self._known:
                continue
            rings = {step.ring for loop in found for step in steps_outside_of_loops(loop.body)}
            slots = [ring.slots or 1 for ring in rings if ring is not None]
            # A step that is ahead waits for a later iteration of another role; dependences back from it reach as far.
            longest[name] = max(slots, default=1) + 2 * max(loop.ahead for loop in found)
        return longest

    def _iterations(self, longest: Mapping[str, int]) -> dict[str, int]:
        """The iterations of each loop: those that its two ends reach, and some between, in each role."""
        iterations = dict(self._known)
        for name, count in longest.items():
            ahead = max(loop.ahead for loop in self._loops[name])
            # Two roles that alternate execute half of the iterations each.
            iterations[name] = (2 * count + 2 + ahead) * (2 if name in self._alternate else 1)
        return iterations

    def _graph(self, iterations: Mapping[str, int], regions: Sequence[int]) -> _Graph:
        return _Graph([made for role in self._roles for made in executions(role, iterations, regions)])


def _unbalanced(found: Sequence[Executions]) -> str | None:
    """The problem with a ring of which a region of a branch has steps of some parties alone, or None."""
    counts: defaultdict[tuple[int, int, int], dict[Party, int]] = defaultdict(dict)
    for made in found:
        for execution, own in made.regions.items():
            counts[execution].update(own)
    for (id, _, _), parties in counts.items():
        for ring in dict.fromkeys(ring for ring, _, _ in parties if ring is not None):
            if len({parties.get(party, 0) for party in ring.parties}) > 1:
                return f"a region of branch {id} has steps of some parties of {_ring_text(ring)} alone"
    return None


class _Graph:
    """The executions of all roles, which are numbered in a row, and what each one follows in other roles."""

    def __init__(self, roles: Sequence[Executions]) -> None:
        self._roles = roles
        self._firsts: list[int] = []
        self._steps: list[Step] = []
        self._executions: defaultdict[Party, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._missing: Step | None = None
        waiting: list[tuple[int, Step, int]] = []
        for made in roles:
            self._firsts.append(len(self._steps))
            for number, (step, index) in enumerate(zip(made.steps, made.indices, strict=True), len(self._steps)):
                if step.name != PUT:
                    self._executions[step.party][index].append(number)
                if step.name in _WAITING:
                    waiting.append((number, step, index))
            self._steps += made.steps
        found = ((number, self._awaited_by(step, index, number)) for number, step, index in waiting)
        self._waiting: dict[int, list[int]] = {number: awaited for number, awaited in found if awaited}

    def _awaited_by(self, step: Step, index: int, number: int) -> list[int]:
        """The executions of other roles that a put, a get or an order_wait waits for."""
        ring = step.ring
        if ring is None:
            return self._signal(number, index)
        if step.name == GET:
            return self._of(ring.commits, index, step)
        if not step.waits or ring.slots is None or index < ring.slots:
            return []
        return [each for party in ring.releases for each in self._of(party, index - ring.slots, step)]

    def _of(self, party: Party, index: int, step: Step) -> list[int]:
        found = self._executions[party].get(index, [])
        if not found and self._missing is None:
            self._missing = step
        return found

    def _signal(self, number: int, index: int) -> list[int]:
        """The signal for a wait: that of the warpgroup before, or of the last one of the role."""
        role = self._role_of(number)
        name = self._roles[role].role
        groups = [place for place, made in enumerate(self._roles) if made.role == name]
        before = groups[groups.index(role) - 1]
        signals = [
            each for each in self._executions[None, ORDER_SIGNAL, 0].get(index, []) if self._role_of(each) == before
        ]
        if not signals and self._missing is None:
            self._missing = self._steps[number]
        return signals

    def _role_of(self, number: int) -> int:
        return bisect.bisect_right(self._firsts, number) - 1

    def problem(self) -> _Cycle | str | None:
        """A cycle of executions, or the reason why one waits for another that there is not, or None."""
        if self._missing is not None:
            return f"{_spelled(self._missing)} waits for more steps than the other roles have"
        return _unbalanced(self._roles) or self._cycle()

    def _cycle(self) -> _Cycle | None:
        rows = [range(first, first + len(made.steps)) for first, made in zip(self._firsts, self._roles, strict=True)]
        if all_fire(rows, self._waiting):
            return None
        places = [Place(before, number) for number, awaited in self._waiting.items() for before in awaited]
        places += [Place(number, number + 1) for row in rows for number in row[:-1]]
        found = token_free_cycle(len(self._steps), places)
        assert found is not None, "a transition that never fires is on a cycle or after one"
        pairs = [(place.source, place.target) for place in found]
        return self._cycle_text(
            [(source, target) for source, target in pairs if source in self._waiting.get(target, ())]
        )

    def period(self, name: str) -> _Cycle | int:
        """What the iterations of a loop wait for: over how many iterations chains of dependences go, or a cycle.

        Of the executions of the loop a middle one counts. Its middle iteration stands for all of them: what it follows
        in an earlier iteration holds a token for each iteration between.
        """
        inside = self._iterations_of(name)
        if not inside:
            return 0
        middle = min(len(starts) - 1 for starts in inside.values()) // 2
        numbers: list[int] = []
        places: list[Place] = []
        firsts: dict[int, int] = {}
        for role, starts in inside.items():
            firsts[role] = len(numbers)
            numbers += range(self._firsts[role] + starts[middle], self._firsts[role] + starts[middle + 1])
            places += [Place(number, number + 1) for number in range(firsts[role], len(numbers) - 1)]
            if len(numbers) > firsts[role]:
                places.append(Place(len(numbers) - 1, firsts[role], 1))
        in_order = len(places)
        longest = 0
        for target, number in enumerate(numbers):
            for source in self._waiting.get(number, ()):
                role = self._role_of(source)
                place, starts = source - self._firsts[role], inside.get(role, [0])
                if not starts[0] <= place < starts[-1]:
                    continue
                iteration = bisect.bisect_right(starts, place) - 1
                longest = max(longest, abs(middle - iteration))
                # The first iteration may lack steps; then there are too few to tell.
                if starts[iteration + 1] - starts[iteration] == starts[middle + 1] - starts[middle]:
                    places.append(Place(firsts[role] + place - starts[iteration], target, middle - iteration))
        found = token_free_cycle(len(numbers), places)
        if found is not None:
            waits = set(places[in_order:]).intersection(found)
            return self._cycle_text([(numbers[each.source], numbers[each.target]) for each in found if each in waits])
        return longest + span(len(numbers), places)

    def _iterations_of(self, name: str) -> dict[int, list[int]]:
        """The starts of the iterations of a middle execution of a loop, by role.

        Two iterations of a role count as one if each of two other roles has one of them.
        """
        runs = {role: made.loops[name] for role, made in enumerate(self._roles) if made.loops.get(name)}
        is_alternate = any(name in made.alternate for made in self._roles)
        if not runs:
            # It is in a loop without iterations, or in a region that is not taken.
            return {}
        most = max(map(len, runs.values()))
        inside = {}
        for role, found in runs.items():
            # Of a loop around this one, each of two roles may have every other iteration.
            starts = found[most // 4 if 2 * len(found) == most else most // 4 * 2 if most > 1 else 0]
            is_whole = is_alternate and name not in self._roles[role].alternate
            inside[role] = starts[::2] if is_whole else starts
        return inside

    def _cycle_text(self, waits: Sequence[tuple[int, int]]) -> _Cycle:
        """What each role of a cycle waits for, from one role to the next: the awaited and the waiting execution."""
        texts = [
            f"role '{self._name_of(target)}' waits in {_spelled(self._steps[target])} for role "
            f"'{self._name_of(source)}' to execute {_spelled(self._steps[source])}"
            for source, target in reversed(waits)
        ]
        return _Cycle("; ".join(texts))

    def _name_of(self, number: int) -> str:
        return self._roles[self._role_of(number)].role


def _spelled(step: Step) -> str:
    name = step.name.rpartition(".")[2]
    ring = "" if step.ring is None else f" of {_ring_text(step.ring)}"
    location = source_location(step.op.location)
    return f"{name}{ring}" + ("" if location is None else f" ({location})")


def _ring_text(ring: Ring) -> str:
    made = ring.channel
    slots = "one slot" if made.stages == 1 else f"{made.stages} slots"
    return f"the ring of {slots} from {made.producer} to {', '.join(made.consumer_names)}"
