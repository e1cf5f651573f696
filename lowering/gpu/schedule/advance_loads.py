"""In loops with multiplies or rings, tiles that threads load are loaded some iterations before they are used.

before:   for i < n { x = load(i);  .. x .. }                 threads wait for memory in each iteration
after:    x = load(0), y = load(1);  for i < n { .. x ..;  z = load(i + 2);  x, y = y, z }

Each load is under the condition that its iteration exists, and after the last use of the tile in whose registers it
loads. The body is repeated for each tile on its way, as to move one to other registers would wait for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import REGISTER_MULTIPLIES, TENSOR_CORE_OPERATIONS
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.channel import GetOp, PutBeginOp, PutCommitOp, ReleaseOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import FenceAsyncOp, StoreSharedOp
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp, ReshapeOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import operations_in, operations_inside, operations_of
from tilec.lowering.emitter import constant_of
from tilec.lowering.gpu.channels.ring_depth import LoopCycles
from tilec.lowering.gpu.ir.early_loads import early_loads, with_addresses
from tilec.lowering.gpu.ir.enclosing import LOOPS
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.ir.tile_size import tile_bytes
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_names import loop_names
from tilec.lowering.gpu.memory.live_tiles import packed_registers, tile_peak
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import memory_plan
from tilec.lowering.gpu.roles.register_budgets import registers_for
from tilec.lowering.gpu.schedule.legal_schedules import operations_of_body, write_schedules
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint
from tilec.lowering.model.constants import device_of
from tilec.lowering.target import Target
from tilec.remarks import Loss, Remark

_WAITS = (*TENSOR_CORE_OPERATIONS, *REGISTER_MULTIPLIES, GetOp.OPERATION_NAME)
# What converts a tile and stores it in a slot, and what follows.
_STORES = tuple(op.OPERATION_NAME for op in (ConvertLayoutOp, ReshapeOp, PutBeginOp, StoreSharedOp))
_SIGNALS = (FenceAsyncOp.OPERATION_NAME, PutCommitOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME)
# Each iteration ahead has registers of its own, and code before the loop.
MOST_ITERATIONS_AHEAD = 4
# Longer bodies are not repeated.
_MOST_REPEATED = 64


@dataclass(frozen=True)
class _Loads:
    """The loads of a loop that can run ahead.

    Attributes:
        role: the number of the role.
        loop: the loop.
        body: its body.
        members: the loads, in program order.
        step: the difference of two counters.
        wanted: the iterations ahead that hide their latency.
    """

    role: int
    loop: ir.Operation
    body: ir.Block
    members: list[ir.Operation]
    step: int
    wanted: int

    @property
    def registers(self) -> int:
        """The registers of a thread for the tiles of one iteration."""
        return max(1, sum(packed_registers(op.results[0].type) for op in self.members))


def advance_loads(kernel: KernelOp, context: Context) -> None:
    """Rewrites the loops of a tile_gpu.kernel in place; run after rings have their slots.

    With the option `register_budgets`, roles without budgets get some if the tiles need more than an equal share. A
    remark names the loads of which fewer iterations are on their way than hide the latency.
    """
    for loads in _loads_of(kernel, context.target):
        present = tile_peak(loads.body).needed
        needed = present + loads.wanted * loads.registers
        room = max(0, registers_for(kernel, loads.role, needed, context.options) - present) // loads.registers
        if room < loads.wanted:
            context.remarks.append(_remark(loads, room))
        if room:
            order = _order(loads.loop, loads.members, min(room, loads.wanted))
            write_schedules(kernel, {loads.loop: order}, context)


def _remark(loads: _Loads, ahead: int) -> Remark:
    message = (
        f"threads load {ahead} iterations ahead, and {loads.wanted} would hide the latency of memory: each needs "
        f"{loads.registers} registers of a thread; smaller tiles, or operands that TMA can load, need fewer"
    )
    loss = Loss("ahead", count=ahead / loads.wanted)
    return Remark("pipeline", message, source_location(loads.members[0].location), loss)


# ---- which loads run ahead


def _loads_of(kernel: KernelOp, target: Target) -> list[_Loads]:
    """The loads of the innermost loops that take part in multiplies, in program order."""
    roles = kernel.roles
    blocks = [kernel.body.blocks[0]] if roles is None else [region.blocks[0] for region in roles.bodies.values()]
    inside = [(role, op) for role, block in enumerate(blocks) for op in operations_of(block)]
    loops = [(role, op) for role, op in inside if op.name == "scf.for" and _is_innermost(op)]
    found = [(role, loop, early) for role, loop in loops if (early := _early_loads(loop))]
    if not found:
        return []
    waiting, cycles = _loops_that_wait(kernel), LoopCycles(kernel, device_of(target.name))
    loads = []
    for role, loop, early in found:
        step = constant_of(loop.operands[2])
        if step is not None and step > 0 and cycles.names[loop] in waiting:
            period = cycles.of(cycles.names[loop]) * _blocks(kernel, target)
            wanted = _wanted(loop, early, period, target)
            loads.append(_Loads(role, loop, loop.regions[0].blocks[0], early, step, wanted))
    return loads


def _early_loads(loop: ir.Operation) -> list[ir.Operation]:
    body = loop.regions[0].blocks[0]
    return early_loads(operations_in(body), body)


def _is_innermost(loop: ir.Operation) -> bool:
    return not any(op.name in LOOPS for op in operations_inside(loop))


def _loops_that_wait(kernel: KernelOp) -> set[str]:
    """The names of the loops in whose body, in any role, tiles are multiplied, or threads wait for slots."""
    names = loop_names(kernel)
    return {name for loop, name in names.items() if any(op.name in _WAITS for op in operations_inside(loop))}


def _blocks(kernel: KernelOp, target: Target) -> int:
    """The blocks of an SM, which load while others wait: all for which it has room, and at least those of the hint."""
    plan = memory_plan(kernel)
    together = blocks_together(kernel, target, plan.bytes_with(scratch_bytes(kernel)), plan.tensor_columns)
    return max(together, kernel_hint(kernel, OCCUPANCY) or 1)


def _wanted(loop: ir.Operation, loads: Sequence[ir.Operation], period: float, target: Target) -> int:
    """The iterations of `period` cycles that take as long as a load from memory."""
    device = device_of(target.name)
    transfer = sum(tile_bytes(op.results[0].type) for op in loads) / device.l2_bytes_per_cycle
    most = 1 if len(loop.regions[0].blocks[0].operations) > _MOST_REPEATED else MOST_ITERATIONS_AHEAD
    return min(most, math.ceil((device.load_dram_latency_cycles + transfer) / period))


# ---- the schedule


def _order(loop: ir.Operation, loads: Sequence[ir.Operation], ahead: int) -> LoopOrder:
    """The body in program order, but the loads, with their addresses, after the last use of the tiles they replace.

    They are together, so that one condition holds for all of them.
    """
    body = loop.regions[0].blocks[0]
    moved = {op for load in loads for op in with_addresses(load, body) if not is_rematerializable(op)}
    uses, operations = {_last_use(load, body) for load in loads}, operations_of_body(loop)
    *_, last = (op for op in operations if op in uses)
    order = dict[ir.Operation, int]()
    for op in operations:
        if op not in moved and not is_rematerializable(op):
            order[op] = 0
        if op == last:
            order.update((each, ahead) for load in loads for each in with_addresses(load, body) if each in moved)
    return list(order.items())


def _last_use(load: ir.Operation, body: ir.Block) -> ir.Operation:
    """The last operation of a body that uses a tile, or the signal that what is computed from it is stored.

    The fence before a signal may wait for loads that are on their way.
    """
    users = set[ir.Operation]()
    for use in load.results[0].uses:
        op = use.owner.operation
        while op.block != body:
            op = op.parent.operation
        users.add(op)
    *operations, _ = operations_in(body)
    last = max((number for number, op in enumerate(operations) if op in users), default=operations.index(load))
    following = itertools.takewhile(_stores_or_signals, operations[last + 1 :])
    return next((op for op in reversed(list(following)) if op.name in _SIGNALS), operations[last])


def _stores_or_signals(op: ir.Operation) -> bool:
    return op.name in _STORES or op.name in _SIGNALS or interface_of(op.name).is_elementwise
