"""The scheduling problem of each innermost loop of a kernel, and the order and the roles that the kernel has now.

A loop that is divided among roles is one problem: its parts are loops at one place that put and get the same channels.
Warpgroups of a role that do not wait for each other are roles of their own.

An operation of the problem is one of tile_gpu, or a run of those on elements, whose instructions the assembler mixes.
A run ends at a wait or a signal, and in front of what needs a reduction in it, as in the timeline (loop_work.py).
"""

from __future__ import annotations

import enum
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import COMPUTE, KernelOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import SHARED, TENSOR
from tilec.dialect.walk import operations_below
from tilec.errors import SourceLocation
from tilec.lowering.gpu.enclosing import LOOPS
from tilec.lowering.gpu.handed_place import handed_place
from tilec.lowering.gpu.iterations_ahead import iterations_ahead
from tilec.lowering.gpu.loop_names import loop_names
from tilec.lowering.gpu.loop_work import OVERLAPPED, is_barrier_step
from tilec.lowering.gpu.operation_cost import cost_of_work, table_cost, thread_work, tile_bytes
from tilec.lowering.gpu.operation_role import TENSOR_CORE_OPERATIONS
from tilec.lowering.gpu.operation_work import VisitedTiles
from tilec.lowering.gpu.shared_plan import ChannelPlan, SharedPlan, shared_plan
from tilec.lowering.gpu.unlike_roles import unlike_roles
from tilec.lowering.gpu.warpgroups import independent_warpgroups
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import NO_WORK, Step, cycles_alone
from tilec.lowering.schedule.costs import MBARRIER, Cost, moved
from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, RegisterValue
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.target import Target

# Larger values in registers stay in their role: a move would keep both roles busy, which the problem does not count.
_MOST_MOVED_KB = 1
# Operations of fewer clocks count as part of the operation before them.
_LEAST_CLOCKS = 16
_WARPS_OF_A_GROUP = 4
_GET, _COMMIT = "tile_gpu.get", "tile_gpu.put_commit"
_STORE, _TMA_STORE = "tile_gpu.store_tensor_memory", "tile_gpu.tma_store"
# Waits of threads outside of channels, which end a run.
_WAITS = ("tile_gpu.wgmma_wait", "tile_gpu.barrier", "tile_gpu.store_wait", "tile_gpu.skip")


@dataclass(frozen=True)
class LoopProblem:
    """A loop to schedule, with the roles and the slots that it has now.

    Attributes:
        location: the position of the loop in the source.
        problem: its scheduling problem.
        roles: the name of the present role of each operation.
        slots: the present number of slots of each buffer.
        ahead: the number of iterations that each operation is ahead of the others in its role.
    """

    location: SourceLocation | None
    problem: Problem
    roles: tuple[str, ...]
    slots: tuple[int, ...]
    ahead: tuple[int, ...]


@dataclass(frozen=True)
class _Part:
    """The loop of one role, for all of its warps or for one of its warpgroups.

    Attributes:
        role: the name of the role, with the number of the warpgroup if it has several.
        warps: the warps of the part.
        loop: the loop.
        groups: the warpgroups among which the work of the loop is divided.
    """

    role: str
    warps: int
    loop: ir.OpView
    groups: int = 1


def loop_problems(kernel: KernelOp, target: Target) -> list[LoopProblem]:
    """The problems of the innermost loops of a kernel after the passes of tile_gpu, in program order."""
    plan = shared_plan(kernel, target)
    found = []
    for parts in _loops(kernel):
        body = _Body(kernel, target, plan)
        for part in itertools.chain.from_iterable(map(_warpgroups, parts)):
            body.add(part)
        if len(body.nodes) > 1:
            found.append(body.result(parts[0].loop))
    return found


def _loops(kernel: KernelOp) -> list[list[_Part]]:
    """The innermost loops, those of all roles at one place together if they use the same channels."""
    groups: list[tuple[str, set[ir.Value], list[_Part]]] = []
    names = loop_names(kernel)
    for role, warps, block in _role_blocks(kernel):
        for op in (inner for top in block.operations for inner in (top, *operations_below(top))):
            if op.operation.name != "scf.for" or any(i.operation.name in LOOPS for i in operations_below(op)):
                continue
            channels = {inner.operation.operands[0] for inner in operations_below(op) if _is_step(inner.operation)}
            name = names[op.operation]
            together = [entry for entry in groups if entry[0] == name and entry[1] & channels]
            groups = [entry for entry in groups if entry not in together]
            parts = [part for _, _, entry in together for part in entry]
            of_all = channels.union(*(found for _, found, _ in together))
            groups.append((name, of_all, [*parts, _Part(role, warps, op)]))
    return [parts for _, _, parts in groups]


