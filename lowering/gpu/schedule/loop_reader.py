"""Reads the operations of a loop, and what each of them waits for.

A run of operations on elements ends at a wait or a signal, and before an operation that needs a reduction in it, as in
the timeline (loop_work.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import TENSOR_CORE_OPERATIONS
from tilec.dialect.tile_gpu.operations.channel import GetOp, PutBeginOp, PutCommitOp, SkipOp, SlotOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import (
    BarrierOp,
    OrderSignalOp,
    OrderWaitOp,
    StoreSharedOp,
    StoreTensorMemoryOp,
    StoreWaitOp,
    ViewBufferOp,
)
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_in, owner_of, terminator_of
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.loop_work import OVERLAPPED, is_barrier_step
from tilec.lowering.gpu.cost.operation_cost import table_cost, thread_work, tile_bytes
from tilec.lowering.gpu.ir.slots import fills_accumulator, handed_place
from tilec.lowering.gpu.loops.loop_attributes import iterations_ahead
from tilec.lowering.gpu.loops.loop_parts import LoopPart, is_step
from tilec.lowering.gpu.memory.shared_plan import SharedPlan
from tilec.lowering.gpu.schedule.loop_graph import Access, Link, LoopGraph, Node, Round, Wait, in_order
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.step import NO_WORK, Step, cycles_alone
from tilec.lowering.schedule.costs import MBARRIER, Cost, moved
from tilec.lowering.schedule.parts import Kind
from tilec.lowering.target import Target

# Larger values in registers stay in their role: a move would keep both roles busy, which the problem does not count.
_MOST_MOVED_KB = 1
# Operations of fewer clocks count as part of the operation before them.
_LEAST_CLOCKS = 16
_GET, _PUT, _COMMIT = GetOp.OPERATION_NAME, PutBeginOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME
_STORE = StoreTensorMemoryOp.OPERATION_NAME
_STORES = (StoreSharedOp.OPERATION_NAME, _STORE)
# Waits of threads outside of channels, which end a run.
_WAITS = tuple(op.OPERATION_NAME for op in (WgmmaWaitOp, BarrierOp, StoreWaitOp, SkipOp, OrderWaitOp))

# What a value depends on: an operation, the iterations before, and the KB of what the operation passes on.
_Sources = tuple[tuple[Node, int, int], ...]


class LoopReader:
    """Reads a part of a loop in program order."""

    def __init__(self, graph: LoopGraph, part: LoopPart, plan: SharedPlan, target: Target) -> None:
        self.graph, self.part, self.plan = graph, part, plan
        self.target, self.device = target.name, device_of(target.name)
        self.sources: dict[ir.Value, _Sources] = {}
        block = part.loop.operation.regions[0].blocks[0]
        end = terminator_of(block)
        # What the next iteration gets for a carried value, and for what is computed from one.
        self.carried = dict(zip(list(block.arguments)[1:], end.operands, strict=True))
        self.uses: list[tuple[ir.Value, Node]] = []
        self.last: Node | None = None
        self.run: Node | None = None
        self.known = VisitedTiles()
        # The rounds of each channel in program order, and the round of each slot.
        self.puts: defaultdict[ir.Value, list[Round]] = defaultdict(list)
        self.gets: defaultdict[ir.Value, list[Round]] = defaultdict(list)
        self.rounds: dict[ir.Value, Round] = {}
        # The rounds whose slots are read by operations that are not nodes of the graph.
        self.read_from: dict[ir.Value, Round] = {}
        # For each place its newest hand-over to this role, and the accesses since the newest one by this role.
        self.taken: dict[ir.Value, ir.Value] = {}
        # The multiplies of warpgroups in program order.
        self.issued: list[Node] = []
        # How many of them a wait completes, for the operation after it; negative counts are of the iteration before.
        self.awaited: int | None = None
        self.waits: list[tuple[int, Node]] = []
        # The number of the operations before the order_wait of a warpgroup.
        self.ordered_from = 0
        self.kept: defaultdict[ir.Value, list[Access]] = defaultdict(list)

    def read(self) -> None:
        """Adds the operations; carried values come from the iteration before."""
        first = len(self.graph.nodes)
        self._read_block(self.part.loop.operation.regions[0].blocks[0])
        self._await_others(self.graph.nodes[first:])
        for found, all_rounds in (self.puts, self.graph.producers), (self.gets, self.graph.consumers):
            for channel, rounds in found.items():
                all_rounds[channel].append(in_order(rounds))
        for argument, node in self.uses:
            value, iterations = self._origin(argument)
            for source, distance, kb in self.sources.get(value, ()):
                self._link(source, node, distance + iterations, min(kb, self._kb(argument)))

    def _origin(self, argument: ir.Value) -> tuple[ir.Value, int]:
        """What is computed for a carried value, and how many iterations before, if others carry it on."""
        value, iterations, seen = self.carried[argument], 1, {argument}
        while value in self.carried and value not in self.sources and value not in seen:
            seen.add(value)
            value, iterations = self.carried[value], iterations + 1
        return value, iterations

    def _read_block(self, block: ir.Block) -> None:
        """Visits the operations of a block, and those of branches as if they were always taken."""
        for op in operations_in(block):
            if fills_accumulator(op):
                continue
            if op.name != "scf.if":
                self._visit(op)
                continue
            branches = [inner for region in op.regions for inner in region.blocks]
            for inner in branches:
                self._read_block(inner)
            for position, result in enumerate(op.results):
                yielded = [terminator_of(inner).operands[position] for inner in branches]
                self.sources[result] = self._sources_of(yielded)

    def _visit(self, op: ir.Operation) -> None:
        name = op.name
        if name in _WAITS or is_barrier_step(op):
            self.run = None
        if name in (_GET, _COMMIT):
            self._hand_over(op)
        if name == WgmmaWaitOp.OPERATION_NAME:
            self.awaited = len(self.issued) - op.opview.pending
        if name == OrderWaitOp.OPERATION_NAME:
            self.ordered_from = len(self.graph.nodes)
        elif name == OrderSignalOp.OPERATION_NAME and self.last in self.graph.nodes[self.ordered_from :]:
            self.graph.ordered.append((self.graph.nodes[self.ordered_from], self.last))
        if is_step(op):
            self._start_round(op)
        elif name == ViewBufferOp.OPERATION_NAME and op.operands[0] in self.rounds:
            self.rounds[op.results[0]] = self.rounds[op.operands[0]]
        elif (node := self._node(op)) is None:
            self._pass_on(op)
        else:
            self._depend(op, node)

    def _start_round(self, step: ir.Operation) -> None:
        if step.results:
            found = Round(iterations_ahead(step))
            (self.puts if step.name == _PUT else self.gets)[step.operands[0]].append(found)
            self.rounds.update(dict.fromkeys(step.results, found))

    def _node(self, op: ir.Operation) -> Node | None:
        """The operation of the problem that an operation of tile_gpu is, or is part of; None if it counts as none."""
        priced = table_cost(op, self.target, self.part.groups)
        if priced is not None:
            kind, cost = priced
            self.run = None
            longest = max(cost.duration, *(use.busy for use in cost.uses))
            return None if longest < _LEAST_CLOCKS else self._new_node(op, kind, longest, cost)
        work = thread_work(op.opview, self.part.warps * self.part.groups, self.target, self.known)
        if work is NO_WORK:
            return None
        work = work.times(1 / self.part.groups) if self.part.groups > 1 else work
        clocks = cycles_alone(work, self.part.warps, self.device)
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

    def _new_node(self, op: ir.Operation, kind: Kind, clocks: float, cost: Cost | None) -> Node:
        made = Node(self.part, kind, iterations_ahead(op), fixed=cost)
        if cost is not None:
            made.members.append((op, clocks))
        self.graph.nodes.append(made)
        self.last = made
        if self.awaited is not None:
            self.waits.append((self.awaited, made))
            self.awaited = None
        if op.name == WgmmaOp.OPERATION_NAME:
            self.issued.append(made)
        return made

    def _await_others(self, nodes: list[Node]) -> None:
        """What follows a wait of a warpgroup waits for its multiplies, which are complete in the order of issue."""
        if self.awaited is not None and nodes:
            self.waits.append((self.awaited - len(self.issued), nodes[0]))
        for count, node in self.waits:
            distance = 0 if count > 0 else 1
            if self.issued and count + distance * len(self.issued) > 0:
                source = self.issued[count - 1 + distance * len(self.issued)]
                self.graph.add_link(Link(source, node, distance + node.ahead - source.ahead))

    def _extends(self, run: Node, op: ir.Operation) -> bool:
        is_behind = run is self.last and _is_overlapped(op) and iterations_ahead(op) == run.ahead
        return is_behind and (not run.reduced or run.reduced.isdisjoint(op.operands))

    @staticmethod
    def _extend(run: Node, op: ir.Operation, work: Step, clocks: float) -> None:
        run.work += work
        run.members.append((op, clocks))
        if op.name == ReduceOp.OPERATION_NAME:
            run.reduced.update(op.results)

    def _pass_on(self, op: ir.Operation) -> None:
        """The results of an operation that counts as none depend on all that its operands depend on."""
        # What stores in a buffer has the buffer as its result.
        operands, is_store = list(op.operands), op.name in _STORES
        results = operands[1:2] if is_store and operands[1] in self.plan.buffers else list(op.results)
        for value in operands:
            if value in self.rounds and is_store and self.last is not None:
                self.rounds[value].nodes[self.last] = Wait.RESULT
            elif (found := self.rounds.get(value, self.read_from.get(value))) is not None:
                self.read_from.update(dict.fromkeys(results, found))
        arguments = [value for value in operands if value in self.carried]
        before = self._sources_of(operands)
        for result in results:
            self.sources[result] = before
            # A value that is computed from a carried one is carried too.
            if arguments and result not in self.carried:
                self.carried[result] = self.carried[arguments[0]]
        if self.run is not None and not self.run.reduced.isdisjoint(operands):
            self.run.reduced.update(op.results)

    def _sources_of(self, values: Iterable[ir.Value]) -> _Sources:
        return tuple(dict.fromkeys(source for value in values for source in self.sources.get(value, ())))

    def _depend(self, op: ir.Operation, node: Node) -> None:
        for value in op.operands:
            self._depend_on(value, node, op)
            if value in self.carried and is_register_tile(value.type):
                self.uses.append((value, node))
        for result in op.results:
            self.sources[result] = ((node, 0, self._kb(result)),)

    def _depend_on(self, value: ir.Value, node: Node, op: ir.Operation) -> None:
        owner = owner_of(value)
        if value in self.rounds:
            self.rounds[value].nodes[node] = Wait.RESULT
        if value in self.read_from:
            self.read_from[value].nodes.setdefault(node, Wait.START)
        if owner is not None and owner.name == SlotOp.OPERATION_NAME:
            self._access_place(owner.operands[0], node, op)
        elif value in self.plan.buffers:
            self.graph.accesses[value].append((node, op.name == StoreSharedOp.OPERATION_NAME))
            for source, distance, _ in self.sources.get(value, ()):
                self._link(source, node, distance, 0)
        else:
            kb = self._kb(value)
            for source, distance, passed in self.sources.get(value, ()):
                self._link(source, node, distance, min(kb, passed))

    def _hand_over(self, op: ir.Operation) -> None:
        """Notes that a get or a commit hands its place over, to this role or by it."""
        if (place := handed_place(op.operands[0])) is None:
            return
        if op.name == _GET:
            self.taken[place] = op.operands[0]
            return
        for access in self.kept.pop(place, []):
            access.given = op.operands[0]

    def _access_place(self, channel: ir.Value, node: Node, op: ir.Operation) -> None:
        place = handed_place(channel)
        assert place is not None, "a slot has the place of its channel"
        access = Access(node, op.name in TENSOR_CORE_OPERATIONS, place, self.taken.get(place))
        self.kept[place].append(access)
        self.graph.handed_over[channel].append(access)

    def _link(self, source: Node, target: Node, distance: int, kb: int) -> None:
        # Operations of one body that are differently far ahead belong to different iterations.
        distance += target.ahead - source.ahead
        both_tiles = source.kind == target.kind == Kind.TILE
        cross = moved(kb) if both_tiles else MBARRIER
        self.graph.add_link(Link(source, target, distance, cross, kb if both_tiles else 0, is_same=kb > _MOST_MOVED_KB))

    def _kb(self, value: ir.Value) -> int:
        """The KB of the part of a register tile; 0 for other values."""
        if not is_register_tile(value.type):
            return 0
        return -(-tile_bytes(value.type) // (1024 * self.part.groups))


def _is_overlapped(op: ir.Operation) -> bool:
    return op.name.startswith(OVERLAPPED) or op.name == _STORE and op.opview.pending
