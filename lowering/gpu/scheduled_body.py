"""The body of a loop in the order of a schedule, with some of its operations iterations ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tilec.dialect.mlir import ir
from tilec.lowering.gpu.operation_role import is_rematerializable
from tilec.lowering.gpu.pending_multiplies import await_all, can_count_pending, count_pending
from tilec.lowering.gpu.reorder_body import dependences, reorder_body, spread
from tilec.lowering.gpu.rotate_loop import Origins, rotate_loop

_Number = TypeVar("_Number")


def operations_of_body(loop: ir.Operation) -> list[ir.Operation]:
    """The operations of a body, without the terminator."""
    return [op.operation for op in loop.regions[0].blocks[0].operations][:-1]


def schedule_body(loop: ir.Operation, ranks: Mapping[int, int], advances: Mapping[int, int]) -> ir.Operation | None:
    """Rewrites a loop in place; returns the new one.

    None if what is to be ahead needs what others of the same iteration compute or access, or if multiplies of
    warpgroups are awaited in another iteration; the kernel is then of no use.

    Args:
        loop: an scf.for.
        ranks: the order of operations of its body, by number.
        advances: the iterations by which they are further ahead than now.
    """
    if not can_count_pending(loop.regions[0].blocks[0]):
        return None
    await_all(loop.regions[0].blocks[0])
    operations = operations_of_body(loop)
    counts = dict(enumerate(spread(operations, dependences(operations), advances, is_rank=False)))
    for least in range(1, max(advances.values()) + 1):
        operations = operations_of_body(loop)
        scalars = {number for number, op in enumerate(operations) if is_rematerializable(op)}
        members = {number for number, count in counts.items() if count and count >= least} - scalars
        preceding = dependences(operations)
        if any(preceding[number] - members - scalars for number in members):
            return None
        rotated = rotate_loop(loop, members) if members else None
        if rotated is None:
            return None
        loop, origins = rotated
        ranks, counts = _moved(ranks, origins), _moved(counts, origins)
    reorder_body(loop.regions[0].blocks[0], ranks)
    count_pending(loop.regions[0].blocks[0])
    return loop


def _moved(numbers: Mapping[int, _Number], origins: Origins) -> dict[int, _Number]:
    """What operations of the body before have, by number, for those of the new one."""
    return {place: numbers[number] for place, number in enumerate(origins) if number is not None and number in numbers}
