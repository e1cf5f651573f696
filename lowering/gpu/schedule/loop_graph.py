"""The operations of a loop and their dependences, before their costs are final.

An operation is one of tile_gpu, or a run of those on elements, whose instructions the assembler mixes.
"""

from __future__ import annotations

import enum
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import GetOp, PutCommitOp
from tilec.dialect.tile_gpu.operations.memory import StoreTensorMemoryOp
from tilec.lowering.gpu.cost.operation_cost import cost_of_work
from tilec.lowering.gpu.loops.loop_parts import LoopPart, steps_in_front
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import NO_WORK, Step
from tilec.lowering.schedule.costs import MBARRIER, NAMED_BARRIER, Cost
from tilec.lowering.schedule.parts import Kind

_STORE = StoreTensorMemoryOp.OPERATION_NAME
_GET, _COMMIT = GetOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME

# The steps before the loop of a part, by name and channel.
_CountSteps = Callable[[LoopPart], Counter[tuple[str, ir.Value]]]


@dataclass(eq=False)
class Node:
    """An operation of the problem.

    Attributes:
        part: the loop with it.
        kind: its class.
        ahead: the iterations that it is ahead.
        members: its operations of tile_gpu, with the clocks of each.
        fixed: its cost; None for a run of operations on elements while it is read.
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
        place: the channel that has the place.
        taken: the channel that last handed the place over to its role.
        given: the channel that hands the place over after it.
    """

    node: Node
    is_multiply: bool
    place: ir.Value
    taken: ir.Value | None
    given: ir.Value | None = None


@dataclass
class Round:
    """The use of one slot of a channel by a part of a loop.

    Attributes:
        ahead: the iterations that it is ahead.
        nodes: the operations that fill the slot or use it, and what of them ends the use.
    """

    ahead: int
    nodes: dict[Node, Wait] = field(default_factory=dict)


# The producers and the consumers of each round of a channel.
Rounds = list[tuple[list[Node], dict[Node, Wait]]]


def in_order(rounds: list[Round]) -> list[Round]:
    """The rounds of an iteration in their order, from those in program order, of which some may be ahead."""
    before = sum(each.ahead for each in rounds)
    numbers = [place + before - len(rounds) * each.ahead for place, each in enumerate(rounds)]
    return [each for _, each in sorted(zip(numbers, rounds, strict=True), key=lambda pair: pair[0])]