def _role_blocks(kernel: KernelOp) -> Iterator[tuple[str, int, ir.Block]]:
    block, roles = kernel.body.blocks[0], kernel.roles
    if roles is None:
        yield COMPUTE, kernel.warps, block
        return
    yield from unlike_roles(roles)


def _warpgroups(part: _Part) -> list[_Part]:
    """The warpgroups of a role, if they execute the loop without waiting for each other; else the role."""
    groups = independent_warpgroups(part.loop, part.warps)
    if groups == 1:
        return [part]
    return [_Part(f"{part.role}[{n}]", _WARPS_OF_A_GROUP, part.loop, groups) for n in range(groups)]


def _is_step(op: ir.Operation) -> bool:
    return op.name in ("tile_gpu.put_begin", _GET)


@dataclass(eq=False)
class _Node:
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

    part: _Part
    kind: Kind
    ahead: int
    members: list[tuple[ir.Operation, float]] = field(default_factory=list)
    fixed: Cost | None = None
    work: Step = NO_WORK
    reduced: set[ir.Value] = field(default_factory=set)
    name: str = ""

    def cost(self, device: Device) -> Cost:
        return cost_of_work(self.work, self.part.warps, device) if self.fixed is None else self.fixed


# What a value depends on: an operation, the iterations before, and the KB of what the operation passes on.
_Sources = tuple[tuple[_Node, int, int], ...]


class _Wait(enum.Enum):
    """What of the source of a dependence its target waits for: its start, its units, or its result."""

    START = enum.auto()
    UNITS = enum.auto()
    RESULT = enum.auto()

    def clocks(self, cost: Cost) -> int:
        if self == _Wait.RESULT:
            return cost.latency
        return max((use.busy for use in cost.uses), default=0) if self == _Wait.UNITS else 0


@dataclass(frozen=True)
class _Link:
    """A dependence of two operations; its latency is known when all of them have their final cost."""

    source: _Node
    target: _Node
    distance: int = 0
    cross: int = 0
    moved_kb: int = 0
    is_same: bool = False
    wait: _Wait = _Wait.RESULT


@dataclass
class _Access:
    """An access of a place in tensor memory that threads and multiplies hand over to each other.

    Attributes:
        node: the operation.
        is_multiply: whether it is a multiply, or a copy that is ordered with them.
        taken: the channel that last handed the place over to its role.
        given: the channel that hands the place over after it.
    """

    node: _Node
    is_multiply: bool
    taken: ir.Value | None
    given: ir.Value | None = None


