"""Rings leave memory for another block of the SM, if it hides more of the time than their slots do.

before:   stages 4, stages 4: one block, which waits for its own threads     765 cycles of an iteration
after:    stages 2, stages 3: two blocks, one of which multiplies while the other one waits     644

`pipeline` gives rings the slots that hide the latency of loads in one block. How long a block waits is known when loops
have their schedules, so that the cost model compares numbers of blocks after them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import COPIES, TMA, MakeChannelOp
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, NumProgramsOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.channels.pipeline import set_stages
from tilec.lowering.gpu.channels.ring_depth import rings_of
from tilec.lowering.gpu.cost.loop_cycles import cycles_of_loops
from tilec.lowering.gpu.cost.loop_work import loops_of
from tilec.lowering.gpu.ir.scratch_use import scratch_bytes
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.loop_parts import divided_loops, has_choices
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.gpu.memory.shared_plan import SharedPlan
from tilec.lowering.gpu.schedule.legal_schedules import is_live
from tilec.lowering.kernel_hints import OCCUPANCY, kernel_hint
from tilec.lowering.model.constants import device_of
from tilec.lowering.target import share_of_block

# The share of the time that more blocks have to save.
_LEAST_GAIN = 0.05


def share_processor(kernel: KernelOp, context: Context) -> bool:
    """Takes slots from the rings of a kernel with roles, whose loops are expanded; returns False if it is as before."""
    if kernel.roles is None or kernel.cluster_ctas > 1 or kernel_hint(kernel, OCCUPANCY) is not None:
        return False
    # With budgets, one block has all registers; a persistent kernel has as many blocks as the user starts.
    if kernel.roles.registers is not None or not _waits(kernel, context):
        return False
    if operations_named(kernel, (NumProgramsOp.OPERATION_NAME,)):
        return False
    target, plan, device = context.target, context.plan(kernel), device_of(context.target.name)
    needed = plan.bytes_with(scratch_bytes(kernel))
    rings = [op for op in rings_of(kernel, TMA, COPIES) if op.stages > 1]
    spare = sum((op.stages - 1) * plan.channels[op.channel].slot_bytes for op in rings)
    present, most = (blocks_together(kernel, target, size, plan.tensor_columns) for size in (needed, needed - spare))
    if present == most:
        return False

    def cycles(blocks: int) -> float:
        return cycles_of_loops(loops_of(kernel, device, counts_outside=False)[0], device, blocks)

    before = best = [op.stages for op in rings]
    limit, chosen = cycles(present) * (1 - _LEAST_GAIN), None
    for blocks in range(present + 1, most + 1):
        excess_bytes = needed - share_of_block(target, blocks).shared_bytes
        if excess_bytes > spare:
            break
        slots = _slots(rings, before, plan, excess_bytes)
        _set_slots(rings, slots)
        found = cycles(blocks)
        if found < limit and is_live(kernel):
            best, limit, chosen = slots, found * (1 - _LEAST_GAIN), blocks
    _set_slots(rings, best)
    if chosen is None:
        return False
    number = ir.IntegerType.get_signless(32, kernel.operation.context)
    kernel.operation.attributes[OCCUPANCY] = ir.IntegerAttr.get(number, chosen)
    return True


def _waits(kernel: KernelOp, context: Context) -> bool:
    """Whether a loop may wait for its own threads: it does more than one multiply of tiles that TMA loads."""
    return any(map(has_choices, context.once(divided_loops, lambda: divided_loops(kernel))))


def _slots(rings: Sequence[MakeChannelOp], present: Sequence[int], plan: SharedPlan, excess_bytes: int) -> list[int]:
    """The slots of rings without this number of bytes: the ring with most of the slots that it wants lacks the next."""
    slots = list(present)
    while excess_bytes > 0:
        shares = [(count > 1, count / (op.wanted or 1)) for op, count in zip(rings, slots, strict=True)]
        number = shares.index(max(shares))
        slots[number] -= 1
        excess_bytes -= plan.channels[rings[number].channel].slot_bytes
    return slots


def _set_slots(rings: Sequence[MakeChannelOp], slots: Sequence[int]) -> None:
    for op, count in zip(rings, slots, strict=True):
        set_stages(op, count)
