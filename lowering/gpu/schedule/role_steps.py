"""The steps of the roles of a kernel on their channels, and the loops and branches around them, in program order.

A loop may be read as if it had a schedule: operations that are iterations ahead are then before it, too, and the
others of its last iterations after it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS_AND_SKIPS
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.channel import GetOp, MakeChannelOp, PutBeginOp, PutCommitOp, ReleaseOp, SkipOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import OrderSignalOp, OrderWaitOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.upstream_predicates import predicate_of
from tilec.dialect.walk import operations_in
from tilec.lowering.gpu.cost.loop_work import known_iterations
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.loops.loop_attributes import iterations_ahead
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP

PUT, COMMIT = PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME
GET, RELEASE = GetOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME
SKIP = SkipOp.OPERATION_NAME
ORDER_WAIT, ORDER_SIGNAL = OrderWaitOp.OPERATION_NAME, OrderSignalOp.OPERATION_NAME
_ORDER = (ORDER_WAIT, ORDER_SIGNAL)
_OF_CONSUMERS = (GET, RELEASE, SKIP)


@dataclass(frozen=True, eq=False)
class Ring:
    """The slots that the channels of a ring share.

    Attributes:
        channel: the operation that makes the first of the channels.
        slots: their number; None if nothing waits for an empty one.
        consumers: the number of consumers.
    """

    channel: MakeChannelOp
    slots: int | None
    consumers: int

    @classmethod
    def of(cls, channel: MakeChannelOp) -> Ring:
        slots = channel.stages if channel.reuse == "ring" else None
        return cls(channel, slots, len(channel.consumer_names))

    @cached_property
    def commits(self) -> Party:
        """The party that fills the slots."""
        return self, COMMIT, 0

    @cached_property
    def releases(self) -> list[Party]:
        """The parties whose releases a put waits for."""
        return [] if self.slots is None else [(self, RELEASE, number) for number in range(self.consumers)]

    @property
    def parties(self) -> list[Party]:
        """The parties that wait for others, or that others wait for."""
        return [self.commits, *((self, GET, number) for number in range(self.consumers)), *self.releases]


# Who executes a step.
Party = tuple[Ring | None, str, int]


@dataclass(frozen=True, eq=False)
class Step:
    """A step of a producer, or of the consumer of a number, or of a warpgroup in the order of its role.

    Attributes:
        name: the name of the operation.
        op: the operation.
        ring: the ring of its channel; None for the order of warpgroups.
        consumer: the number of the consumer.
        waits: whether a put waits for its slot; those of the first round find it empty.
    """

    name: str
    op: ir.Operation
    ring: Ring | None = None
    consumer: int = 0
    waits: bool = True

    @cached_property
    def party(self) -> Party:
        """Its ring, the name of the steps that are counted with it, its consumer; a put counts with its commit."""
        return self.ring, COMMIT if self.name == PUT else self.name, self.consumer


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop.

    Attributes:
        name: its id, and its number among those of its role with that id, which are the same in all roles.
        ahead: the iterations that are before it or after it.
        total: these and its own, if they are known.
        body: what it contains.
    """

    name: str
    ahead: int
    total: int | None
    body: tuple[Item, ...]

    @property
    def is_alternate(self) -> bool:
        """Whether another role has every other iteration, whose slots this one skips."""
        return any(isinstance(item, Step) and item.name == SKIP for item in self.body)


@dataclass(frozen=True, eq=False)
class Branch:
    """A branch with its regions.

    Attributes:
        id: its id, which all roles have; None for a branch that a pass made, which takes its first region.
        regions: what it contains.
        skips_first: whether the first iteration of the loop around it has nothing of it.
    """

    id: int | None
    regions: tuple[tuple[Item, ...], ...]
    skips_first: bool = False


Item = Step | Loop | Branch


@dataclass(frozen=True)
class Role:
    """The code of a role, without branches and loops that have no steps; `groups` is the number of its warpgroups."""

    name: str
    items: tuple[Item, ...]
    groups: int

    @property
    def is_ordered(self) -> bool:
        """Whether its warpgroups wait for each other."""
        return any(step.name in _ORDER for step in steps(self.items))