@dataclass
class LoopGraph:
    """The operations and the dependences of one loop, collected from its parts.

    Attributes:
        nodes: the operations, those of a part in program order.
        links: the dependences.
        producers: for each channel and part, the operations that fill a slot, by round.
        consumers: those that use a slot.
        accesses: the accesses of each buffer outside of channels in order, and whether they write it.
        handed_over: those of each buffer in a place that threads and multiplies alternately use.
        ordered: the first and the last of the operations that warpgroups execute one after the other, by warpgroup.
    """

    nodes: list[Node] = field(default_factory=list)
    links: dict[Link, None] = field(default_factory=dict)
    producers: defaultdict[ir.Value, list[list[Round]]] = field(default_factory=lambda: defaultdict(list))
    consumers: defaultdict[ir.Value, list[list[Round]]] = field(default_factory=lambda: defaultdict(list))
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
            distance = int(number == 0) + first.ahead - before.ahead
            self.add_link(Link(before, first, distance, NAMED_BARRIER, wait=Wait.ISSUE))

    def link_uses(self) -> None:
        """Operations of a role that use one slot, or one place, keep their order, as the steps around them do."""
        of_channels = itertools.chain(self.producers.values(), self.consumers.values())
        uses = [list(each.nodes) for parts in of_channels for rounds in parts for each in rounds]
        of_parts: defaultdict[tuple[str, ir.Value], list[Node]] = defaultdict(list)
        for access in itertools.chain.from_iterable(self.handed_over.values()):
            of_parts[access.node.part.role, access.place].append(access.node)
        numbers = {node: number for number, node in enumerate(self.nodes)}
        for nodes in (*uses, *of_parts.values()):
            ordered = sorted(set(nodes), key=numbers.__getitem__)
            for first, second in itertools.pairwise(ordered):
                self._link_starts(first, second, 0)
            if nodes:
                self._link_starts(ordered[-1], ordered[0], 1)

    def _link_starts(self, first: Node, second: Node, iterations: int) -> None:
        """In program order one operation starts after another one of some iterations of the loop before."""
        distance = iterations + second.ahead - first.ahead
        known = ((link.source, link.target, link.distance) for link in self.links)
        if distance >= 0 and all(each[:2] != (first, second) or each[2] > distance for each in known):
            self.add_link(Link(first, second, distance, wait=Wait.START))

    def link_memory(self) -> None:
        """Adds the dependences through tensor memory and buffers outside of channels, when all parts are read."""
        self._link_places()
        for accesses in self.accesses.values():
            self._link_accesses(accesses)

    def _link_places(self) -> None:
        """If nothing else tells, threads access a buffer before the multiplies if they write it then, else after them.

        A buffer in the place of another one is written in the next iteration when multiplies have read the other.
        """
        writers: list[Access] = []
        readers: list[Access] = []
        steps = cache(steps_in_front)
        for accesses in self.handed_over.values():
            threads = [access for access in accesses if not access.is_multiply]
            multiplies = [access for access in accesses if access.is_multiply]
            before = any(op.name == _STORE for access in threads for op, _ in access.node.members)
            for first, second, distance in _hand_overs(threads, multiplies, int(not before), steps):
                self.add_link(Link(first, second, distance, MBARRIER))
            for first, second, distance in _hand_overs(multiplies, threads, int(before), steps):
                self.add_link(Link(first, second, distance, MBARRIER))
            if before:
                readers += multiplies[-1:]
            else:
                writers += multiplies[:1]
        for reader, writer in itertools.product(readers, writers):
            if reader.place == writer.place:
                # Multiplies are executed in the order in which they are issued.
                self.add_link(Link(reader.node, writer.node, 1, MBARRIER, wait=Wait.UNITS))

    def _link_accesses(self, accesses: Sequence[tuple[Node, bool]]) -> None:
        """Reads of a buffer outside of channels wait for the writes before them, and writes for the reads."""
        phases = [list(group) for _, group in itertools.groupby(accesses, key=lambda access: access[1])]
        for number, phase in enumerate(phases):
            # The first phase of the next iteration follows the last one.
            following, distance = (phases[number + 1], 0) if number + 1 < len(phases) else (phases[0], 1)
            if following is not phase:
                for (first, _), (second, _) in itertools.product(phase, following):
                    self.add_link(Link(first, second, distance, MBARRIER))

    def channels(self) -> dict[ir.Value, Rounds]:
        """The producers and the consumers of each round of the channels that have both.

        Parts with different numbers of rounds, as with one in each branch, count as one round.
        """
        found = {}
        for channel, parts in self.producers.items():
            others = self.consumers[channel]
            numbers = {len(rounds) for rounds in (*parts, *others)}
            single: Rounds = [(list(_nodes(parts, 0, 1)), _nodes(others, 0, 1))]
            several: Rounds = [
                (list(_nodes(parts, n, number)), _nodes(others, n, number)) for number in numbers for n in range(number)
            ]
            rounds = several if len(numbers) == 1 and all(map(all, several)) else single
            if all(rounds[0]):
                found[channel] = rounds
        return found

    def link_channel(self, rounds: Rounds, slots: int) -> None:
        """Consumers of a round wait for its producers; of several rounds, each waits for the one `slots` before it."""
        for number, (producers, consumers) in enumerate(rounds):
            # The source of the ring is its first producer.
            for producer in producers:
                self.add_link(Link(producers[0], producer, wait=Wait.START))
            for producer, consumer in itertools.product(producers, consumers):
                self.add_link(Link(producer, consumer, cross=MBARRIER))
            if len(rounds) > 1:
                iteration, before = divmod(number - slots, len(rounds))
                for consumer, wait in rounds[before][1].items():
                    self.add_link(Link(consumer, producers[0], -iteration, wait=wait))


def _nodes(parts: list[list[Round]], first: int, step: int) -> dict[Node, Wait]:
    """The operations of some rounds of all parts."""
    return {node: wait for rounds in parts for each in rounds[first::step] for node, wait in each.nodes.items()}


def _hand_overs(
    givers: list[Access], takers: list[Access], usual: int, steps: _CountSteps
) -> list[tuple[Node, Node, int]]:
    """The accesses that a channel orders, one of each part of a divided buffer; else the last and the first one.

    The third element is the number of iterations between them, the usual one if no channel tells.
    """
    found = [
        (giver.node, taker.node, _iterations_between(giver.node, taker.node, giver.given, steps))
        for giver, taker in itertools.product(givers, takers)
        if giver.given is not None and taker.taken is not None and giver.given == taker.taken
    ]
    return found or [(giver.node, taker.node, usual) for giver, taker in zip(givers[-1:], takers[:1], strict=False)]


def _iterations_between(giver: Node, taker: Node, channel: ir.Value, steps: _CountSteps) -> int:
    """The iterations between a put and its get: one for each put before the loop whose get is in the loop."""
    puts = steps(giver.part)[_COMMIT, channel] - giver.ahead
    gets = steps(taker.part)[_GET, channel] - taker.ahead
    return puts - gets
