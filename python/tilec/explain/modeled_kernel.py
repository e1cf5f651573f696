"""The modeled time of a compiled kernel, and of the kernel with other work, deeper rings, or without waits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import COPIES_OF_THREADS, GLOBAL_LOADS, GLOBAL_STORES
from tilec.dialect.tile_gpu.interface import Category, interface_of
from tilec.dialect.tile_gpu.operations.copy import CopyGlobalOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import DotOp, MmaSyncOp
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp, StoreGlobalOp
from tilec.dialect.walk import operations_inside, users_of
from tilec.errors import SourceLocation
from tilec.explain.cost import epilogue_overlap
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.loop_cycles import cycles_of, iterations_of
from tilec.lowering.gpu.cost.loop_work import FEW_COLUMNS, UNLIMITED_STAGES, LoopWork, Price, loops_of
from tilec.lowering.gpu.cost.operation_work import work_of
from tilec.lowering.gpu.ir.enclosing import LOOPS, is_repeated
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.tile_size import tile_bytes
from tilec.lowering.gpu.kernel_cycles import blocks_per_processor
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import shared_plan
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import Step
from tilec.lowering.model.timeline import Action, Busy, Load, Side, Signal, Wait
from tilec.lowering.target import TARGETS, Target

ACCESSES = (*GLOBAL_LOADS, *GLOBAL_STORES, *COPIES_OF_THREADS)
# Multiplies of threads, which tensor cores might do.
SLOW_MULTIPLIES = (MmaSyncOp.OPERATION_NAME, DotOp.OPERATION_NAME)
# The least bytes that an SM reads from L2 (CUDA C++ Best Practices Guide, Coalesced Access to Global Memory).
_SECTOR_BYTES = 32
_THROUGH_POINTERS = (LoadGlobalOp, StoreGlobalOp, CopyGlobalOp)


@dataclass
class Change:
    """A kernel that differs from the compiled one.

    Attributes:
        steps: the work of operations whose work differs.
        ready: loads and atomics for whose results no thread waits.
        delays: the cycles for which threads wait after an operation.
        has_deep_rings: whether rings never wait for a load.
        has_waits: whether roles wait for each other.
        hides_epilogues: whether the epilogue of a tile runs beside the next tile.
        chains: chains that wait in turn in loops.
        blocks: the number of blocks that share an SM; None if it is that of the compiled kernel.
    """

    steps: dict[ir.Operation, Step] = field(default_factory=dict)
    ready: Collection[ir.Operation] = ()
    delays: dict[ir.Operation, float] = field(default_factory=dict)
    has_deep_rings: bool = False
    has_waits: bool = True
    hides_epilogues: bool = False
    chains: float = 1
    blocks: float | None = None


class ModeledKernel:
    """The modeled time of a kernel and of changed ones."""

    def __init__(self, kernel: KernelOp, target: str) -> None:
        self.kernel, self.device = kernel, device_of(target)
        self.blocks = _blocks(kernel, TARGETS[target], self.device)
        self.operations = operations_inside(kernel)
        self.atomics = [op for op in self.operations if interface_of(op.name).category is Category.ATOMIC]
        self.waiting = {op: number for number, op in enumerate(filter(_is_awaited, self.operations))}
        self.dependent = {op for op in self.waiting if _needs_loads(op, self.waiting)}
        self.first_users = {op: _first_user(op, self.operations) for op in self.waiting}
        self.at: dict[SourceLocation | None, list[ir.Operation]] = {}
        for op in self.operations:
            self.at.setdefault(source_location(op.location), []).append(op)
        # Other blocks load the operands of a multiply of many columns too, also if threads do it.
        slow = (op for op in self.operations if op.name in SLOW_MULTIPLIES)
        self.shares_operands = any(op.opview.rhs.type.shape[-1] > FEW_COLUMNS for op in slow)
        self.has_rings = any(loop.rings for loop in loops_of(kernel, self.device, counts_outside=False))
        found = {op: _sectors(op) for op in self.operations if op.name in ACCESSES}
        # The compiler does not know the strides of these accesses: their work is that of scattered elements.
        self.scattered = {op: self._with_bytes(op, moved) for op, (moved, is_known) in found.items() if not is_known}
        self.known = {op: self._with_bytes(op, moved) for op, (moved, is_known) in found.items() if is_known}
        self.present = self.cycles(Change())

    def _with_bytes(self, op: ir.Operation, moved: float) -> Step:
        return self.work(op)._replace(l2_bytes=moved)

    def work(self, op: ir.Operation) -> Step:
        """The work of an operation of the compiled kernel."""
        return work_of(op.opview, self.kernel.warps, self.device, VisitedTiles())

    def cycles(self, change: Change) -> float:
        """The cycles of a block of the changed kernel."""
        loops = loops_of(self.kernel, self.device, price=self._price(change))
        for loop in loops:
            loop.loads_once &= not self.shares_operands
            if change.has_deep_rings:
                loop.stages = {name: UNLIMITED_STAGES if name in loop.rings else n for name, n in loop.stages.items()}
            if not change.has_waits and loop.depth >= 0:
                loop.stages, loop.roles = {}, {role: [] for role in loop.roles}
        blocks = max(1, round(change.blocks or self.blocks))
        outside = cycles_of(replace(loops[0], inner={}), self.device, blocks).cycles
        return outside + self._inner_cycles(loops[0], max(1, round(blocks * change.chains)), change)

    def _inner_cycles(self, loop: LoopWork, blocks: int, change: Change) -> float:
        """The cycles of the loops in an iteration of a loop."""
        inner = {id(each): each for entries in loop.inner.values() for _, each in entries if not each.is_prologue}
        return sum(self._iteration_cycles(each, blocks, change) * iterations_of(each) for each in inner.values())

    def _iteration_cycles(self, loop: LoopWork, blocks: int, change: Change) -> float:
        own, inner = cycles_of(loop, self.device, blocks).cycles, self._inner_cycles(loop, blocks, change)
        overlap = epilogue_overlap(loop, self.device, blocks) if inner else None
        if overlap is None:
            return own + inner
        return max(inner, overlap.cycles) if change.hides_epilogues else inner + overlap.exposed

    def _price(self, change: Change) -> Price:
        before: dict[ir.Operation, list[Action]] = {}
        after: dict[ir.Operation, list[Action]] = {}
        first: dict[ir.Block, ir.Operation] = {}
        for op, number in self.waiting.items():
            if op in change.ready:
                continue
            # ptxas moves the loads of a basic block to its begin, unless they need the result of another load.
            issued = op if op in self.dependent else first.setdefault(op.block, op)
            # The threads wait at the first user; later users find the tile in registers.
            channel = f"load {number}"
            loads = after.setdefault(issued, [])
            loads += [Load(channel, self.device.load_dram_latency_cycles, 0.0), Signal(channel, Side.FULL)]
            before.setdefault(self.first_users[op], []).append(Wait(channel, Side.FULL))
        delays = {op: self.device.load_l2_latency_cycles for op in self.atomics if op not in change.ready}
        for op, cycles in {**delays, **change.delays}.items():
            after.setdefault(op, []).append(Busy(cycles))

        def price(op: ir.OpView, step: Step) -> tuple[Sequence[Action], Step, Sequence[Action]]:
            operation = op.operation
            step = change.steps.get(operation) or self.known.get(operation, step)
            return before.get(operation, ()), step, after.get(operation, ())

        return price


def _blocks(kernel: KernelOp, target: Target, device: Device) -> int:
    """The number of blocks that share an SM, by all resources and by the registers that their tiles need."""
    plan = shared_plan(kernel, target)
    needed = plan.bytes_with(scratch_bytes(kernel))
    by_registers = blocks_together(kernel, target, needed, plan.tensor_columns)
    return min(by_registers, blocks_per_processor(kernel, target, device))


def _is_awaited(op: ir.Operation) -> bool:
    """Whether threads load a tile in a loop and use it in the same iteration."""
    if op.name not in GLOBAL_LOADS or not is_repeated(op):
        return False
    return not all(map(_is_carried, op.results))


def _is_carried(value: ir.Value) -> bool:
    """Whether a value is used in later iterations alone."""
    for use in value.uses:
        user = use.owner.operation
        if user.name != "scf.yield":
            return False
        outer = user.parent
        if outer.name not in LOOPS and not _is_carried(outer.results[use.operand_number]):
            return False
    return True


def _needs_loads(op: ir.Operation, loads: Collection[ir.Operation]) -> bool:
    """Whether an operation needs the result of a load in its block."""
    pending, seen = list(op.operands), set[ir.Value]()
    while pending:
        value = pending.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        source = value.owner.operation
        if source in loads:
            return True
        if source.block == op.block:
            pending += source.operands
    return False


def _first_user(op: ir.Operation, operations: Sequence[ir.Operation]) -> ir.Operation:
    users = {user for result in op.results for user in users_of(result)}
    return next(each for each in operations if each in users)


def _sectors(op: ir.Operation) -> tuple[float, bool]:
    """The bytes of the sectors of an access, and whether they are known; if not, each vector is in its own sector."""
    access = op.opview
    type = access.buffer.type if op.name in COPIES_OF_THREADS else (access.result if op.results else access.value).type
    elements, moved = prod(type.shape), tile_bytes(type)
    scattered = max(moved, elements / access.vector * _SECTOR_BYTES)
    if isinstance(access, _THROUGH_POINTERS):
        # Vectors are parts of rows that the compiler found.
        return (moved, True) if access.vector > 1 else (scattered, elements == 1)
    strides = {number: constant_of(stride) for number, stride in enumerate(access.strides)}
    if access.indices is not None:
        del strides[access.sparse_dimension]
    known = {stride: number for number, stride in strides.items() if stride is not None and stride >= 0}
    least = min(known, default=None)
    if least is None or least > 1 and None in strides.values():
        return scattered, elements == 1
    extent = type.shape[known[least]]
    sectors = min(extent, max(1, ceil(extent * least * moved / elements / _SECTOR_BYTES)))
    return max(moved if least else 0, elements / extent * sectors * _SECTOR_BYTES), True