def read_roles(kernel: KernelOp, orders: Mapping[ir.Operation, LoopOrder] | None = None) -> list[Role]:
    """The roles of a kernel that has some, the loops with `orders` as if they were rewritten so."""
    roles = kernel.roles
    assert roles is not None, "kernels with roles are read"
    rings: dict[ir.Value, Ring] = {}
    return [
        Role(name, _Reader(rings, orders or {}).read(region.blocks[0]), warps // WARPS_OF_A_GROUP)
        for (name, region), warps in zip(roles.bodies.items(), roles.warps, strict=True)
    ]


class _Reader:
    """Reads the code of one role; `rings` has the ring of each channel that was met."""

    def __init__(self, rings: dict[ir.Value, Ring], orders: Mapping[ir.Operation, LoopOrder]) -> None:
        self._rings, self._orders = rings, orders
        self._numbers: Counter[int | None] = Counter()

    def read(self, block: ir.Block) -> tuple[Item, ...]:
        return tuple(item for op in operations_in(block) for item in self._items(op))

    def _items(self, op: ir.Operation) -> tuple[Item, ...]:
        name = op.name
        if name in STEPS_AND_SKIPS:
            consumer = op.opview.consumer if name in _OF_CONSUMERS else 0
            return (Step(name, op, self._ring(op.operands[0]), consumer, "first_round" not in op.attributes),)
        if name in _ORDER:
            return (Step(name, op),)
        if name in LOOPS:
            return self._loop(op)
        if name == "scf.if":
            regions = tuple(self.read(region.blocks[0]) if len(region.blocks) else () for region in op.regions)
            return (Branch(id_of(op), regions, _skips_first(op)),) if any(regions) else ()
        return ()

    def _loop(self, op: ir.Operation) -> tuple[Item, ...]:
        """A loop; what a condition contains is executed once more than the body of its scf.while."""
        id, ahead, known = id_of(op), iterations_ahead(op), known_iterations(op.opview)
        name = f"{id} {self._numbers[id]}"
        self._numbers[id] += 1
        total = None if known is None else known + ahead
        order = self._orders.get(op)
        if order is not None:
            return self._scheduled(order, name, ahead, total)
        *conditions, body = (self.read(region.blocks[0]) for region in op.regions)
        first = tuple(itertools.chain(*conditions))
        return (*first, Loop(name, ahead, total, (*body, *first))) if first or body else ()

    def _scheduled(self, order: LoopOrder, name: str, ahead: int, total: int | None) -> tuple[Item, ...]:
        body = [(self._items(op), count) for op, count in order]
        most = max(count for _, count in body)
        front = (items for number in range(most) for items, count in body if number + count >= most)
        back = (items for number in range(most) for items, count in body if number + count < most)
        loop = Loop(name, ahead + most, total, tuple(itertools.chain.from_iterable(items for items, _ in body)))
        return (*itertools.chain.from_iterable(front), loop, *itertools.chain.from_iterable(back))

    def _ring(self, channel: ir.Value) -> Ring:
        found = self._rings.get(channel)
        if found is None:
            made = channel.owner.opview
            found = self._rings[channel] = self._ring(made.shares) if made.continues else Ring.of(made)
        return found


def _skips_first(branch: ir.Operation) -> bool:
    """Whether the condition of a branch is that the counter of a loop is not, or is above, its lower bound."""
    condition = branch.operands[0].owner
    if isinstance(condition, ir.Block) or condition.operation.name != "arith.cmpi":
        return False
    left, right = condition.operation.operands
    predicate = predicate_of(condition.operation)
    return predicate == "ne" and _starts_at(left, right) or predicate == "ult" and _starts_at(right, left)


def _starts_at(counter: ir.Value, lower: ir.Value) -> bool:
    """Whether a value is the counter of a loop from `lower` on."""
    block = counter.owner
    if not isinstance(block, ir.Block) or block.owner.operation.name != "scf.for":
        return False
    return counter == block.arguments[0] and block.owner.operation.operands[0] == lower


def steps(items: Sequence[Item]) -> Iterator[Step]:
    """The steps in some code."""
    return (item for item in _all(items, lambda item: True) if isinstance(item, Step))


def steps_outside_of_loops(items: Sequence[Item]) -> Iterator[Step]:
    """The steps in some code that no loop in it contains."""
    return (item for item in _all(items, lambda item: not isinstance(item, Loop)) if isinstance(item, Step))


def loops(items: Sequence[Item]) -> Iterator[Loop]:
    """The loops in some code, each before those inside of it."""
    return (item for item in _all(items, lambda item: True) if isinstance(item, Loop))


def _all(items: Sequence[Item], is_entered: Callable[[Item], bool]) -> Iterator[Item]:
    """All items in some code, each before those inside of it, if it is entered."""
    for item in items:
        yield item
        if isinstance(item, Branch) and is_entered(item):
            yield from itertools.chain.from_iterable(_all(region, is_entered) for region in item.regions)
        elif isinstance(item, Loop) and is_entered(item):
            yield from _all(item.body, is_entered)
