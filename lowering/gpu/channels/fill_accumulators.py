"""Accumulators that no multiply has written get their value in tensor memory, not in the registers that read it.

Before:  %x = if %ran { load_tensor_memory %slot from 64 } else { constant 0 }
after:   if not %ran { store_tensor_memory 0, %slot from 64 };  %x = load_tensor_memory %slot from 64

Two branches that give the same registers need a move for each of them: a quarter of the PTX of a GEMM of 128x128, which
ptxas 13.5 takes a tenth of its time to remove.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import StoreTensorMemoryOp
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.slots import GET, channel_of_buffer, load_or_constant, step_of_buffer
from tilec.lowering.gpu.kernel_pass import Context


def fill_accumulators(kernel: KernelOp, _context: Context) -> None:
    """Rewrites a tile_gpu.kernel in place."""
    of_slots = defaultdict[ir.Value, dict[ir.Operation, tuple[ir.Operation, ir.Value]]](dict)
    for branch in operations_inside(kernel):
        chosen = load_or_constant(branch)
        if chosen is not None:
            of_slots[chosen[0].operands[0]][branch] = chosen
    for slot, branches in of_slots.items():
        if _is_read_by(slot, branches):
            for branch, (load, value) in branches.items():
                _fill(branch, load, value)


def _is_read_by(slot: ir.Value, branches: Collection[ir.Operation]) -> bool:
    """Whether a slot of a channel with one consumer is read by branches on one condition alone."""
    step, channel = step_of_buffer(slot), channel_of_buffer(slot)
    if step is None or channel is None or step.name != GET:
        return False
    conditions = {branch.operands[0] for branch in branches}
    has_one_consumer = len(channel.consumers) == 1
    return has_one_consumer and len(conditions) == 1 and len(list(slot.uses)) == len(branches)


def _fill(branch: ir.Operation, load: ir.Operation, value: ir.Value) -> None:
    with branch.location, ir.InsertionPoint(branch):
        never = emitter.binary("arith.xori", branch.operands[0], emitter.boolean(True))
        with emitter.only_if(never):
            stored = value.owner.operation.clone().results[0]
            emitter.gpu(StoreTensorMemoryOp, [stored, load.operands[0]], [], first_column=load.opview.first_column)
    load.move_before(branch)
    branch.results[0].replace_all_uses_with(load.results[0])
    branch.erase()
