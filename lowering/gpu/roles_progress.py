"""Whether the roles of a kernel end, as far as they wait for each other: their steps on channels, executed in order.

Branches take their first region; then those of one id, in all roles, take the other one, always or in every other
execution. Loops have a few iterations, as far as all of this together is soon executed.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import MakeChannelOp
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.enclosing import LOOPS
from tilec.lowering.gpu.iterations_ahead import iterations_ahead
from tilec.lowering.gpu.role_steps import (
    ALL_FIRST,
    COMMIT,
    GET,
    PUT,
    RELEASE,
    Branch,
    Choice,
    Loop,
    Step,
    branches,
    loops,
    read_roles,
    size,
    steps_outside_of_loops,
    unrolled,
)
from tilec.lowering.gpu.unlike_roles import SKIP

# More than operations are ahead; a loop has more than the longest ring has slots.
_LEAST_ITERATIONS = 7
# Loops of so many iterations have just these.
_MOST_KNOWN = 16
# Iterations of loops around other loops, if all of their iterations would take too long.
_FEW_ITERATIONS = 3
# The steps that are executed in half a second.
_MOST_STEPS = 500_000


def roles_progress(kernel: KernelOp, before: KernelOp) -> bool:
    """Whether all roles end wherever they did `before` a change of their order.

    Conditions of branches are not read: what passes make, as the branch around a loop that has an iteration less, has
    no other region to take, and a kernel that ends neither way tells nothing. False, too, for kernels whose roles pass
    over slots of each other (`skip`), and for those whose steps take too long to execute.
    """
    if kernel.roles is None:
        return True
    after, known = _Code(kernel), _Code(before)
    for outer in (None, max(after.few_iterations, known.few_iterations)):
        steps = after.steps(outer) + known.steps(outer)
        for choices in (list(known.choices()), list(known.nested_choices())):
            if (1 + len(choices)) * steps <= _MOST_STEPS:
                return bool(after.ends(ALL_FIRST, outer)) and all(
                    after.ends(choice, outer) or not known.ends(choice, outer) for choice in choices
                )
    return False


def roles_wait_for_ever(kernel: KernelOp) -> bool:
    """Whether roles whose loops are reordered wait for each other although branches take their first region.

    False if their steps take too long to execute.
    """
    roles = kernel.roles
    operations = [] if roles is None else operations_inside(roles)
    if not any(iterations_ahead(op) for op in operations if op.name in LOOPS):
        return False
    code = _Code(kernel)
    for outer in (None, code.few_iterations):
        if code.steps(outer) <= _MOST_STEPS:
            return code.ends(ALL_FIRST, outer) is False
    return False


class _Code:
    """The code of the roles of a kernel; `outer` is the most iterations of loops around other loops, None for all."""

    def __init__(self, kernel: KernelOp) -> None:
        self.roles = read_roles(kernel)
        rings = {op.operation.results[0]: op for op in kernel.body.blocks[0].operations if _is_channel(op)}
        self._slots = {channel: op.stages for channel, op in rings.items()}
        self._iterations = max([_LEAST_ITERATIONS, *(slots + 2 for slots in self._slots.values())])
        # A role may have a loop without the loops that are inside of it in others.
        self._outer = {loop.name for loop in self._loops() if next(loops(loop.body), None) is not None}

    def _loops(self) -> Iterator[Loop]:
        return itertools.chain.from_iterable(map(loops, self.roles))

    @property
    def few_iterations(self) -> int:
        """The least iterations of loops around others in which the rings that they step on themselves are full."""
        outer = [loop for loop in self._loops() if loop.name in self._outer]
        used = {step.ring for loop in outer for step in steps_outside_of_loops(loop.body)}
        slots = (self._slots[ring] + 2 for ring in used)
        return max([_FEW_ITERATIONS, *slots, *(loop.ahead + 2 for loop in outer)])

    def choices(self) -> Iterator[Choice]:
        """The choices of branches of one id, and of two."""
        ids = sorted(self._branches())
        return _both_periods((*itertools.combinations(ids, 1), *itertools.combinations(ids, 2)))

    def nested_choices(self) -> Iterator[Choice]:
        """The choices of branches of one id, and of two of which one is inside of the other."""
        found = self._branches()
        pairs = {
            (outer, inner.id)
            for outer, same in found.items()
            for region in itertools.chain.from_iterable(branch.regions for branch in same)
            for inner in branches(region)
            if inner.id is not None
        }
        return _both_periods((*((id,) for id in sorted(found)), *sorted(pairs)))

    def _branches(self) -> dict[int, list[Branch]]:
        """The branches of all roles by id, but those that passes make, which have no other region to take."""
        found: dict[int, list[Branch]] = {}
        for branch in itertools.chain.from_iterable(map(branches, self.roles)):
            if branch.id is not None:
                found.setdefault(branch.id, []).append(branch)
        return found

    def steps(self, outer: int | None) -> int:
        """The most steps of all roles together."""
        return sum(size(role, partial(self._count, outer)) for role in self.roles)

    def ends(self, choice: Choice, outer: int | None) -> bool | None:
        """Whether all roles end if branches take the regions of a choice; None if roles pass over slots of others."""
        iterations = partial(self._count, outer)
        steps = [unrolled(role, choice, iterations, Counter()) for role in self.roles]
        if any(step.name == SKIP for role in steps for step in role):
            return None
        return _Channels().end(steps)

    def _count(self, outer: int | None, loop: Loop) -> int:
        """The iterations of a loop: those that it has, if they are known and few, as others may be without theirs."""
        is_known = loop.known is not None and loop.known + loop.ahead <= _MOST_KNOWN
        total = (loop.known or 0) + loop.ahead if is_known else self._iterations
        if outer is not None and loop.name in self._outer:
            total = min(total, outer)
        return max(0, total - loop.ahead)


def _is_channel(op: ir.OpView) -> bool:
    return op.operation.name == MakeChannelOp.OPERATION_NAME


def _both_periods(ids: Sequence[tuple[int, ...]]) -> Iterator[Choice]:
    for each in ids:
        yield Choice(each, 1)
        yield Choice(each, 2)


@dataclass
class _Channels:
    """What the parties of channels have done, by ring, and by consumer; the slots of rings, and their consumers."""

    filled: defaultdict[ir.Value, int] = field(default_factory=lambda: defaultdict(int))
    got: defaultdict[tuple[ir.Value, int], int] = field(default_factory=lambda: defaultdict(int))
    released: defaultdict[tuple[ir.Value, int], int] = field(default_factory=lambda: defaultdict(int))
    sizes: dict[ir.Value, tuple[int | None, int]] = field(default_factory=dict)

    def end(self, roles: Sequence[Sequence[Step]]) -> bool:
        """Executes the steps of all roles until none can go on; returns whether they have ended."""
        following = [0] * len(roles)
        is_going_on = True
        while is_going_on:
            is_going_on = False
            for number, steps in enumerate(roles):
                while following[number] < len(steps) and self._can(steps[following[number]]):
                    self._execute(steps[following[number]])
                    following[number] += 1
                    is_going_on = True
        return all(count == len(steps) for count, steps in zip(following, roles, strict=True))

    def _can(self, step: Step) -> bool:
        if step.name == GET:
            return self.filled[step.ring] > self.got[step.ring, step.consumer]
        if step.name != PUT:
            return True
        if step.ring not in self.sizes:
            made = step.ring.owner.opview
            stages = made.stages if made.reuse == "ring" else None
            self.sizes[step.ring] = stages, len(made.consumer_names)
        stages, consumers = self.sizes[step.ring]
        if stages is None:
            return True
        return self.filled[step.ring] - min([self.released[step.ring, each] for each in range(consumers)]) < stages

    def _execute(self, step: Step) -> None:
        if step.name == COMMIT:
            self.filled[step.ring] += 1
        elif step.name == GET:
            self.got[step.ring, step.consumer] += 1
        elif step.name == RELEASE:
            self.released[step.ring, step.consumer] += 1
