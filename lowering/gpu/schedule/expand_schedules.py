"""Expands the schedules of loops: the only pass that executes operations of a loop before or after it.

before:   for i < n { a = f(i) {schedule 1, 1};  g(i, a) {schedule 0, 0} }
after:    if 0 < n { a = f(0);  for i < n - 1 carrying a { g(i, a);  a = f(i + 1) };  g(n - 1, a) }

Then rings may give up slots for another block of the SM (share_processor.py), and tiles of rings that are short are
prefetched to L2 (prefetch_loads.py).
Without the pass loops are in the order of the program, whatever their schedules are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.schedule import LoopOrder, Position, remove_schedule, rounds_of, scheduled_loops
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.kernel_pass import Context, State
from tilec.lowering.gpu.loops.guarded_loads import load_ahead
from tilec.lowering.gpu.loops.late_waits import LateWaits, wait_late
from tilec.lowering.gpu.loops.pending_multiplies import await_all, can_count_pending, count_pending
from tilec.lowering.gpu.loops.reorder_body import dependences, reorder_body, spread
from tilec.lowering.gpu.loops.rotate_loop import Origins, rotate_loop
from tilec.lowering.gpu.loops.rounds import execute_in_rounds
from tilec.lowering.gpu.schedule.legal_schedules import (
    missing_position,
    only_loads_are_ahead,
    only_waits_are_late,
    operations_of_body,
    present_order,
    schedule_error,
)
from tilec.lowering.gpu.schedule.prefetch_loads import prefetch_loads
from tilec.lowering.gpu.schedule.share_processor import share_processor

_Number = TypeVar("_Number")


def expand_schedules(kernel: KernelOp, context: Context) -> bool:
    """The pass; returns False if the kernel is as before.

    Raises:
        VerificationError: a schedule breaks a rule (legal_schedules.py).
    """
    is_changed = expand(kernel, context)
    for step in (share_processor, prefetch_loads) if context.options.pipeline else ():
        if step(kernel, context):
            is_changed = True
            context.changed()
    return is_changed


def expand(kernel: KernelOp, context: Context) -> bool:
    """Rewrites the loops of a kernel that have schedules, in place; checks those that no pass has proven to be legal.

    Returns False if the kernel is as before.

    Raises:
        VerificationError: a schedule breaks a rule (legal_schedules.py).
    """
    if context.holds(State.EXPANDED, kernel):
        return False
    loops = scheduled_loops(kernel)
    for loop in loops:
        order = present_order(loop)
        is_legal = context.has_legal_schedules
        error = missing_position(loop, order) if is_legal else schedule_error(loop, order, rounds_of(loop))
        if error is not None:
            raise error
    context.has_legal_schedules = False
    # Several loops use a ring that channels share, and each is read before any is changed.
    late = [only_waits_are_late(loop, present_order(loop)) for loop in loops]
    # An inner loop is after those around it.
    for loop, waits in reversed(list(zip(loops, late, strict=True))):
        _expand(loop, waits)
    if loops:
        context.changed()
    return bool(loops)


def _expand(loop: ir.Operation, waits: LateWaits | None) -> None:
    order, rounds, operations = present_order(loop), rounds_of(loop), operations_of_body(loop)
    remove_schedule(operations)
    if waits is not None:
        wait_late(waits)
    elif rounds > 1:
        execute_in_rounds(loop, order, rounds)
    elif only_loads_are_ahead(loop, order):
        load_ahead(loop, order)
    else:
        _rearrange(loop, order, operations)


def _rearrange(loop: ir.Operation, order: LoopOrder, operations: Sequence[ir.Operation]) -> None:
    # The hash of an operation depends on its attributes.
    numbers = {op: number for number, op in enumerate(operations)}
    ranks = {numbers[op]: rank for rank, (op, _) in enumerate(order)}
    advances = {numbers[op]: ahead for op, ahead in order}
    made = arranged(loop, ranks, advances, is_exact=True)
    assert made is not None, "a schedule without an error is possible"


def arranged(
    loop: ir.Operation, ranks: Mapping[int, int], advances: Mapping[int, int], *, is_exact: bool = False
) -> tuple[ir.Operation, list[Position | None]] | None:
    """Rewrites a loop in place; returns the new one, and the position of each operation of the old body.

    None if what is to be ahead needs what others of the same iteration compute or access, or if multiplies of
    warpgroups are awaited in another iteration; the kernel is then of no use.

    Args:
        loop: an scf.for.
        ranks: the order of operations of its body, by number.
        advances: the iterations by which they are further ahead than now.
        is_exact: whether operations with ranks have to be in this order, else as far as dependences allow it.
    """
    body = loop.regions[0].blocks[0]
    if not can_count_pending(body):
        return None
    await_all(body)
    operations = operations_of_body(loop)
    preceding = dependences(operations)
    counts = dict(enumerate(spread(operations, preceding, advances, is_rank=False)))
    positions: list[Position | None] = [None] * len(operations)
    numbers: Origins = list(range(len(operations)))
    ahead = dict(counts)
    for least in range(1, max(advances.values(), default=0) + 1):
        scalars = {number for number, op in enumerate(operations) if is_rematerializable(op)}
        members = {number for number, count in ahead.items() if count and count >= least} - scalars
        if any(preceding[number] - members - scalars for number in members):
            return None
        rotated = rotate_loop(loop, members) if members else None
        if rotated is None:
            return None
        loop, origins = rotated
        operations = operations_of_body(loop)
        preceding = dependences(operations)
        ranks, ahead = _moved(ranks, origins), _moved(ahead, origins)
        numbers = [None if number is None else numbers[number] for number in origins]
    order = reorder_body(operations, preceding, ranks, is_exact=is_exact)
    count_pending(loop.regions[0].blocks[0])
    for place, number in enumerate(order):
        origin = numbers[number]
        if origin is not None and not is_rematerializable(operations[number]):
            positions[origin] = Position(counts[origin] or 0, place)
    return loop, positions


def _moved(numbers: Mapping[int, _Number], origins: Origins) -> dict[int, _Number]:
    """What operations of the body before have, by number, for those of the new one."""
    return {place: numbers[number] for place, number in enumerate(origins) if number is not None and number in numbers}
