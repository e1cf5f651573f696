"""Leaves the multiplies of a loop in flight while the next iteration issues its own.

before:   for i < n { get;  s += wgmma;  wait s;  release }
after:    all but the wait and the release is scheduled an iteration ahead

Of several multiplies the last one for each accumulator is in flight. One slot is read by the multiply in flight, and
another by the one that is issued.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.channel import TMA
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.late_waits import LateWaits, late_waits
from tilec.lowering.gpu.schedule.legal_schedules import write_schedules


def wgmma_in_flight(kernel: KernelOp, context: Context) -> None:
    """Gives the loops of roles schedules; run after rings have their slots.

    Without roles the threads that multiply fill the slots too, and would wait for slots that they release later.
    """
    if kernel.roles is None:
        return
    for loop in [op for op in operations_inside(kernel.roles) if op.name == "scf.for"]:
        found = late_waits(loop)
        if found is not None and all(_has_slots(channel, found) for channel in found.releases):
            write_schedules(kernel, {loop: found.order()}, context)


def _has_slots(channel: ir.Value, found: LateWaits) -> bool:
    """Whether a ring has a slot beside those that multiplies in flight read, which are released later.

    Where the multiplies of an iteration wait for each other, another one is loaded meanwhile: in the program's order
    none of the slots is held longer than its multiply takes.
    """
    made = channel.owner.opview
    is_loaded = made.producer == TMA and len(found.waits) > found.pending
    return bool(made.stages > found.held(channel) + is_loaded)
