"""The steps of the roles of a kernel on their channels, in the order of execution: read once, and unrolled often.

Loops have a few iterations, less those that are in front of them or behind them; branches take the regions of a choice.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS_AND_SKIPS
from tilec.dialect.tile_gpu.channel import GetOp, PutBeginOp, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.lowering.gpu.enclosing import LOOPS, body_of
from tilec.lowering.gpu.iterations_ahead import iterations_ahead
from tilec.lowering.gpu.loop_work import known_iterations

PUT, COMMIT = PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME
GET, RELEASE = GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME


@dataclass(frozen=True)
class Step:
    """A step on a ring: of its producer, or of the consumer of a number."""

    name: str
    ring: ir.Value
    consumer: int = 0


@dataclass(frozen=True)
class Loop:
    """A loop.

    Attributes:
        name: its id, and its number among those of its role with that id, which are the same in all roles.
        ahead: the iterations that are in front of it or behind it.
        known: its iterations, if they are known.
        body: what it contains.
    """

    name: str
    ahead: int
    known: int | None
    body: tuple[Item, ...]

    @cached_property
    def branches(self) -> frozenset[int]:
        """The ids of the branches inside."""
        return frozenset(branch.id for branch in branches(self.body) if branch.id is not None)


@dataclass(frozen=True)
class Branch:
    """A branch with its regions; those of one id are one branch in all roles. Passes make branches without an id."""

    id: int | None
    regions: tuple[tuple[Item, ...], ...]


Item = Step | Loop | Branch


@dataclass(frozen=True)
class Choice:
    """The executions of branches that take the second region: of some ids each one, or every `period`-th."""

    ids: tuple[int, ...] = ()
    period: int = 1

    def region(self, id: int | None, execution: int) -> int:
        return int(id in self.ids and execution % self.period == 0)


ALL_FIRST = Choice()


def read_roles(kernel: KernelOp) -> list[tuple[Item, ...]]:
    """The code of each role of a kernel with roles, without branches and loops that have no steps."""
    roles = kernel.roles
    assert roles is not None, "kernels with roles are read"
    rings: dict[ir.Value, ir.Value] = {}
    return [_Reader(rings).read(region.blocks[0]) for region in roles.bodies.values()]


class _Reader:
    """Reads the code of one role; `rings` has the first channel of the ring of each channel that was met."""

    def __init__(self, rings: dict[ir.Value, ir.Value]) -> None:
        self._rings = rings
        self._numbers: Counter[int | None] = Counter()

    def read(self, block: ir.Block) -> tuple[Item, ...]:
        found: list[Item] = []
        for op in (each.operation for each in block.operations):
            name = op.name
            if name in STEPS_AND_SKIPS:
                # Puts of the first round find their slots empty.
                if name != PUT or "first_round" not in op.attributes:
                    consumer = op.opview.consumer if name in (GET, RELEASE) else 0
                    found.append(Step(name, self._ring(op.operands[0]), consumer))
            elif name in LOOPS:
                id = id_of(op)
                number = self._numbers[id]
                self._numbers[id] += 1
                if body := self.read(body_of(op)):
                    known = known_iterations(op.opview)
                    found.append(Loop(f"{id} {number}", iterations_ahead(op), known, body))
            elif name == "scf.if":
                regions = tuple(self.read(region.blocks[0]) if len(region.blocks) else () for region in op.regions)
                if any(regions):
                    found.append(Branch(id_of(op), regions))
        return tuple(found)

    def _ring(self, channel: ir.Value) -> ir.Value:
        """The first channel of the ring of a channel."""
        if channel not in self._rings:
            made = channel.owner.opview
            self._rings[channel] = self._ring(made.shares) if made.continues else channel
        return self._rings[channel]


def branches(items: Sequence[Item]) -> Iterator[Branch]:
    """The branches in some code, each before those inside of it."""
    return (item for item in _all(items) if isinstance(item, Branch))


def loops(items: Sequence[Item]) -> Iterator[Loop]:
    """The loops in some code, each before those inside of it."""
    return (item for item in _all(items) if isinstance(item, Loop))


def _all(items: Sequence[Item]) -> Iterator[Item]:
    """All items in some code, each before those inside of it."""
    for item in items:
        yield item
        if isinstance(item, Branch):
            yield from itertools.chain.from_iterable(map(_all, item.regions))
        elif isinstance(item, Loop):
            yield from _all(item.body)


def steps_outside_of_loops(items: Sequence[Item]) -> Iterator[Step]:
    """The steps in some code that no loop in it contains."""
    for item in items:
        if isinstance(item, Step):
            yield item
        elif isinstance(item, Branch):
            for region in item.regions:
                yield from steps_outside_of_loops(region)


def size(items: Sequence[Item], iterations: Callable[[Loop], int]) -> int:
    """The most steps that `unrolled` returns."""
    total = 0
    for item in items:
        if isinstance(item, Loop):
            total += iterations(item) * size(item.body, iterations)
        elif isinstance(item, Branch):
            total += max(size(region, iterations) for region in item.regions)
        else:
            total += 1
    return total


def unrolled(
    items: Sequence[Item], choice: Choice, iterations: Callable[[Loop], int], executions: Counter[int | None]
) -> list[Step]:
    """The steps of some code in the order of execution; counts the executions of branches by id."""
    found: list[Step] = []
    for item in items:
        if isinstance(item, Step):
            found.append(item)
        elif isinstance(item, Branch):
            region = choice.region(item.id, executions[item.id])
            executions[item.id] += 1
            found += unrolled(item.regions[region], choice, iterations, executions)
        elif item.branches.isdisjoint(choice.ids):
            # All iterations are alike.
            found += unrolled(item.body, choice, iterations, executions) * iterations(item)
        else:
            for _ in range(iterations(item)):
                found += unrolled(item.body, choice, iterations, executions)
    return found
