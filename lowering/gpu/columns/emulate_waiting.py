"""Exponentials get the share of polynomials that is best in the order of a schedule, where roles wait for each other.

before:   for .. { load %s;  %p = exp2 polynomials 3;  store %p }     the tensor core waits for the threads
after:    for .. { load %s;  %p = exp2 polynomials 5;  store %p }     the threads no longer wait for MUFU

`emulate-exponentials` counts the units alone: schedules are chosen with its share, and this one is chosen after them.
It also counts the time for which a role waits, so that a unit may have more to do than MUFU in the whole loop, while
MUFU has the most to do between two steps of the threads.

Warpgroups that multiply in registers alternate (order_warpgroups.py): one computes exponentials while the other one
multiplies, which the timeline does not show. Their share stays.
"""

from __future__ import annotations

from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.lowering.gpu.columns.emulate_exponentials import SAVED, set_shares
from tilec.lowering.gpu.cost.loop_cycles import cycles_of
from tilec.lowering.gpu.kernel_pass import Context


def emulate_waiting(kernel: KernelOp, context: Context) -> None:
    """Sets `polynomials` in a tile_gpu.kernel in place; run when its loops have their schedules."""
    set_shares(kernel, context, lambda loop, device, blocks: cycles_of(loop, device, blocks).cycles, SAVED)
