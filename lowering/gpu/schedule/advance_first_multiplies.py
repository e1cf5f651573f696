"""The `wgmma` that starts an iteration is issued with the delayed one of the iteration before, so that no thread waits.

before:   for i < n { s = q @ k(i);  o += p @ v(i - 1);  wait s;  f(s);  wait o;  p = f(s);  o = o * g(s) }
after:    s = q @ k(0);  wait s
          for i < n - 1 { o += p @ v(i - 1);  t = q @ k(i + 1);  f(s);  wait o;  p = f(s);  o = o * g(s)
                          wait t;  s = t }
          the last iteration without t

The sums of two iterations are live at once, so that only roles with budgets of registers have room for them. The
multiply may also follow the first reduction, before which sums are often read for the last time. A copy of the kernel
tells the registers and the cycles of each order.
This is the pipeline of three stages of FlashAttention-3 (Shah et al., 2024, appendix B.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import id_of
from tilec.dialect.tile_gpu.operations.channel import TMA
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp
from tilec.dialect.tile_gpu.schedule import LoopOrder
from tilec.dialect.walk import operations_inside, operations_named, operations_of
from tilec.errors import UnsupportedError
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.gpu.roles.register_budgets import registers_for
from tilec.lowering.gpu.schedule.delay_multiplies import (
    CLUSTER_REGISTERS,
    WARPGROUP_MARGIN,
    get_of,
    only_release,
    only_wait,
)
from tilec.lowering.gpu.schedule.expand_schedules import arranged
from tilec.lowering.gpu.schedule.legal_schedules import operations_of_body, write_schedules
from tilec.lowering.gpu.schedule.present_interval import cycles_of_kernel

_MULTIPLY = WgmmaOp.OPERATION_NAME
# One slot is read by the multiply in flight while the next one is filled.
_LEAST_SLOTS = 2
# The share of the time that the other order has to save.
_LEAST_GAIN = 0.02


def advance_first_multiplies(kernel: KernelOp, context: Context) -> None:
    """Gives the loops of roles schedules, where registers suffice and the model finds the kernel faster."""
    roles = kernel.roles
    if roles is None:
        return
    for number, region in enumerate(roles.bodies.values()):
        for loop in [op for op in operations_of(region.blocks[0]) if op.name == "scf.for"]:
            order = _fastest(kernel, number, loop, context)
            if order is None or not write_schedules(kernel, {loop: order}, context):
                continue
            # The steady state has warpgroups that alternate, which the cycles of an H200 do not confirm.
            if (id := id_of(loop)) is not None:
                context.at_bound.add(id)


def _fastest(kernel: KernelOp, number: int, loop: ir.Operation, context: Context) -> LoopOrder | None:
    """The order of the loop of a role with the fewest cycles, if it has enough registers; None if no order saves some.

    An earlier place of the multiply is taken unless a later one saves some as well.
    """
    best, found = math.inf, None
    for order in _orders(loop):
        cycles = _cycles_with(kernel, number, loop, order, context)
        if cycles == math.inf:
            continue
        best = cycles_of_kernel(kernel, context) if found is None else best
        if cycles <= best * (1 - _LEAST_GAIN):
            best, found = cycles, order
    return found


def _orders(loop: ir.Operation) -> Iterator[LoopOrder]:
    """The orders of a body whose first multiply is an iteration ahead, from the earliest place of the multiply on."""
    operations = [op for op in operations_of_body(loop) if not is_rematerializable(op)]
    multiplies = [op for op in operations if op.name == _MULTIPLY]
    if len(multiplies) != 2 or len(operations_named(loop.opview, (_MULTIPLY,))) != 2:
        return
    first, delayed = multiplies
    body = first.block
    if delayed.opview.lhs.owner != body or first.opview.accumulator.owner == body:
        return
    if any(op.opview.promote for op in multiplies):
        return
    wait, (get, views) = only_wait(first, pending=1), get_of(first.opview.rhs)
    release = None if get is None else only_release(get, body, _LEAST_SLOTS)
    if wait is None or get is None or release is None or get.operands[0].owner.opview.producer != TMA:
        return
    start, end = [get, *views, first], [wait, release]
    rest = [op for op in operations if op not in start and op not in end]
    places = [rest.index(delayed) + 1]
    places += [number + 1 for number, op in enumerate(rest) if op.name == ReduceOp.OPERATION_NAME][:1]
    for place in places:
        yield [
            *((op, 0) for op in rest[:place]),
            *((op, 1) for op in start if not is_rematerializable(op)),
            *((op, 0) for op in rest[place:]),
            *((op, 1) for op in end),
        ]


def _cycles_with(kernel: KernelOp, number: int, loop: ir.Operation, order: LoopOrder, context: Context) -> float:
    """The cycles of a kernel whose role has an order of its loop; infinity if its registers do not suffice."""
    with kernel.operation.location:
        trial = kernel.operation.clone(ip=ir.InsertionPoint.after(kernel.operation)).opview
    try:
        copies = dict(zip(operations_inside(kernel), operations_inside(trial), strict=True))
        numbers = {op: place for place, op in enumerate(operations_of_body(loop))}
        ranks = {numbers[op]: rank for rank, (op, _) in enumerate(order)}
        made = arranged(copies[loop], ranks, {numbers[op]: ahead for op, ahead in order})
        if made is None:
            return math.inf
        needed = tile_peak(made[0].regions[0].blocks[0]).needed + WARPGROUP_MARGIN
        needed += CLUSTER_REGISTERS if kernel.ctas > 1 else 0
        has_registers = needed <= registers_for(trial, number, needed, context.options)
        # Without budgets other blocks may share the SM, which multiply while threads of this one wait.
        is_alone = trial.roles is not None and trial.roles.registers is not None
        return cycles_of_kernel(trial, context) if has_registers and is_alone else math.inf
    except UnsupportedError:
        return math.inf
    finally:
        trial.operation.erase()