@dataclass
class _Body:
    """The operations and the dependences of one loop, collected from the loops of its roles."""

    kernel: KernelOp
    target: Target
    plan: SharedPlan
    nodes: list[_Node] = field(default_factory=list)
    links: dict[_Link, None] = field(default_factory=dict)
    slots: dict[ir.Value, tuple[ir.Value, bool]] = field(default_factory=dict)
    producers: defaultdict[ir.Value, list[_Node]] = field(default_factory=lambda: defaultdict(list))
    consumers: defaultdict[ir.Value, list[_Node]] = field(default_factory=lambda: defaultdict(list))
    # The accesses of each buffer outside of channels in order, and whether they write it.
    accesses: defaultdict[ir.Value, list[tuple[_Node, bool]]] = field(default_factory=lambda: defaultdict(list))
    # The accesses of each buffer in a place that threads and multiplies alternately use.
    handed_over: defaultdict[ir.Value, list[_Access]] = field(default_factory=lambda: defaultdict(list))

    def add(self, part: _Part) -> None:
        """Adds the operations of the loop of one role."""
        _Reader(self, part).read()

    @property
    def device(self) -> Device:
        return device_of(self.target.name)

    def add_link(self, link: _Link) -> None:
        if link.source is not link.target:
            self.links[link] = None

    def result(self, loop: ir.OpView) -> LoopProblem:
        """The problem, with the dependences and the buffers of channels."""
        self._name_nodes()
        self._link_places()
        for accesses in self.accesses.values():
            self._link_accesses(accesses)
        rings = {channel: self.plan.channels[channel] for channel in self.producers if self.consumers[channel]}
        for channel in rings:
            self._link_channel(channel)
        edges = tuple(map(self._edge, self.links))
        buffers = [(plan, self._buffer(channel, plan)) for channel, plan in rings.items() if not _shares(channel)]
        name = ir.StringAttr(self.kernel.operation.attributes["sym_name"]).value
        problem = Problem(
            name,
            tuple(map(self._operation, self.nodes)),
            edges,
            tuple(buffer for _, buffer in buffers),
            self._register_values(edges),
            self._limits([plan for plan, _ in buffers]),
        )
        return LoopProblem(
            source_location(loop.operation.location),
            problem,
            tuple(node.part.role for node in self.nodes),
            tuple(plan.stages for plan, _ in buffers),
            tuple(node.ahead for node in self.nodes),
        )

    def _name_nodes(self) -> None:
        """Names operations by the member with the most clocks and its line, and a number if it is not the first."""
        numbers: Counter[str] = Counter()
        for node in self.nodes:
            op, _ = max(node.members, key=lambda member: member[1])
            location = source_location(op.location)
            plain = op.name.rpartition(".")[2] + (f"@{location.line}" if location else "")
            numbers[plain] += 1
            node.name = plain if numbers[plain] == 1 else f"{plain}.{numbers[plain]}"

    def _operation(self, node: _Node) -> Operation:
        cost = node.cost(self.device)
        is_issued_alone = node.kind != Kind.TILE or node.members[0][0].name == _TMA_STORE
        return Operation(node.name, node.kind, cost.duration, cost.uses, 1 if is_issued_alone else node.part.warps)

    def _edge(self, link: _Link) -> Edge:
        latency = link.wait.clocks(link.source.cost(self.device))
        names = link.source.name, link.target.name
        return Edge(*names, latency, link.distance, link.cross, link.moved_kb, link.is_same)

    def _link_places(self) -> None:
        """Threads access a buffer before the multiplies of an iteration if they write it then, else after them.

        A buffer in the place of another one is written in the next iteration when multiplies have read the other.
        """
        writers: list[tuple[ir.Value | None, _Node]] = []
        readers: list[tuple[ir.Value | None, _Node]] = []
        for channel, accesses in self.handed_over.items():
            threads = [access for access in accesses if not access.is_multiply]
            multiplies = [access for access in accesses if access.is_multiply]
            before = any(op.name == _STORE for access in threads for op, _ in access.node.members)
            for first, second in _hand_overs(threads, multiplies):
                self.add_link(_Link(first, second, int(not before), MBARRIER))
            for first, second in _hand_overs(multiplies, threads):
                self.add_link(_Link(first, second, int(before), MBARRIER))
            if before:
                readers += [(handed_place(channel), access.node) for access in multiplies[-1:]]
            else:
                writers += [(handed_place(channel), access.node) for access in multiplies[:1]]
        for (place, reader), (other_place, writer) in itertools.product(readers, writers):
            if place == other_place:
                # Multiplies are executed in the order in which they are issued.
                self.add_link(_Link(reader, writer, 1, MBARRIER, wait=_Wait.UNITS))

    def _link_accesses(self, accesses: Sequence[tuple[_Node, bool]]) -> None:
        """Reads of a buffer outside of channels wait for the writes before them, and writes for the reads."""
        phases = [list(group) for _, group in itertools.groupby(accesses, key=lambda access: access[1])]
        for number, phase in enumerate(phases):
            # The first phase of the next iteration follows the last one.
            following, distance = (phases[number + 1], 0) if number + 1 < len(phases) else (phases[0], 1)
            if following is not phase:
                for (first, _), (second, _) in itertools.product(phase, following):
                    self.add_link(_Link(first, second, distance, MBARRIER))

    def _link_channel(self, channel: ir.Value) -> None:
        producers = dict.fromkeys(self.producers[channel])
        # The source of the ring is its first producer.
        for producer in producers:
            self.add_link(_Link(self.producers[channel][0], producer, wait=_Wait.START))
        for producer, consumer in itertools.product(producers, dict.fromkeys(self.consumers[channel])):
            self.add_link(_Link(producer, consumer, cross=MBARRIER))

    def _buffer(self, channel: ir.Value, plan: ChannelPlan) -> Buffer:
        consumers = dict.fromkeys(self.consumers[channel])
        uses = tuple(BufferUse(node.name, node.cost(self.device).latency) for node in consumers)
        memory, size = (TENSOR, plan.slot_columns) if plan.slot_columns else (SHARED, plan.slot_bytes)
        return Buffer(plan.name, self.producers[channel][0].name, uses, memory, size)

    def _register_values(self, edges: tuple[Edge, ...]) -> tuple[RegisterValue, ...]:
        """The large values in registers, for their lives; their number is not, as operations work in place."""
        order = {node.name: number for number, node in enumerate(self.nodes)}
        uses: defaultdict[str, list[BufferUse]] = defaultdict(list)
        for edge in edges:
            # A carried value that is used by its successor or after it is updated in place, or copied.
            if edge.is_same and (not edge.distance or order[edge.target] < order[edge.source]):
                duration = self.nodes[order[edge.target]].cost(self.device).duration
                uses[edge.source].append(BufferUse(edge.target, duration, edge.distance))
        return tuple(RegisterValue(f"result_{name}", name, tuple(found), 0) for name, found in uses.items())

    def _limits(self, rings: list[ChannelPlan]) -> Limits:
        """What the other buffers of the kernel leave for the rings of this loop."""
        shared = sum(plan.slot_bytes * plan.stages for plan in rings)
        columns = sum(plan.slot_columns * plan.stages for plan in rings)
        used = sum(
            plan.slot_columns * plan.stages for channel, plan in self.plan.channels.items() if not _shares(channel)
        )
        return Limits(
            (
                Memory(SHARED, self.target.shared_bytes - self.plan.declared_bytes + shared),
                Memory(TENSOR, max(0, self.target.tensor_memory_columns - used) + columns),
            ),
            # A kernel may have more warps than schedules of new roles get.
            warps=max(Limits().warps, sum(warps for _, warps, _ in _role_blocks(self.kernel))),
        )


