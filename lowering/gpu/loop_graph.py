"""The operations of a loop and their dependences, before their costs are final.

An operation is one of tile_gpu, or a run of those on elements, whose instructions the assembler mixes.
"""

from __future__ import annotations

import enum
import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.lowering.gpu.handed_place import handed_place
from tilec.lowering.gpu.loop_parts import LoopPart
from tilec.lowering.gpu.operation_cost import cost_of_work
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import NO_WORK, Step
from tilec.lowering.schedule.costs import MBARRIER, NAMED_BARRIER, Cost
from tilec.lowering.schedule.parts import Kind

_STORE = "tile_gpu.store_tensor_memory"


@dataclass(eq=False)
class Node:
    """An operation of the problem.

    Attributes:
        part: the loop with it.
        kind: its class.
        ahead: the iterations that it is ahead.
        members: its operations of tile_gpu, with the clocks of each.
        fixed: its cost; None for a run of operations on elements.
        work: the work of such a run.
        reduced: the results of reductions in it, and what depends on them without work.
    """

    part: LoopPart
    kind: Kind
    ahead: int
    members: list[tuple[ir.Operation, float]] = field(default_factory=list)
    fixed: Cost | None = None
    work: Step = NO_WORK
    reduced: set[ir.Value] = field(default_factory=set)
    name: str = ""

    def cost(self, device: Device) -> Cost:
        return cost_of_work(self.work, self.part.warps, device) if self.fixed is None else self.fixed


class Wait(enum.Enum):
    """What of the source of a dependence its target waits for: its start, its issue, its units, or its result."""

    START = enum.auto()
    ISSUE = enum.auto()
    UNITS = enum.auto()
    RESULT = enum.auto()

    def clocks(self, cost: Cost) -> int:
        if self == Wait.RESULT:
            return cost.latency
        if self == Wait.ISSUE:
            return cost.duration
        return max((use.busy for use in cost.uses), default=0) if self == Wait.UNITS else 0


@dataclass(frozen=True)
class Link:
    """A dependence of two operations; its latency is known when all of them have their final cost."""

    source: Node
    target: Node
    distance: int = 0
    cross: int = 0
    moved_kb: int = 0
    is_same: bool = False
    wait: Wait = Wait.RESULT


@dataclass
class Access:
    """An access of a place in tensor memory that threads and multiplies hand over to each other.

    Attributes:
        node: the operation.
        is_multiply: whether it is a multiply, or a copy that is ordered with them.
        taken: the channel that last handed the place over to its role.
        given: the channel that hands the place over after it.
    """

    node: Node
    is_multiply: bool
    taken: ir.Value | None
    given: ir.Value | None = None


@dataclass
class LoopGraph:
    """The operations and the dependences of one loop, collected from its parts.

    Attributes:
        nodes: the operations, those of a part in program order.
        links: the dependences.
        slots: the channel of each slot, and whether its producer has it.
        producers: the operations that fill a slot of each channel.
        consumers: those that use a slot.
        accesses: the accesses of each buffer outside of channels in order, and whether they write it.
        handed_over: those of each buffer in a place that threads and multiplies alternately use.
        ordered: the first and the last of the operations that warpgroups execute one after the other, by warpgroup.
    """

    nodes: list[Node] = field(default_factory=list)
    links: dict[Link, None] = field(default_factory=dict)
    slots: dict[ir.Value, tuple[ir.Value, bool]] = field(default_factory=dict)
    producers: defaultdict[ir.Value, list[Node]] = field(default_factory=lambda: defaultdict(list))
    consumers: defaultdict[ir.Value, list[Node]] = field(default_factory=lambda: defaultdict(list))
    accesses: defaultdict[ir.Value, list[tuple[Node, bool]]] = field(default_factory=lambda: defaultdict(list))
    handed_over: defaultdict[ir.Value, list[Access]] = field(default_factory=lambda: defaultdict(list))
    ordered: list[tuple[Node, Node]] = field(default_factory=list)

    def add_link(self, link: Link) -> None:
        if link.source is not link.target:
            self.links[link] = None

    def link_order(self) -> None:
        """A warpgroup starts what is ordered when the one before it has issued it; the first one an iteration later."""
        for number, (first, _) in enumerate(self.ordered):
            _, before = self.ordered[number - 1]
            self.add_link(Link(before, first, int(number == 0), NAMED_BARRIER, wait=Wait.ISSUE))

    def link_memory(self) -> None:
        """Adds the dependences through tensor memory and buffers outside of channels, when all parts are read."""
        self._link_places()
        for accesses in self.accesses.values():
            self._link_accesses(accesses)

    def _link_places(self) -> None:
        """Threads access a buffer before the multiplies of an iteration if they write it then, else after them.

        A buffer in the place of another one is written in the next iteration when multiplies have read the other.
        """
        writers: list[tuple[ir.Value | None, Node]] = []
        readers: list[tuple[ir.Value | None, Node]] = []
        for channel, accesses in self.handed_over.items():
            threads = [access for access in accesses if not access.is_multiply]
            multiplies = [access for access in accesses if access.is_multiply]
            before = any(op.name == _STORE for access in threads for op, _ in access.node.members)
            for first, second in _hand_overs(threads, multiplies):
                self.add_link(Link(first, second, int(not before), MBARRIER))
            for first, second in _hand_overs(multiplies, threads):
                self.add_link(Link(first, second, int(before), MBARRIER))
            if before:
                readers += [(handed_place(channel), access.node) for access in multiplies[-1:]]
            else:
                writers += [(handed_place(channel), access.node) for access in multiplies[:1]]
        for (place, reader), (other_place, writer) in itertools.product(readers, writers):
            if place == other_place:
                # Multiplies are executed in the order in which they are issued.
                self.add_link(Link(reader, writer, 1, MBARRIER, wait=Wait.UNITS))

    def _link_accesses(self, accesses: Sequence[tuple[Node, bool]]) -> None:
        """Reads of a buffer outside of channels wait for the writes before them, and writes for the reads."""
        phases = [list(group) for _, group in itertools.groupby(accesses, key=lambda access: access[1])]
        for number, phase in enumerate(phases):
            # The first phase of the next iteration follows the last one.
            following, distance = (phases[number + 1], 0) if number + 1 < len(phases) else (phases[0], 1)
            if following is not phase:
                for (first, _), (second, _) in itertools.product(phase, following):
                    self.add_link(Link(first, second, distance, MBARRIER))

    def link_channel(self, channel: ir.Value) -> None:
        """Consumers of a channel wait for its producers."""
        producers = dict.fromkeys(self.producers[channel])
        # The source of the ring is its first producer.
        for producer in producers:
            self.add_link(Link(self.producers[channel][0], producer, wait=Wait.START))
        for producer, consumer in itertools.product(producers, dict.fromkeys(self.consumers[channel])):
            self.add_link(Link(producer, consumer, cross=MBARRIER))


def _hand_overs(givers: list[Access], takers: list[Access]) -> list[tuple[Node, Node]]:
    """The accesses that a channel orders, one of each part of a divided buffer; else the last and the first one."""
    found = [
        (giver.node, taker.node)
        for giver, taker in itertools.product(givers, takers)
        if giver.given is not None and giver.given == taker.taken
    ]
    return found or [(giver.node, taker.node) for giver, taker in zip(givers[-1:], takers[:1], strict=False)]
