"""The scheduling problem of each innermost loop of a kernel, and the order and the roles that the kernel has now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp
from tilec.dialect.tile_gpu.operations.tma import TmaStoreOp
from tilec.dialect.tile_gpu.types import SHARED, TENSOR
from tilec.errors import SourceLocation
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.loops.loop_parts import LoopPart, divided_loops, role_blocks
from tilec.lowering.gpu.memory.shared_plan import ChannelPlan, SharedPlan, shared_plan
from tilec.lowering.gpu.schedule.loop_graph import Link, LoopGraph, Node, Wait
from tilec.lowering.gpu.schedule.loop_reader import LoopReader
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, RegisterValue
from tilec.lowering.schedule.problem import Problem
from tilec.lowering.target import Target


@dataclass(frozen=True)
class LoopProblem:
    """A loop to schedule, with the roles and the slots that it has now.

    Attributes:
        location: the position of the loop in the source.
        problem: its scheduling problem.
        roles: the name of the present role of each operation.
        slots: the present number of slots of each buffer.
        ahead: the number of iterations that each operation is ahead of the others in its role.
        parts: the loop of the role of each operation.
        members: the operations of tile_gpu that each operation is.
        channels: the channel of each buffer.
    """

    location: SourceLocation | None
    problem: Problem
    roles: tuple[str, ...]
    slots: tuple[int, ...]
    ahead: tuple[int, ...]
    parts: tuple[LoopPart, ...]
    members: tuple[tuple[ir.Operation, ...], ...]
    channels: tuple[ir.Value, ...]


def loop_problems(kernel: KernelOp, target: Target) -> list[LoopProblem]:
    """The problems of the innermost loops of a kernel after the passes of tile_gpu, in program order.

    Multiplies of warpgroups wait for no multiply of a later iteration there, so that schedules are bounds.
    """
    plan = shared_plan(kernel, target)
    found = (loop_problem(kernel, parts, plan, target, has_order=False) for parts in divided_loops(kernel))
    return [problem for problem in found if problem is not None]


def loop_problem(
    kernel: KernelOp, parts: Sequence[LoopPart], plan: SharedPlan, target: Target, *, has_order: bool = True
) -> LoopProblem | None:
    """The problem of a loop with its parts.

    None if it has one operation, or none, or if one waits for another of a later iteration; without `has_order`
    multiplies of warpgroups, which are complete in the order of issue, do not wait so.
    """
    graph = LoopGraph()
    for part in parts:
        LoopReader(graph, part, plan, target).read()
    if len(graph.nodes) < 2:
        return None
    return _Builder(kernel, target, plan, graph, has_order).problem(parts[0].loop)


@dataclass
class _Builder:
    """Makes the problem of a loop from its operations."""

    kernel: KernelOp
    target: Target
    plan: SharedPlan
    graph: LoopGraph
    has_order: bool

    @property
    def device(self) -> Device:
        return device_of(self.target.name)

    def problem(self, loop: ir.OpView) -> LoopProblem | None:
        """The problem, with the dependences and the buffers of channels; None if one waits for a later iteration."""
        # All operations are read, and the cost of each is needed several times.
        for node in self.graph.nodes:
            node.fixed = node.cost(self.device)
        self._name_nodes()
        self.graph.link_memory()
        self.graph.link_order()
        graph = self.graph
        rings = [(channel, self.plan.channels[channel], rounds) for channel, rounds in graph.channels().items()]
        for _, plan, rounds in rings:
            graph.link_channel(rounds, plan.stages)
        graph.link_uses()
        if not self.has_order:
            graph.links = {link: None for link in graph.links if link.distance >= 0 or not _is_wgmma(link.target)}
        if any(link.distance < 0 for link in graph.links):
            return None
        edges = tuple(map(self._edge, self.graph.links))
        # The slots of a channel with several rounds are those that it has: its links say what waits for them.
        buffers = [
            (channel, plan, self._buffer(plan, *rounds[0]))
            for channel, plan, rounds in rings
            if len(rounds) == 1 and not _shares(channel)
        ]
        name = ir.StringAttr(self.kernel.operation.attributes["sym_name"]).value
        problem = Problem(
            name,
            tuple(map(self._operation, self.graph.nodes)),
            edges,
            tuple(buffer for _, _, buffer in buffers),
            self._register_values(edges),
            self._limits([plan for _, plan, _ in buffers]),
        )
        return LoopProblem(
            source_location(loop.operation.location),
            problem,
            tuple(node.part.role for node in self.graph.nodes),
            tuple(plan.stages for _, plan, _ in buffers),
            tuple(node.ahead for node in self.graph.nodes),
            tuple(node.part for node in self.graph.nodes),
            tuple(tuple(op for op, _ in node.members) for node in self.graph.nodes),
            tuple(channel for channel, _, _ in buffers),
        )

    def _name_nodes(self) -> None:
        """Names operations by the member with the most clocks and its line, and a number if it is not the first."""
        numbers: Counter[str] = Counter()
        for node in self.graph.nodes:
            op, _ = max(node.members, key=lambda member: member[1])
            location = source_location(op.location)
            plain = op.name.rpartition(".")[2] + (f"@{location.line}" if location else "")
            numbers[plain] += 1
            node.name = plain if numbers[plain] == 1 else f"{plain}.{numbers[plain]}"

    def _operation(self, node: Node) -> Operation:
        cost = node.cost(self.device)
        is_issued_alone = node.kind != Kind.TILE or node.members[0][0].name == TmaStoreOp.OPERATION_NAME
        return Operation(node.name, node.kind, cost.duration, cost.uses, 1 if is_issued_alone else node.part.warps)

    def _edge(self, link: Link) -> Edge:
        latency = link.wait.clocks(link.source.cost(self.device))
        names = link.source.name, link.target.name
        return Edge(*names, latency, link.distance, link.cross, link.moved_kb, link.is_same)

    def _buffer(self, plan: ChannelPlan, producers: Sequence[Node], consumers: Mapping[Node, Wait]) -> Buffer:
        uses = tuple(BufferUse(node.name, wait.clocks(node.cost(self.device))) for node, wait in consumers.items())
        memory, size = (TENSOR, plan.slot_columns) if plan.slot_columns else (SHARED, plan.slot_bytes)
        return Buffer(plan.name, producers[0].name, uses, memory, size)

    def _register_values(self, edges: tuple[Edge, ...]) -> tuple[RegisterValue, ...]:
        """The large values in registers, for their lives; their number is not, as operations work in place."""
        order = {node.name: number for number, node in enumerate(self.graph.nodes)}
        uses: defaultdict[str, list[BufferUse]] = defaultdict(list)
        for edge in edges:
            # A carried value that is used by its successor or after it is updated in place, or copied.
            if edge.is_same and (not edge.distance or order[edge.target] < order[edge.source]):
                duration = self.graph.nodes[order[edge.target]].cost(self.device).duration
                # A value that crosses several iterations has registers for each of them.
                uses[edge.source].append(BufferUse(edge.target, duration, min(edge.distance, 1)))
        return tuple(RegisterValue(f"result_{name}", name, tuple(found), 0) for name, found in uses.items())

    def _free_bytes(self) -> int:
        return self.target.shared_bytes - self.plan.bytes_with(scratch_bytes(self.kernel))

    def _limits(self, rings: list[ChannelPlan]) -> Limits:
        """What the other buffers of the kernel leave for the rings of this loop."""
        shared = sum(plan.slot_bytes * plan.stages for plan in rings)
        columns = sum(plan.slot_columns * plan.stages for plan in rings)
        used = sum(
            plan.slot_columns * plan.stages for channel, plan in self.plan.channels.items() if not _shares(channel)
        )
        return Limits(
            (
                Memory(SHARED, max(0, self._free_bytes()) + shared),
                Memory(TENSOR, max(0, self.target.tensor_memory_columns - used) + columns),
            ),
            # A kernel may have more warps than schedules of new roles get.
            warps=max(Limits().warps, sum(warps for _, warps, _ in role_blocks(self.kernel))),
        )


def _is_wgmma(node: Node) -> bool:
    return any(op.name == WgmmaOp.OPERATION_NAME for op, _ in node.members)


def _shares(channel: ir.Value) -> bool:
    return channel.owner.opview.shares is not None
