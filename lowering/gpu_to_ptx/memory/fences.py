"""Fences between proxies (PTX ISA 9.7.13.4) and barriers of the threads of a role."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.memory import (
    AcquiredOp,
    BarrierOp,
    FenceAcquiredOp,
    FenceAliasOp,
    FenceAsyncOp,
    ScheduleBarrierOp,
)
from tilec.lowering.gpu_to_ptx.memory.channel import AFTER_SYNC, BEFORE_SYNC, FENCE_ASYNC
from tilec.lowering.gpu_to_ptx.registers.elements import element_named
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

# No event of the performance monitor: ptxas 13.0 and 13.5 move nothing over it.
SCHEDULE_BARRIER = "pmevent.mask 0;"
# The operations that are one instruction without operands.
_INSTRUCTIONS = {
    # PTX ISA 9.7.13.4: TMA reads through the async proxy, the acquire orders accesses of the generic one.
    FenceAcquiredOp.OPERATION_NAME: "fence.proxy.async.global;",
    FenceAliasOp.OPERATION_NAME: "fence.proxy.alias;",
    ScheduleBarrierOp.OPERATION_NAME: SCHEDULE_BARRIER,
}


@lowers(FenceAsyncOp)
def _fence_async(lowering: Lowering, operation: ir.Operation) -> None:
    lowering.b.execute(FENCE_ASYNC)
    if "global_memory" in operation.attributes:
        lowering.b.execute("fence.proxy.async.global;")


@lowers(AcquiredOp)
def _acquired(lowering: Lowering, operation: ir.Operation) -> None:
    lowering.set(operation.results[0], [lowering.constant(element_named("i32"), 0)])


@lowers(*_INSTRUCTIONS)
def _instruction(lowering: Lowering, operation: ir.Operation) -> None:
    lowering.b.execute(_INSTRUCTIONS[operation.name])


@lowers(BarrierOp)
def _barrier(lowering: Lowering, operation: ir.Operation) -> None:
    # PTX ISA 9.7.16.6.2: threads that access tensor memory synchronize between two fences.
    is_of_tensor_memory = operation.opview.tensor
    if is_of_tensor_memory:
        lowering.b.execute(BEFORE_SYNC)
    lowering.barrier()
    if is_of_tensor_memory:
        lowering.b.execute(AFTER_SYNC)
