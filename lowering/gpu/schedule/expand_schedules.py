"""Expands the schedules of loops: the only pass that executes operations of a loop before or behind it.

before:   for i < n { a = f(i) {schedule 1, 1};  g(i, a) {schedule 0, 0} }
after:    if 0 < n { a = f(0);  for i < n - 1 carrying a { g(i, a);  a = f(i + 1) };  g(n - 1, a) }

Without it loops are in the order of the program, whatever their schedules are.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.tile_gpu.schedule import Position, position_of, remove_schedule
from tilec.dialect.walk import operations_inside
from tilec.errors import VerificationError
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.loops.pending_multiplies import await_all, can_count_pending, count_pending
from tilec.lowering.gpu.loops.reorder_body import dependences, reorder_body, spread
from tilec.lowering.gpu.loops.rotate_loop import Origins, rotate_loop
from tilec.lowering.gpu.schedule.role_steps import LoopOrder

_Number = TypeVar("_Number")


def expand_schedules(kernel: KernelOp, _context: Context) -> None:
    """Rewrites the loops of a kernel that have schedules, in place.

    Raises:
        VerificationError: a schedule has an operation before another one on which it depends, or lacks one.
    """
    loops = {op.parent.operation: None for op in operations_inside(kernel) if position_of(op) is not None}
    # An inner loop is after those around it.
    for loop in reversed(loops):
        _expand(loop)


def _expand(loop: ir.Operation) -> None:
    operations = operations_of_body(loop)
    positions = {number: found for number, op in enumerate(operations) if (found := position_of(op)) is not None}
    for number, op in enumerate(operations):
        if number not in positions and not is_rematerializable(op):
            raise _error(op, "has no schedule, as all operations of its loop have that are not scalar arithmetic")
    if not can_count_pending(loop.regions[0].blocks[0]):
        raise _error(loop, "has a schedule, and awaits multiplies of warpgroups in another iteration")
    remove_schedule(operations)
    ranks = {number: position.order for number, position in positions.items()}
    counts = {number: position.ahead for number, position in positions.items()}
    made = arranged(loop, ranks, counts, is_exact=True)
    assert made is not None, "a schedule that is exact is possible, or an error"


def operations_of_body(loop: ir.Operation) -> list[ir.Operation]:
    """The operations of a body, without the terminator."""
    return [op.operation for op in loop.regions[0].blocks[0].operations][:-1]


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
    counts = dict(enumerate(spread(operations, dependences(operations), advances, is_rank=False)))
    positions: list[Position | None] = [None] * len(operations)
    numbers: Origins = list(range(len(operations)))
    ahead = dict(counts)
    for least in range(1, max(advances.values(), default=0) + 1):
        operations = operations_of_body(loop)
        scalars = {number for number, op in enumerate(operations) if is_rematerializable(op)}
        members = {number for number, count in ahead.items() if count and count >= least} - scalars
        preceding = dependences(operations)
        for number in members:
            for source in sorted(preceding[number] - members - scalars):
                if is_exact:
                    raise _broken(operations[number], operations[source], "is more iterations ahead than")
                return None
        rotated = rotate_loop(loop, members) if members else None
        if rotated is None:
            if is_exact:
                raise _error(loop, "has a schedule that passes a buffer to another iteration")
            return None
        loop, origins = rotated
        ranks, ahead = _moved(ranks, origins), _moved(ahead, origins)
        numbers = [None if number is None else numbers[number] for number in origins]
    operations = operations_of_body(loop)
    order = reorder_body(loop.regions[0].blocks[0], ranks)
    if is_exact:
        _check_order(operations, [number for number in order if number in ranks], ranks)
    count_pending(loop.regions[0].blocks[0])
    for place, number in enumerate(order):
        origin = numbers[number]
        if origin is not None and not is_rematerializable(operations[number]):
            positions[origin] = Position(counts[origin] or 0, place)
    return loop, positions


def order_of(loop: ir.Operation, positions: Sequence[Position | None]) -> LoopOrder:
    """The operations of a body that have positions in their order, each with the iterations by which it is ahead."""
    found = [(op, each) for op, each in zip(operations_of_body(loop), positions, strict=True) if each is not None]
    return [(op, each.ahead) for op, each in sorted(found, key=lambda pair: pair[1].order)]


def _check_order(operations: Sequence[ir.Operation], order: Sequence[int], ranks: Mapping[int, int]) -> None:
    """Raises an error if operations are not in the order of their ranks, as one depends on another of a later rank."""
    for first, second in itertools.pairwise(order):
        if ranks[first] > ranks[second]:
            raise _broken(operations[second], operations[first], "precedes")


def _moved(numbers: Mapping[int, _Number], origins: Origins) -> dict[int, _Number]:
    """What operations of the body before have, by number, for those of the new one."""
    return {place: numbers[number] for place, number in enumerate(origins) if number is not None and number in numbers}


def _broken(op: ir.Operation, source: ir.Operation, how: str) -> VerificationError:
    where = source_location(source.location)
    return _error(
        op, f"{how} {source.name}{'' if where is None else f' ({where})'} in the schedule, on which it depends"
    )


def _error(op: ir.Operation, problem: str) -> VerificationError:
    return VerificationError(f"{op.name} {problem}", source_location(op.location))
