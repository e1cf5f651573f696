"""Whether the roles of a kernel end, as far as they wait for each other: their steps on channels, executed in order.

Every loop has a few iterations, less those that are in front of it or behind it. Branches take their first region;
then those of one place in the source, in all roles, take the other one, always or in every other execution.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_inside, operations_named
from tilec.lowering.gpu.enclosing import LOOPS, body_of
from tilec.lowering.gpu.iterations_ahead import iterations_ahead
from tilec.lowering.gpu.loop_work import known_iterations

# More than operations are ahead; a loop has more than the longest ring has slots.
_LEAST_ITERATIONS = 7
# Loops of so many iterations have just these.
_MOST_KNOWN = 16
_PUT, _COMMIT, _GET, _RELEASE = "tile_gpu.put_begin", "tile_gpu.put_commit", "tile_gpu.get", "tile_gpu.release"
_STEPS = (_PUT, _COMMIT, _GET, _RELEASE)


@dataclass(frozen=True)
class _Step:
    """A step on a ring: of its producer, or of the consumer of a number."""

    name: str
    ring: ir.Value
    consumer: int = 0


def roles_progress(kernel: KernelOp, before: KernelOp) -> bool:
    """Whether all roles end wherever they did `before` a change of their order.

    Conditions of branches are not read: what passes make, as the branch around a loop that has an iteration less, has
    no other region to take, and a kernel that ends neither way tells nothing. False, too, for kernels whose roles pass
    over slots of each other (`skip`).
    """
    return bool(_ends(kernel, _ALL_FIRST)) and all(
        _ends(kernel, choice) or not _ends(before, choice) for choice in _choices(before)
    )


def roles_wait_for_ever(kernel: KernelOp) -> bool:
    """Whether roles whose loops are reordered wait for each other although branches take their first region."""
    roles = kernel.roles
    loops = [] if roles is None else [op for op in operations_inside(roles) if op.name in LOOPS]
    return any(map(iterations_ahead, loops)) and _ends(kernel, _ALL_FIRST) is False


@dataclass(frozen=True)
class _Choice:
    """The executions of branches that take the second region: at some places each one, or every `period`-th."""

    places: tuple[str, ...] = ()
    period: int = 1

    def region(self, place: str, execution: int) -> int:
        return int(place in self.places and execution % self.period == 0)


_ALL_FIRST = _Choice()


def _choices(kernel: KernelOp) -> Iterator[_Choice]:
    """The choices of branches with steps: those of one place, and of two, as one may be inside of the other."""
    branches = (op for op in operations_inside(kernel) if op.name == "scf.if")
    found = {str(op.location) for op in branches if any(inner.name in _STEPS for inner in operations_inside(op))}
    for places in (*itertools.combinations(sorted(found), 1), *itertools.combinations(sorted(found), 2)):
        yield _Choice(places, 1)
        yield _Choice(places, 2)


def _ends(kernel: KernelOp, choice: _Choice) -> bool | None:
    """Whether all roles end if branches take the regions of a choice; None if roles pass over slots of each other."""
    roles = kernel.roles
    if roles is None:
        return True
    channels = [op.operation.opview for op in operations_named(kernel, ("tile_gpu.make_channel",))]
    iterations = max([_LEAST_ITERATIONS, *(channel.stages + 2 for channel in channels)])
    threads = []
    for region in roles.bodies.values():
        steps = list(_steps(region.blocks[0], choice, iterations, Counter()))
        if any(step is None for step in steps):
            return None
        threads.append([step for step in steps if step is not None])
    return _Channels().end(threads)


def _steps(block: ir.Block, choice: _Choice, iterations: int, executions: Counter[str]) -> Iterator[_Step | None]:
    """The steps of a block in the order of execution; None for a skip. Counts the executions of branches by place."""
    for op in (each.operation for each in block.operations):
        if op.name == "tile_gpu.skip":
            yield None
        elif op.name in _STEPS:
            channel, has_consumer = op.operands[0], op.name in (_GET, _RELEASE)
            is_waiting = op.name != _PUT or "first_round" not in op.attributes
            if is_waiting:
                yield _Step(op.name, _ring(channel), op.opview.consumer if has_consumer else 0)
        elif op.name in LOOPS:
            count = _count(op, iterations)
            if choice.places:
                for _ in range(count):
                    yield from _steps(body_of(op), choice, iterations, executions)
            else:
                # All iterations are alike.
                yield from list(_steps(body_of(op), choice, iterations, executions)) * count
        elif op.name == "scf.if":
            place = str(op.location)
            region = op.regions[choice.region(place, executions[place])]
            executions[place] += 1
            for inner in region.blocks:
                yield from _steps(inner, choice, iterations, executions)


def _count(loop: ir.Operation, iterations: int) -> int:
    """The iterations of a loop: those that it has, if they are known and few, as others may be without their loop."""
    ahead, known = iterations_ahead(loop), known_iterations(loop.opview)
    return known if known is not None and known + ahead <= _MOST_KNOWN else iterations - ahead


def _ring(channel: ir.Value) -> ir.Value:
    """The first channel of a ring."""
    made = channel.owner.opview
    return _ring(made.shares) if made.continues else channel


@dataclass
class _Channels:
    """What the parties of channels have done, by ring, and by consumer; the slots of rings, and their consumers."""

    filled: defaultdict[ir.Value, int] = field(default_factory=lambda: defaultdict(int))
    got: defaultdict[tuple[ir.Value, int], int] = field(default_factory=lambda: defaultdict(int))
    released: defaultdict[tuple[ir.Value, int], int] = field(default_factory=lambda: defaultdict(int))
    sizes: dict[ir.Value, tuple[int | None, int]] = field(default_factory=dict)

    def end(self, roles: list[list[_Step]]) -> bool:
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

    def _can(self, step: _Step) -> bool:
        if step.name == _GET:
            return self.filled[step.ring] > self.got[step.ring, step.consumer]
        if step.name != _PUT:
            return True
        if step.ring not in self.sizes:
            made = step.ring.owner.opview
            stages = made.stages if made.reuse == "ring" else None
            self.sizes[step.ring] = stages, len(made.operation.attributes["consumers"])
        stages, consumers = self.sizes[step.ring]
        if stages is None:
            return True
        return self.filled[step.ring] - min([self.released[step.ring, each] for each in range(consumers)]) < stages

    def _execute(self, step: _Step) -> None:
        if step.name == _COMMIT:
            self.filled[step.ring] += 1
        elif step.name == _GET:
            self.got[step.ring, step.consumer] += 1
        elif step.name == _RELEASE:
            self.released[step.ring, step.consumer] += 1