class _Reader:
    """Reads the loop of one role in program order."""

    def __init__(self, body: _Body, part: _Part) -> None:
        self.body, self.part = body, part
        self.sources: dict[ir.Value, _Sources] = {}
        block = part.loop.operation.regions[0].blocks[0]
        *_, end = block.operations
        # What the next iteration gets for a carried value, and for what is computed from one.
        self.carried = dict(zip(list(block.arguments)[1:], end.operation.operands, strict=True))
        self.uses: list[tuple[ir.Value, _Node]] = []
        self.last: _Node | None = None
        self.run: _Node | None = None
        self.known = VisitedTiles()
        # For each place its newest hand-over to this role, and the accesses since the newest one by this role.
        self.taken: dict[ir.Value, ir.Value] = {}
        self.kept: defaultdict[ir.Value, list[_Access]] = defaultdict(list)

    def read(self) -> None:
        """Adds the operations; carried values come from the iteration before."""
        self._read_block(self.part.loop.operation.regions[0].blocks[0])
        for argument, node in self.uses:
            for source, distance, kb in self.sources.get(self.carried[argument], ()):
                self._link(source, node, distance + 1, min(kb, self._kb(argument)))

    def _read_block(self, block: ir.Block) -> None:
        """Visits the operations of a block, and those of branches as if they were always taken."""
        for op in block.operations:
            if op.operation.name != "scf.if":
                self._visit(op.operation)
                continue
            branches = [inner for region in op.operation.regions for inner in region.blocks]
            for inner in branches:
                self._read_block(inner)
            for position, result in enumerate(op.operation.results):
                yielded = [inner.operations[len(inner.operations) - 1].operands[position] for inner in branches]
                self.sources[result] = self._sources_of(yielded)

    def _visit(self, op: ir.Operation) -> None:
        if op.name in _WAITS or is_barrier_step(op):
            self.run = None
        self._hand_over(op)
        if _is_step(op):
            for result in op.results:
                self.body.slots[result] = op.operands[0], op.name == "tile_gpu.put_begin"
        elif op.name == "tile_gpu.view_buffer" and op.operands[0] in self.body.slots:
            self.body.slots[op.results[0]] = self.body.slots[op.operands[0]]
        elif (node := self._node(op)) is None:
            self._pass_on(op)
        else:
            self._depend(op, node)

    def _node(self, op: ir.Operation) -> _Node | None:
        """The operation of the problem that an operation of tile_gpu is, or is part of; None if it counts as none."""
        target = self.body.target.name
        priced = table_cost(op, target, self.part.groups)
        if priced is not None:
            kind, cost = priced
            self.run = None
            longest = max(cost.duration, *(use.busy for use in cost.uses))
            return None if longest < _LEAST_CLOCKS else self._new_node(op, kind, longest, cost)
        work = thread_work(op.opview, self.part.warps * self.part.groups, target, self.known)
        if work is NO_WORK:
            return None
        work = work.times(1 / self.part.groups) if self.part.groups > 1 else work
        clocks = cycles_alone(work, self.part.warps, self.body.device)
        if self.run is not None and self._extends(self.run, op):
            self._extend(self.run, op, work, clocks)
            return self.run
        if clocks < _LEAST_CLOCKS:
            if self.last is not None and self.last.fixed is None:
                self.last.work += work
            return None
        made = self._new_node(op, Kind.TILE, clocks, None)
        self._extend(made, op, work, clocks)
        self.run = made if _is_overlapped(op) else None
        return made

    def _new_node(self, op: ir.Operation, kind: Kind, clocks: float, cost: Cost | None) -> _Node:
        made = _Node(self.part, kind, iterations_ahead(op), fixed=cost)
        if cost is not None:
            made.members.append((op, clocks))
        self.body.nodes.append(made)
        self.last = made
        return made

    def _extends(self, run: _Node, op: ir.Operation) -> bool:
        return run is self.last and _is_overlapped(op) and run.reduced.isdisjoint(op.operands)

    @staticmethod
    def _extend(run: _Node, op: ir.Operation, work: Step, clocks: float) -> None:
        run.work += work
        run.members.append((op, clocks))
        if op.name == "tile_gpu.reduce":
            run.reduced.update(op.results)

    def _pass_on(self, op: ir.Operation) -> None:
        """The results of an operation that counts as none depend on all that its operands depend on."""
        arguments = [value for value in op.operands if value in self.carried]
        before = self._sources_of(op.operands)
        for result in op.results:
            self.sources[result] = before
            # A value that is computed from a carried one is carried too.
            if arguments and result not in self.carried:
                self.carried[result] = self.carried[arguments[0]]
        if self.run is not None and not self.run.reduced.isdisjoint(op.operands):
            self.run.reduced.update(op.results)

    def _sources_of(self, values: Iterable[ir.Value]) -> _Sources:
        return tuple(dict.fromkeys(source for value in values for source in self.sources.get(value, ())))

    def _depend(self, op: ir.Operation, node: _Node) -> None:
        for value in op.operands:
            self._depend_on(value, node, op)
            if value in self.carried and is_register_tile(value.type):
                self.uses.append((value, node))
        for result in op.results:
            self.sources[result] = ((node, 0, self._kb(result)),)

    def _depend_on(self, value: ir.Value, node: _Node, op: ir.Operation) -> None:
        body = self.body
        owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if value in body.slots:
            channel, is_put = body.slots[value]
            (body.producers if is_put else body.consumers)[channel].append(node)
        elif owner is not None and owner.name == "tile_gpu.slot":
            self._access_place(owner.operands[0], node, op)
        elif value in body.plan.buffers:
            body.accesses[value].append((node, op.name == "tile_gpu.store_shared"))
        else:
            kb = self._kb(value)
            for source, distance, passed in self.sources.get(value, ()):
                self._link(source, node, distance, min(kb, passed))

    def _hand_over(self, op: ir.Operation) -> None:
        """Notes that a step hands its place over, to this role or by it."""
        if op.name not in (_GET, _COMMIT) or (place := handed_place(op.operands[0])) is None:
            return
        if op.name == _GET:
            self.taken[place] = op.operands[0]
            return
        for access in self.kept.pop(place, []):
            access.given = op.operands[0]

    def _access_place(self, channel: ir.Value, node: _Node, op: ir.Operation) -> None:
        place = handed_place(channel)
        assert place is not None, "a slot has the place of its channel"
        access = _Access(node, op.name in TENSOR_CORE_OPERATIONS, self.taken.get(place))
        self.kept[place].append(access)
        self.body.handed_over[channel].append(access)

    def _link(self, source: _Node, target: _Node, distance: int, kb: int) -> None:
        both_tiles = source.kind == target.kind == Kind.TILE
        cross = moved(kb) if both_tiles else MBARRIER
        self.body.add_link(
            _Link(source, target, distance, cross, kb if both_tiles else 0, is_same=kb > _MOST_MOVED_KB)
        )

    def _kb(self, value: ir.Value) -> int:
        """The KB of the part of a register tile; 0 for other values."""
        if not is_register_tile(value.type):
            return 0
        return -(-tile_bytes(value.type) // (1024 * self.part.groups))


def _hand_overs(givers: list[_Access], takers: list[_Access]) -> list[tuple[_Node, _Node]]:
    """The accesses that a channel orders, one of each part of a divided buffer; else the last and the first one."""
    found = [
        (giver.node, taker.node)
        for giver, taker in itertools.product(givers, takers)
        if giver.given is not None and giver.given == taker.taken
    ]
    return found or [(giver.node, taker.node) for giver, taker in zip(givers[-1:], takers[:1], strict=False)]


def _is_overlapped(op: ir.Operation) -> bool:
    return op.name.startswith(OVERLAPPED) or op.name == _STORE and op.opview.pending


def _shares(channel: ir.Value) -> bool:
    return channel.owner.opview.shares is not None
