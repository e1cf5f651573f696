"""The class and the clocks of each operation of tile_gpu, for the schedule of loops.

Multiplies, copies and accesses of global memory have the costs of `lowering/schedule/costs.py`, other operations of
threads their work in the cost model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.categories import COPIES_OF_THREADS, GLOBAL_LOADS, GLOBAL_STORES, TMA_LOADS
from tilec.dialect.tile_gpu.operations.kernel import COPY_WARPS
from tilec.dialect.tile_gpu.operations.matrix import MmaSyncOp, Tcgen05MmaOp, Tcgen05MmaSparseOp, WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05MmaScaledOp
from tilec.dialect.tile_gpu.operations.tma import TmaStoreOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.element_types import element_type
from tilec.lowering.gpu.cost.computed_elements import VisitedTiles
from tilec.lowering.gpu.cost.operation_work import multiply_of, work_of
from tilec.lowering.gpu.memory.shared_plan import CTAS_OF_A_PAIR
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.step import (
    ALU,
    FMA,
    ISSUE,
    L2,
    MUFU,
    NO_WORK,
    SHARED_PORT,
    SHUFFLE,
    TENSOR_MEMORY,
    Step,
    cycles_alone,
    unit_cycles,
)
from tilec.lowering.schedule import costs
from tilec.lowering.schedule.costs import Cost
from tilec.lowering.schedule.parts import Kind, Use

# The names of the units that threads use, in schedules.
_UNITS = {
    SHARED_PORT: "smem", L2: "l2", TENSOR_MEMORY: "tmem",
    FMA: "fma", ALU: "alu", MUFU: "mufu", SHUFFLE: "shuffle", ISSUE: "issue",
}  # fmt: skip
# Units that a role uses for less time than this are not listed.
_LEAST_CLOCKS = 16
# The tensor cores multiply elements of this size at the rates of the table.
_TABLE_BITS = 16


def table_cost(op: ir.Operation, target: str, groups: int = 1) -> tuple[Kind, Cost] | None:
    """The class and the cost of an operation that is priced alone; None for others.

    For an operation whose rows are divided among `groups` warpgroups, the cost of the part of one.
    """
    if op.name not in _TABLE:
        return None
    kind, cost = _TABLE[op.name]
    return kind, cost(op, target, groups)


def thread_work(op: ir.OpView, warps: int, target: str, known: VisitedTiles) -> Step:
    """The work of an operation of threads; none for scalars, barriers, and steps on channels."""
    operation = op.operation
    if operation.name in _WITHOUT_COST:
        return NO_WORK
    if not any(is_register_tile(each.type) for values in (operation.results, operation.operands) for each in values):
        return NO_WORK
    return work_of(op, warps, device_of(target), known)


def cost_of_work(work: Step, warps: int, device: Device) -> Cost:
    """The cost of the work of threads: the clocks of the slowest unit, or of the instructions of a warp."""
    duration = costs.clocks(cycles_alone(work, warps, device))
    busy = {unit: costs.clocks(cycles) for unit, cycles in unit_cycles(work, device).items() if unit in _UNITS}
    uses = tuple(Use(_UNITS[unit], clocks) for unit, clocks in busy.items() if clocks >= _LEAST_CLOCKS)
    return Cost(duration, uses, duration)


def tile_bytes(type: ir.Type) -> int:
    """The bytes of a register tile or of a buffer."""
    element = type.element if isinstance(type, BufferType) else type.element_type
    return math.ceil(math.prod(type.shape) * element_type(spell(element)).storage_bits / 8)


def _buffer_bytes(op: ir.Operation) -> int:
    return max((tile_bytes(value.type) for value in op.operands if isinstance(value.type, BufferType)), default=0)


def _multiply(op: ir.Operation, target: str, groups: int) -> Cost:
    """A multiply by tensor cores, whose rate doubles with half the bits; for a pair, the part of one CTA.

    Each CTA of a pair has its rows of lhs and of the accumulator, with all columns, of which it has half of rhs.
    """
    lhs, rhs = op.opview.lhs.type, op.opview.rhs.type
    bits = element_type(spell(lhs.element if isinstance(lhs, BufferType) else lhs.element_type)).storage_bits
    in_place = not isinstance(lhs, BufferType) or lhs.memory == TENSOR
    multiply = multiply_of(op.opview)
    elements = lhs.shape[1] if multiply is None else multiply.depth
    depth = max(1, elements * bits // _TABLE_BITS)
    pair = "pair" in op.attributes
    columns = rhs.shape[1] * (CTAS_OF_A_PAIR if pair else 1)
    return costs.multiply(target, lhs.shape[0] // groups, columns, depth, first_in_place=in_place, pair=pair)


def _warp_multiply(op: ir.Operation, target: str, groups: int) -> Cost:
    lhs, rhs = op.opview.lhs.type, op.opview.rhs.type
    return costs.warp_multiply(target, lhs.shape[0] // groups, rhs.shape[1], lhs.shape[1])


def _global_access(op: ir.Operation, target: str, groups: int) -> Cost:
    """An access of the bytes that threads load or store, without those of addresses and masks."""
    accessed = tile_bytes(op.results[0].type if op.results else op.opview.value.type)
    return costs.global_access(target, accessed // groups)


def _copy(op: ir.Operation, target: str, _groups: int) -> Cost:
    """Threads issue the copies, which take as long as a load between registers and memory."""
    access = costs.global_access(target, _buffer_bytes(op))
    device = device_of(target)
    work = work_of(op.opview, COPY_WARPS, device, VisitedTiles())
    return Cost(costs.clocks(cycles_alone(work, COPY_WARPS, device)), access.uses, access.latency)


def _tma(op: ir.Operation, target: str, _groups: int) -> Cost:
    cost = costs.tma_store if op.name == TmaStoreOp.OPERATION_NAME else costs.tma_load
    return cost(target, _buffer_bytes(op), "l2")


# Operations that are priced alone.
_TABLE: dict[str, tuple[Kind, Callable[[ir.Operation, str, int], Cost]]] = {
    **dict.fromkeys(TMA_LOADS, (Kind.STREAM, _tma)),
    TmaStoreOp.OPERATION_NAME: (Kind.TILE, _tma),
    **dict.fromkeys(COPIES_OF_THREADS, (Kind.TILE, _copy)),
    Tcgen05MmaOp.OPERATION_NAME: (Kind.ISSUE, _multiply),
    Tcgen05MmaScaledOp.OPERATION_NAME: (Kind.ISSUE, _multiply),
    Tcgen05MmaSparseOp.OPERATION_NAME: (Kind.ISSUE, _multiply),
    WgmmaOp.OPERATION_NAME: (Kind.TILE, _multiply),
    MmaSyncOp.OPERATION_NAME: (Kind.TILE, _warp_multiply),
    **dict.fromkeys((*GLOBAL_LOADS, *GLOBAL_STORES), (Kind.TILE, _global_access)),
}
# Waits execute no instructions of their own.
_WITHOUT_COST = (WgmmaWaitOp.OPERATION_NAME, "arith.constant")
