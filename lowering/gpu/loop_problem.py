"""The scheduling problem of each innermost loop of a kernel, and the order and the roles that the kernel has now.

A loop that is divided among roles is one problem: its parts are loops at one place that put and get the same channels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import THREADS
from tilec.dialect.tile_gpu.kernel import COMPUTE, KernelOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType
from tilec.dialect.walk import operations_below
from tilec.errors import SourceLocation
from tilec.lowering.gpu.enclosing import LOOPS
from tilec.lowering.gpu.iterations_ahead import iterations_ahead
from tilec.lowering.gpu.loop_names import loop_names
from tilec.lowering.gpu.operation_cost import operation_cost, tile_bytes
from tilec.lowering.gpu.operation_role import TENSOR_CORE_OPERATIONS
from tilec.lowering.gpu.shared_plan import ChannelPlan, SharedPlan, shared_plan, stored_layout
from tilec.lowering.gpu.unlike_roles import unlike_roles
from tilec.lowering.schedule.costs import MBARRIER, Cost, moved
from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, RegisterValue
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.target import Target

# Larger values in registers stay in their role: a move would keep both roles busy, which the problem does not count.
_MOST_MOVED_KB = 1
# Operations of fewer clocks count as part of the operation before them.
_LEAST_CLOCKS = 16


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
    """The loop of one role."""

    role: str
    warps: int
    loop: ir.OpView


def loop_problems(kernel: KernelOp, target: Target) -> list[LoopProblem]:
    """The problems of the innermost loops of a kernel after the passes of tile_gpu, in program order."""
    plan = shared_plan(kernel, target)
    found = []
    for parts in _loops(kernel):
        body = _Body(kernel, target, plan)
        for part in parts:
            body.add(part)
        if len(body.costs) > 1:
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


def _is_step(op: ir.Operation) -> bool:
    return op.name in ("tile_gpu.put_begin", "tile_gpu.get")


# The operations that a value depends on, each with the number of iterations before.
_Sources = frozenset[tuple[str, int]]


@dataclass
class _Body:
    """The operations and the dependences of one loop, collected from the loops of its roles."""

    kernel: KernelOp
    target: Target
    plan: SharedPlan
    costs: dict[str, tuple[Kind, Cost, _Part]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    sources: dict[ir.Value, _Sources] = field(default_factory=dict)
    slots: dict[ir.Value, tuple[ir.Value, bool]] = field(default_factory=dict)
    producers: defaultdict[ir.Value, list[str]] = field(default_factory=lambda: defaultdict(list))
    consumers: defaultdict[ir.Value, list[str]] = field(default_factory=lambda: defaultdict(list))
    # The accesses of each accumulator that threads and multiplies use in turn: of threads, and of multiplies.
    handed_over: defaultdict[ir.Value, tuple[list[str], list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: ([], []))
    )
    ahead: dict[str, int] = field(default_factory=dict)
    result_kb: dict[str, int] = field(default_factory=dict)
    names: Counter[str] = field(default_factory=Counter)
    last: str | None = None

    def add(self, part: _Part) -> None:
        """Adds the operations of the loop of one role; carried values come from the iteration before."""
        block = part.loop.operation.regions[0].blocks[0]
        self.last = None
        carried = dict(
            zip(list(block.arguments)[1:], block.operations[len(block.operations) - 1].operands, strict=True)
        )
        uses: list[tuple[ir.Value, str, int]] = []
        self._walk(block, part, carried, uses)
        for argument, name, kb in uses:
            for source, distance in sorted(self.sources.get(carried[argument], frozenset())):
                self._edge(source, name, distance + 1, kb)

    def _walk(
        self, block: ir.Block, part: _Part, carried: dict[ir.Value, ir.Value], uses: list[tuple[ir.Value, str, int]]
    ) -> None:
        """Visits the operations of a block, and those of branches as if they were always taken."""
        for op in block.operations:
            if op.operation.name != "scf.if":
                self._visit(op.operation, part, carried, uses)
                continue
            branches = [inner for region in op.operation.regions for inner in region.blocks]
            for inner in branches:
                self._walk(inner, part, carried, uses)
            for position, result in enumerate(op.operation.results):
                yielded = [inner.operations[len(inner.operations) - 1].operands[position] for inner in branches]
                self.sources[result] = frozenset().union(*(self.sources.get(value, frozenset()) for value in yielded))

    def _visit(
        self, op: ir.Operation, part: _Part, carried: dict[ir.Value, ir.Value], uses: list[tuple[ir.Value, str, int]]
    ) -> None:
        if _is_step(op):
            for result in op.results:
                self.slots[result] = op.operands[0], op.name == "tile_gpu.put_begin"
            return
        if op.name == "tile_gpu.view_buffer" and op.operands[0] in self.slots:
            self.slots[op.results[0]] = self.slots[op.operands[0]]
            return
        priced = operation_cost(op, self.target.name)
        if priced is not None and max(priced[1].duration, *(use.busy for use in priced[1].uses)) < _LEAST_CLOCKS:
            self._lengthen(priced[1])
            priced = None
        before: _Sources = frozenset().union(*(self.sources.get(value, frozenset()) for value in op.operands))
        if priced is None:
            arguments = [value for value in op.operands if value in carried]
            for result in op.results:
                self.sources[result] = before
                # A value that is computed from a carried one is carried too.
                if arguments and result not in carried:
                    carried[result] = carried[arguments[0]]
            return
        name = self._name(op)
        self.costs[name] = *priced, part
        self.ahead[name] = iterations_ahead(op)
        for value in op.operands:
            self._depend(value, name, op)
            if value in carried and is_register_tile(value.type):
                uses.append((value, name, _kb(value)))
        self.result_kb[name] = max((_kb(result) for result in op.results), default=0)
        for result in op.results:
            self.sources[result] = frozenset([(name, 0)])
        self.last = name

    def _name(self, op: ir.Operation) -> str:
        """The name of an operation, with its line, and a number if it is not the first of its name."""
        location = source_location(op.location)
        plain = op.name.rpartition(".")[2] + (f"@{location.line}" if location else "")
        self.names[plain] += 1
        return plain if self.names[plain] == 1 else f"{plain}.{self.names[plain]}"

    def _lengthen(self, cost: Cost) -> None:
        if self.last is not None:
            kind, before, part = self.costs[self.last]
            longer = Cost(before.duration + cost.duration, before.uses, before.latency + cost.latency)
            self.costs[self.last] = kind, longer if kind == Kind.TILE else before, part

    def _depend(self, value: ir.Value, name: str, op: ir.Operation) -> None:
        if value in self.slots:
            channel, is_put = self.slots[value]
            (self.producers if is_put else self.consumers)[channel].append(name)
            return
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.operation.name == "tile_gpu.slot":
            self.handed_over[owner.operation.operands[0]][op.name in TENSOR_CORE_OPERATIONS].append(name)
            return
        if value in self.plan.buffers:
            (self.producers if op.name == "tile_gpu.store_shared" else self.consumers)[value].append(name)
            return
        kb = _kb(value)
        for source, distance in sorted(self.sources.get(value, frozenset())):
            self._edge(source, name, distance, kb)

    def _edge(self, source: str, target: str, distance: int, kb: int) -> None:
        # A broadcast does not move between roles, but its operand does.
        kb = min(kb, self.result_kb[source])
        both_tiles = self.costs[source][0] == self.costs[target][0] == Kind.TILE
        cross = moved(kb) if both_tiles else MBARRIER
        # The latency is set when all operations have their final length.
        edge = Edge(source, target, 0, distance, cross, kb if both_tiles else 0, kb > _MOST_MOVED_KB)
        if edge not in self.edges:
            self.edges.append(edge)

    def result(self, loop: ir.OpView) -> LoopProblem:
        """The problem, with the dependences and the buffers of channels."""
        self._hand_over_edges()
        rings = {value: self._plan(value) for value in self.producers if self.consumers[value]}
        for channel in rings:
            self._channel_edges(channel)
        edges = tuple(Edge(edge.source, edge.target, self._latency(edge), *_rest(edge)) for edge in self.edges)
        buffers = [
            (plan, self._buffer(channel, plan))
            for channel, plan in rings.items()
            if channel in self.plan.buffers or not _shares(channel)
        ]
        operations = tuple(
            Operation(
                name, kind, cost.duration, cost.uses, 1 if kind != Kind.TILE or _is_issued_alone(name) else part.warps
            )
            for name, (kind, cost, part) in self.costs.items()
        )
        name = ir.StringAttr(self.kernel.operation.attributes["sym_name"]).value
        problem = Problem(
            name,
            operations,
            edges,
            tuple(buffer for _, buffer in buffers),
            self._register_values(edges),
            self._limits([plan for plan, _ in buffers]),
        )
        roles = tuple(part.role for _, _, part in self.costs.values())
        location, slots = source_location(loop.operation.location), tuple(p.stages for p, _ in buffers)
        return LoopProblem(location, problem, roles, slots, tuple(self.ahead.values()))

    def _hand_over_edges(self) -> None:
        """Threads access a place before the multiplies of an iteration if they write it then, otherwise after them."""
        for threads, multiplies in self.handed_over.values():
            if not threads or not multiplies:
                continue
            before = any(name.startswith("store_tensor_memory") for name in threads)
            self.edges.append(Edge(threads[-1], multiplies[0], 0, int(not before), MBARRIER))
            self.edges.append(Edge(multiplies[-1], threads[0], 0, int(before), MBARRIER))

    def _plan(self, value: ir.Value) -> ChannelPlan:
        """The plan of a channel; a buffer outside of channels is one slot."""
        if value in self.plan.channels:
            return self.plan.channels[value]
        name = f"buffer{list(self.plan.buffers).index(value)}"
        size = stored_layout(BufferType(value.type)).size_bytes
        return ChannelPlan(name, 1, THREADS, [THREADS], True, [value.type], slot_bytes=size)

    def _channel_edges(self, channel: ir.Value) -> None:
        producers = self.producers[channel]
        # The source of the ring is its first producer.
        for producer in dict.fromkeys(producers[1:]):
            if producer != producers[0]:
                self.edges.append(Edge(producers[0], producer, 0))
        for producer in dict.fromkeys(producers):
            for consumer in dict.fromkeys(self.consumers[channel]):
                self.edges.append(Edge(producer, consumer, 0, cross=MBARRIER))

    def _latency(self, edge: Edge) -> int:
        # An edge between producers of one slot is an order without latency.
        together = any(edge.source in names and edge.target in names for names in self.producers.values())
        return 0 if together and not edge.cross else self.costs[edge.source][1].latency

    def _buffer(self, channel: ir.Value, plan: ChannelPlan) -> Buffer:
        consumers = dict.fromkeys(self.consumers[channel])
        uses = tuple(BufferUse(name, self.costs[name][1].latency) for name in consumers)
        memory, size = (TENSOR, plan.slot_columns) if plan.slot_columns else (SHARED, plan.slot_bytes)
        return Buffer(plan.name, self.producers[channel][0], uses, memory, size)

    def _register_values(self, edges: tuple[Edge, ...]) -> tuple[RegisterValue, ...]:
        """The large values in registers, for their lives; their number is not, as operations work in place."""
        order = {name: number for number, name in enumerate(self.costs)}
        uses: defaultdict[str, list[BufferUse]] = defaultdict(list)
        for edge in edges:
            # A carried value that is used by its successor or after it is updated in place, or copied.
            if edge.is_same and (not edge.distance or order[edge.target] < order[edge.source]):
                uses[edge.source].append(BufferUse(edge.target, self.costs[edge.target][1].duration, edge.distance))
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


def _kb(value: ir.Value) -> int:
    """The KB of a register tile; 0 for other values."""
    return -(-tile_bytes(value.type) // 1024) if is_register_tile(value.type) else 0


def _is_issued_alone(name: str) -> bool:
    """Whether one thread issues the operation, so that a role of one warp suffices."""
    return name.startswith("tma_store")


def _rest(edge: Edge) -> tuple[int, int, int, bool]:
    return edge.distance, edge.cross, edge.moved_kb, edge.is_same


def _shares(channel: ir.Value) -> bool:
    return channel.owner.opview.shares is not None
