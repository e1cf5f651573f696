"""The loops of a kernel: the work of an iteration over all roles, and its rings.

One walk over the roles reads work, rings and chains of a loop, which all predictions use (loop_cycles.py): that is why
this file has more than 400 lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.attribute_names import ASSUMED_ITERATIONS
from tilec.dialect.tile_gpu.categories import COPIES_OF_THREADS, GLOBAL_LOADS, TMA_LOADS
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.channel import MMA, GetOp, PutBeginOp, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, KernelOp, RolesOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import BarrierOp, LoadSharedOp, LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.operations.shape import MathOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp, TmaPrefetchOp
from tilec.dialect.walk import inner_operations, operations_named, users_of, views_in
from tilec.errors import SourceLocation
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.operation_work import MULTIPLIES, factor_work, multiply_of, work_of
from tilec.lowering.gpu.ir.operation_role import SKIP, unlike_roles
from tilec.lowering.gpu.ir.slots import channel_of_buffer, fills_accumulator
from tilec.lowering.gpu.ir.tile_size import tile_bytes
from tilec.lowering.gpu.loops.loop_attributes import iterations_ahead
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import NO_WORK, Step, cycles_alone, latency_cycles
from tilec.lowering.model.timeline import (
    Action,
    AwaitMultiplies,
    Busy,
    Load,
    Multiply,
    Side,
    Signal,
    Wait,
)

# The steps that fill a slot, or empty it.
_COUNTED = (GetOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME)
# Fewer rows than a multiply has whose operands do not change sides (lowering/plan/operand_sides.py).
FEW_COLUMNS = 32
# Rings of this depth never wait for a load.
UNLIMITED_STAGES = 32
# Another price of an operation than its work: the actions of its role before it, the work, and the actions after it.
Price = Callable[[ir.OpView, Step], tuple[Sequence[Action], Step, Sequence[Action]]]


@dataclass(frozen=True)
class Ring:
    """A channel that TMA or copies of threads (`is_copied`) fill in a loop: slots, and bytes of a slot.

    The tiles of one that `is_prefetched` are in L2 before TMA loads them.
    """

    stages: int
    bytes: float
    is_copied: bool = False
    is_prefetched: bool = False


@dataclass(eq=False)
class Run:
    """Operations on elements that overlap: one action of a role.

    Attributes:
        role: the role that executes them.
        warps: its warps.
        action: the index of the action among those of the role.
        step: the work of the operations.
        functions: the operations `tile_gpu.math` and `math.exp2` among them.
    """

    role: str
    warps: int
    action: int
    step: Step = Step()
    functions: list[ir.Operation] = field(default_factory=list)

    def busy(self, device: Device, step: Step | None = None) -> Busy:
        """The action, with other work than that of the operations if `step` is given."""
        return Busy(cycles_alone(self.step if step is None else step, self.warps, device))


@dataclass
class LoopWork:
    """A loop, or the operations of a kernel outside of loops.

    Attributes:
        location: the loop in the source; None if unknown or outside of loops.
        depth: the number of loops around it; -1 outside of loops.
        iterations: iterations if they are known, or assumed for this loop.
        step: the work of an iteration, without that of inner loops.
        multiply_adds: multiply-adds of an iteration by the tensor pipe.
        tma_bytes: bytes that TMA loads in an iteration.
        thread_bytes: bytes that threads load in an iteration.
        rings: the channels that TMA and copies fill, by their name.
        roles: the actions of an iteration by role, without those of inner loops.
        runs: the actions of operations on elements.
        inner: the inner loops by role, each with the number of actions of the role before it.
        stages: slots of every channel that is used.
        filled: slots that are full before the first iteration.
        taken: by channel and consumer, slots that it has used before the first iteration.
        late: by channel, the slots that are released an iteration later.
        alternates: whether two roles compute alternate iterations; the work is that of one of them.
        loads_once: whether few other blocks load the same data, so that it comes from DRAM.
        most_columns: the columns of the widest multiply of an iteration.
        is_prologue: whether the loop only fills a ring before another loop.
    """

    location: SourceLocation | None
    depth: int
    iterations: int | None = None
    step: Step = field(default_factory=Step)
    multiply_adds: float = 0
    tma_bytes: float = 0
    thread_bytes: float = 0
    rings: dict[str, Ring] = field(default_factory=dict)
    roles: dict[str, list[Action]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    inner: dict[str, list[tuple[int, LoopWork]]] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    filled: Counter[str] = field(default_factory=Counter)
    taken: Counter[tuple[str, int]] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    is_prologue: bool = False
    alternates: bool = False
    loads_once: bool = False
    most_columns: int = 0

    @property
    def has_inner_loops(self) -> bool:
        """Whether the loop contains loops."""
        return bool(self.inner)

    @property
    def ring_bytes(self) -> float:
        """The bytes that loads of an iteration write into rings."""
        return sum(ring.bytes for ring in self.rings.values())

    @property
    def bytes_in_flight(self) -> float:
        """The most bytes that loads of a block have in flight: all slots, and the loads of threads in an iteration."""
        return self.thread_bytes + sum(ring.stages * ring.bytes for ring in self.rings.values())


def loops_of(
    kernel: KernelOp, device: Device, counts_outside: bool = True, price: Price | None = None
) -> list[LoopWork]:
    """The operations outside of loops, then the loops in program order; a loop of several roles is one.

    With `counts_outside=False` the first one, with half of the operations of a kernel, has no work.
    """
    found: dict[tuple[str, ...], LoopWork] = {(): LoopWork(None, -1)}
    names: dict[ir.Value, str] = {}
    for role, warps, operations in _roles(kernel):
        _Reader(role, warps, device, found, names, counts_outside, price).read(operations, ())
    for loop in found.values():
        for run in loop.runs:
            loop.step += run.step
            loop.roles[run.role][run.action] = run.busy(device)
    # The operand that multiplies of few columns read in full is used once: the other one has few rows in the program.
    loads_once = all(loop.most_columns <= FEW_COLUMNS for loop in found.values())
    for loop in found.values():
        loop.loads_once = loads_once
    return list(found.values())


def _roles(kernel: KernelOp) -> Iterator[tuple[str, int, list[ir.OpView]]]:
    """The roles with their warps and operations; a kernel without roles is one of them."""
    yield COMPUTE, kernel.warps, [op for op in inner_operations(kernel) if not isinstance(op, RolesOp)]
    if kernel.roles is not None:
        for name, warps, block in unlike_roles(kernel.roles):
            yield name, warps, views_in(block)


class _Reader:
    """Adds the operations of a role to the loops."""

    def __init__(
        self,
        role: str,
        warps: int,
        device: Device,
        found: dict[tuple[str, ...], LoopWork],
        names: dict[ir.Value, str],
        counts_outside: bool,
        price: Price | None,
    ) -> None:
        self.role, self.warps, self.device, self.found = role, warps, device, found
        self.elements, self.names = VisitedTiles(), names
        self.counts_outside, self.price = counts_outside, price
        self.puts: Counter[str] = Counter()
        self.gets: Counter[tuple[str, int]] = Counter()
        # The newest run, and the results of reductions in it.
        self.run: Run | None = None
        self.reduced: set[ir.Value] = set()
        self.numbers: Counter[tuple[str, ...]] = Counter()

    def read(self, operations: list[ir.OpView], path: tuple[str, ...]) -> None:
        for op in operations:
            name = op.operation.name
            if name in ("scf.for", "scf.while"):
                self._read_loop(op, path)
                continue
            if fills_accumulator(op.operation):
                continue
            if path or self.counts_outside:
                self._add(op, self.found[path])
            elif name in _COUNTED:
                self._count_put(op, self.found[path])
            if name == "scf.if":
                # Both branches of a condition count: a role waits for the longer one.
                for region in op.operation.regions:
                    for block in region.blocks:
                        self.read(views_in(block), path)

    def _read_loop(self, op: ir.OpView, path: tuple[str, ...]) -> None:
        location = source_location(op.operation.location)
        # A loop of several roles has one id; loops of one id in a role are numbered.
        place = (*path, str(id_of(op.operation)))
        inner = (*path, f"{place[-1]} {self.numbers[place]}")
        self.numbers[place] += 1
        if inner not in self.found:
            self.found[inner] = LoopWork(location, len(path), _iterations(op))
        outer = self.found[path]
        before = len(outer.roles.setdefault(self.role, []))
        outer.inner.setdefault(self.role, []).append((before, self.found[inner]))
        ahead = iterations_ahead(op.operation)
        # Multiply-adds that are executed before and after the loop count as those of the loop.
        for multiply in map(multiply_of, operations_named(op, MULTIPLIES) if ahead else ()):
            outer.multiply_adds -= 0 if multiply is None else ahead * multiply.multiply_adds
        self.found[inner].filled.update(self.puts)
        self.found[inner].taken.update(self.gets)
        for region in op.operation.regions:
            self.read(views_in(region.blocks[0]), inner)
        self.run = None
        for step in operations_named(op, _COUNTED) if ahead else ():
            # The loop has fewer iterations by those of its operations before and after it.
            self._count(step, -ahead)

    def _add(self, op: ir.OpView, loop: LoopWork) -> None:
        operation = op.operation
        name = operation.name
        step = work_of(op, self.warps, self.device, self.elements)
        before, step, after = ((), step, ()) if self.price is None else self.price(op, step)
        if (multiply := multiply_of(op)) is not None:
            loop.multiply_adds += multiply.multiply_adds
            loop.most_columns = max(loop.most_columns, multiply.columns)
        if name in GLOBAL_LOADS:
            loop.thread_bytes += tile_bytes(operation.results[0].type)
        actions = loop.roles.setdefault(self.role, [])
        actions += before
        loop.alternates |= name == SKIP
        if name in _COUNTED:
            self._count_put(op, loop)
        if name.startswith(OVERLAPPED) or name == StoreTensorMemoryOp.OPERATION_NAME and op.pending:
            self._extend_run(operation, step, loop, actions)
        else:
            loop.step += step
            # The results of an operation without work need the same reductions as its operands.
            if self.reduced and not self.reduced.isdisjoint(operation.operands):
                self.reduced.update(operation.results)
            actions += self._actions(op, step, loop)
        actions += after

    def _extend_run(self, op: ir.Operation, step: Step, loop: LoopWork, actions: list[Action]) -> None:
        """Adds an operation to the run at the end of the actions, unless it needs a reduction in there.

        ptxas moves arithmetic over waits, whose loops end a block of code, and over signals hardly ever.
        """
        run = self.run
        if (
            run is None
            or run not in loop.runs[-1:]
            or run.action != len(actions) - 1
            or self.reduced
            and not self.reduced.isdisjoint(op.operands)
        ):
            run = self.run = Run(self.role, self.warps, len(actions))
            self.reduced.clear()
            loop.runs.append(run)
            # Its cycles are known at the end of the run.
            actions.append(Busy(0.0))
        run.step += step
        name = op.name
        if name in (MathOp.OPERATION_NAME, "math.exp2"):
            run.functions.append(op)
        if name == ReduceOp.OPERATION_NAME:
            self.reduced.update(op.results)

    def _channel_name(self, channel: ir.Value) -> str:
        """A name with a number of its own: for the name in the assembly, MLIR would number all values of the kernel."""
        return self.names.setdefault(channel, f"channel {len(self.names)}")

    def _count_put(self, op: ir.OpView, loop: LoopWork) -> None:
        """Counts the slots that this role fills before a loop of its own that empties them, less those that it gets."""
        is_put = op.operation.name == PutCommitOp.OPERATION_NAME
        if is_put and op.first_round:
            # The first round is all puts but one of the slots (README.md, Channels).
            self.puts[self._channel_name(op.channel)] = op.channel.owner.stages - 1
            loop.is_prologue = loop.depth >= 0
        elif loop.depth < 0:
            self._count(op, 1)

    def _count(self, op: ir.OpView, slots: int) -> None:
        """Counts slots that a role fills or uses outside of loops."""
        channel = self._channel_name(op.channel)
        if op.operation.name == PutCommitOp.OPERATION_NAME:
            self.puts[channel] += slots
        else:
            self.gets[channel, op.consumer] += slots

    def _actions(self, op: ir.OpView, step: Step, loop: LoopWork) -> list[Action]:
        name, device = op.operation.name, self.device
        if (multiply := multiply_of(op)) is not None:
            cycles = max(step.tensor_cycles, step.shared_bytes / device.shared_bytes_per_cycle)
            started, factors = Multiply(cycles, latency_cycles(multiply, device)), factor_work(op)
            busy = Busy(cycles_alone(factors, self.warps, device))
            return [started] if factors == NO_WORK else [started, AwaitMultiplies(0), busy]
        if name in TMA_LOADS:
            return [self._load(op, step, loop)]
        if name == WgmmaWaitOp.OPERATION_NAME:
            return [AwaitMultiplies(op.pending)]
        if name in COPIES_OF_THREADS:
            return self._copy(op, step, loop)
        if name in _CHANNEL_SIDES:
            return self._channel_actions(op, loop)
        if name == BarrierOp.OPERATION_NAME:
            return [Busy(device.block_barrier_cycles + device.block_barrier_cycles_per_warp * self.warps)]
        cycles = cycles_alone(step, self.warps, device)
        return [Busy(cycles)] if cycles else []

    def _load(self, op: ir.OpView, step: Step, loop: LoopWork) -> Action:
        moved = tile_bytes(op.buffer.type)
        loop.tma_bytes += moved
        channel = self._channel_name(op.channel)
        made = op.channel.owner
        ring = loop.rings.get(channel, Ring(made.stages, 0.0))
        # A prefetch of the same iteration is for tiles of a later one.
        is_prefetched = op.operation.name == TmaLoadOp.OPERATION_NAME and bool(prefetches_beside(op))
        loop.rings[channel] = replace(ring, bytes=ring.bytes + moved, is_prefetched=is_prefetched)
        # performance.md, "L2->SM B/clk": the port has the bytes that the CTA itself reads, 32 of 48 with a multicast.
        device = self.device
        port = step.l2_bytes / device.l2_bytes_per_cycle
        latency = device.tma_l2_latency_cycles if is_prefetched else device.tma_dram_latency_cycles
        return Load(channel, latency, port)

    def _copy(self, op: ir.OpView, step: Step, loop: LoopWork) -> list[Action]:
        """Threads issue copies, which are complete after the latency of a load: the channel is that of the slot."""
        instructions = Step(alu=step.alu, other_instructions=step.other_instructions)
        issue = Busy(cycles_alone(instructions, self.warps, self.device))
        made, moved = channel_of_buffer(op.buffer), tile_bytes(op.buffer.type)
        if made is None:
            return [issue]
        name = self._channel_name(made.operation.results[0])
        loop.rings[name] = Ring(made.stages, moved, is_copied=True)
        # The port counts among the units: the timeline has one role that uses it.
        latency = self.device.load_dram_latency_cycles + moved / self.device.l2_bytes_per_cycle
        return [issue, Load(name, latency, 0.0)]

    def _channel_actions(self, op: ir.OpView, loop: LoopWork) -> list[Action]:
        made, is_release = op.channel.owner, op.operation.name == ReleaseOp.OPERATION_NAME
        if not is_barrier_step(op.operation):
            return []
        channel = self._channel_name(op.channel)
        # In a branch, which the first iteration does not take, it releases the slot of the iteration before.
        if is_release and op.late and op.operation.parent.name == "scf.if":
            loop.late[channel] += 1
        loop.stages[channel] = made.stages if made.reuse == "ring" else UNLIMITED_STAGES
        waits, side, producer = _CHANNEL_SIDES[op.operation.name]
        if waits:
            return [Wait(channel, side, 0 if producer else op.consumer)]
        consumer = 0 if producer else op.consumer
        party = made.producer if producer else made.consumer_names[consumer]
        return [Signal(channel, side, after_multiplies=party == MMA, consumer=consumer)]


# Operations on elements: their instructions alternate with those of others before and after them.
OVERLAPPED = (*("arith.", "math."), *(op.OPERATION_NAME for op in (MathOp, ReduceOp, LoadTensorMemoryOp, LoadSharedOp)))
# Operations of channels: whether they wait, for or by which side, and whether the producer executes them.
_CHANNEL_SIDES = {
    PutBeginOp.OPERATION_NAME: (True, Side.EMPTY, True),
    PutCommitOp.OPERATION_NAME: (False, Side.FULL, True),
    GetOp.OPERATION_NAME: (True, Side.FULL, False),
    ReleaseOp.OPERATION_NAME: (False, Side.EMPTY, False),
}


def is_barrier_step(op: ir.Operation) -> bool:
    """Whether an operation waits for a slot of a channel, or signals one."""
    if op.name not in _CHANNEL_SIDES:
        return False
    made = op.opview.channel.owner
    # Slots that are filled once have no empty barrier; their order follows from other channels.
    is_used_again = made.reuse == "ring" and made.shares is None
    return is_used_again or op.name not in (PutBeginOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME)


def prefetches_beside(load: TmaLoadOp) -> list[ir.Operation]:
    """The prefetches from the tensor of a load in its block."""
    prefetches = [user for user in users_of(load.map) if user.name == TmaPrefetchOp.OPERATION_NAME]
    return [op for op in prefetches if op.block == load.operation.block]


def _iterations(op: ir.OpView) -> int | None:
    known = known_iterations(op)
    if known is None and ASSUMED_ITERATIONS in op.operation.attributes:
        return ir.IntegerAttr(op.operation.attributes[ASSUMED_ITERATIONS]).value
    return known


def known_iterations(op: ir.OpView) -> int | None:
    """The iterations of scf.for with constant bounds."""
    if op.operation.name != "scf.for":
        return None
    lower, upper, step = (constant_of(operand) for operand in list(op.operation.operands)[:3])
    if lower is None or upper is None or not step:
        return None
    return max(0, -((lower - upper) // step))
