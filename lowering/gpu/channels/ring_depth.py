"""Each ring of loads gets the slots that it wants: the latency of a load over the cycles between two.

A slot is in use from the issue of its loads until the operations that read it are complete. The cost model
(`lowering/model/`) has the latencies, and the cycles that the busiest unit of an SM takes for an iteration.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import COPIES_OF_THREADS, GLOBAL_LOADS, TENSOR_CORE_OPERATIONS, TMA_LOADS
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import COPIES, MMA, THREADS, TMA, WGMMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, NumProgramsOp
from tilec.dialect.tile_gpu.operations.memory import LoadSharedOp, LoadSharedRowsOp, StoreSharedOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import inner_operations, operations_named, users_of
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.operation_work import work_of
from tilec.lowering.gpu.ir.enclosing import LOOPS, path_to
from tilec.lowering.gpu.ir.slots import GET, PUT, channels_of, users_of_slots
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_names import loop_names
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import SharedPlan, memory_plan
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint
from tilec.lowering.model.b200 import BANDWIDTH_BY_KILOBYTES_IN_FLIGHT
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.launch import Ring
from tilec.lowering.model.step import HBM, Step, unit_cycles

_LOADS = (*GLOBAL_LOADS, LoadSharedOp.OPERATION_NAME)
DEFAULT_STAGES, MAXIMUM_STAGES = 4, 16
# A ring of an outer loop: one slot is loaded while the inner loop reads the other.
_OUTER_STAGES = 2
# The least bytes in flight per SM at which HBM reaches nearly all of its bandwidth.
_NEARLY_ALL = 0.95
BYTES_IN_FLIGHT = min(
    int(1024 * kilobytes) for kilobytes, share in BANDWIDTH_BY_KILOBYTES_IN_FLIGHT if share > _NEARLY_ALL
)

# A ring that threads fill: one slot is multiplied while they load and store the next tile.
_STORED_STAGES = 2


def set_wanted_stages(kernel: KernelOp, context: Context) -> None:
    """Writes the attribute `wanted` of rings that loads and copies fill, but where it is given."""
    number = ir.IntegerType.get_signless(32, kernel.operation.context)
    for op in rings_of(kernel, THREADS):
        if op.wanted is None and op.consumer_names in ([MMA], [WGMMA]) and are_loaded_where_stored(of_ring(op)):
            op.operation.attributes["wanted"] = ir.IntegerAttr.get(number, _STORED_STAGES)
    rings = rings_of(kernel, TMA, COPIES)
    if not rings:
        return
    target, plan = context.target, memory_plan(kernel)
    loops = LoopCycles(kernel, device_of(target.name))
    slots = sum(plan.channels[op.channel].slot_bytes for op in rings)
    default_bytes = plan.declared_bytes + (DEFAULT_STAGES - 1) * slots
    blocks = kernel_hint(kernel, OCCUPANCY) or blocks_together(kernel, target, default_bytes, plan.tensor_columns)
    multiplies = bool(operations_named(kernel, TENSOR_CORE_OPERATIONS))
    for op in [op for op in rings if op.wanted is None]:
        is_streamed = is_read_by_threads(op) and not multiplies and not _is_read_by_rows(op)
        wanted = _streamed_stages(kernel, slots) if is_streamed else loops.wanted_stages(op, plan, blocks)
        op.operation.attributes["wanted"] = ir.IntegerAttr.get(number, min(MAXIMUM_STAGES, wanted))


def rings_of(kernel: KernelOp, *producers: str) -> list[MakeChannelOp]:
    """The rings that some producers fill, the first channel of each."""
    rings = [op for op in channels_of(kernel) if op.reuse == "ring" and not op.continues]
    return [op for op in rings if op.producer in producers]


def of_ring(op: MakeChannelOp) -> list[MakeChannelOp]:
    """The first channel of a ring and those that continue it."""
    users = (user.opview for user in users_of(op.channel))
    return [op, *(user for user in users if isinstance(user, MakeChannelOp) and user.continues)]


def is_read_by_threads(op: MakeChannelOp) -> bool:
    """Whether threads alone read a ring: HBM then bounds the loop, and the other blocks of the SM load too."""
    return op.consumer_names == [THREADS]


def _is_read_by_rows(op: MakeChannelOp) -> bool:
    """Whether threads read several operands of multiplies from each slot, as from runs of pixels: L2 has these too."""
    return any(user.name == LoadSharedRowsOp.OPERATION_NAME for user in users_of_slots(op.channel, (GET,)))


def _streamed_stages(kernel: KernelOp, slot_bytes: int) -> int:
    """A persistent kernel has one block per SM, whose slots are all that is in flight; others have several."""
    if not operations_named(kernel, (NumProgramsOp.OPERATION_NAME,)):
        return DEFAULT_STAGES
    return max(DEFAULT_STAGES, -(-BYTES_IN_FLIGHT // slot_bytes))


class LoopCycles:
    """The work of an iteration of each loop of a kernel, over all roles, without that of loops inside."""

    def __init__(self, kernel: KernelOp, device: Device) -> None:
        self.device = device
        self.names = loop_names(kernel)
        self.outer: set[str] = set()
        self.work: defaultdict[str, Step] = defaultdict(Step)
        self._read(kernel, None, kernel.warps, VisitedTiles())

    def _read(self, around: ir.OpView, loop: str | None, warps: int, elements: VisitedTiles) -> None:
        """Adds the operations inside an operation, which is in a loop or outside of loops."""
        for op in inner_operations(around):
            operation = op.operation
            inner = self.names.get(operation)
            if loop is not None and inner is not None:
                self.outer.add(loop)
            elif loop is not None:
                self.work[loop] += work_of(op, warps, self.device, elements)
            if operation.regions:
                self._read(op, loop if inner is None else inner, warps, elements)

    def _around(self, op: ir.Operation) -> str | None:
        """The name of the innermost loop that contains an operation."""
        return next((self.names[outer] for outer in reversed(path_to(op)) if outer in self.names), None)

    def wanted_stages(self, op: MakeChannelOp, plan: SharedPlan, blocks: int) -> int:
        """The slots with which no operation waits for loads, if `blocks` blocks share the units of an SM."""
        loads = [load for channel in of_ring(op) for load in loads_of(channel)]
        loops = {name for name in map(self._around, loads) if name is not None} - self.outer
        if not loops:
            # Threads read a tile of an outer loop once, long before the next one.
            return 1 if is_read_by_threads(op) else _OUTER_STAGES
        # Several tiles of an iteration may be in one ring in turn.
        period = min(self.of(loop) / max(1, self._fills(op, loop)) for loop in loops) * blocks
        channel = plan.channels[op.channel]
        ring = Ring(bytes=channel.slot_bytes, copies=0 if op.producer == COPIES else len(channel.buffers))
        latency = ring.load_cycles(self.device) + 2 * self.device.barrier_latency_cycles
        if {MMA, WGMMA} & set(op.consumer_names):
            latency += self.device.multiply_latency_cycles
        # `wgmma-in-flight` releases a slot an iteration later.
        return 1 + math.ceil(latency / period) + (WGMMA in op.consumer_names)

    def _fills(self, op: MakeChannelOp, loop: str) -> int:
        puts = [user for channel in of_ring(op) for user in users_of(channel.channel) if user.name == PUT]
        return sum(self._around(put) == loop for put in puts)

    def of(self, loop: str) -> float:
        """The cycles of the busiest unit; L2 has the operands of multiplies."""
        units = unit_cycles(self.work[loop], self.device)
        return max(1.0, *(cycles for unit, cycles in units.items() if unit != HBM))


def loads_of(channel: MakeChannelOp) -> Iterator[ir.Operation]:
    """The loads by TMA and the copies that fill the slots of a channel."""
    yield from (op for op in users_of(channel.channel) if op.name in TMA_LOADS)
    yield from (op for op in users_of_slots(channel.channel, (PUT,)) if op.name in COPIES_OF_THREADS)


def are_loaded_where_stored(ring: Sequence[MakeChannelOp]) -> bool:
    """Whether each tile that the channels of a ring get is loaded in the iteration of a loop that stores it."""
    users = (op for channel in ring for op in users_of_slots(channel.channel, (PUT,)))
    stores = [op for op in users if op.name == StoreSharedOp.OPERATION_NAME]
    return bool(stores) and all(_is_loaded(store.operands[0], store.block) for store in stores)


def _is_loaded(tile: ir.Value, body: ir.Block) -> bool:
    """Whether a tile derives from loads in the body of a loop, and from nothing else that changes in the loop."""
    if body.owner.name not in LOOPS:
        return False
    pending, seen, has_load = [tile], {tile}, False
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block):
            if owner == body:
                return False
        elif owner.operation.block != body:
            continue
        elif owner.name in _LOADS:
            has_load = True
        elif interface_of(owner.name).is_pure:
            pending += [value for value in owner.operands if is_register_tile(value.type) and value not in seen]
            seen.update(owner.operands)
        else:
            return False
    return has_load
