"""Atomic updates of global memory: each element once, by the first thread that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.atomic import AtomicGlobalOp, AtomicViewOp, CompareAndSwapGlobalOp
from tilec.lowering.gpu_to_ptx.memory.atomic_access import fetch_and_update, update
from tilec.lowering.gpu_to_ptx.memory.element_accesses import Access, ElementAccesses, pointer_accesses, view_accesses
from tilec.lowering.gpu_to_ptx.memory.ordered_access import AccessOrder, access_order, broadcast
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.registry import lowers

COMPARE_AND_SWAP = "compare_and_swap"


@lowers(AtomicGlobalOp)
def atomic_global(lowering: Lowering, operation: ir.Operation) -> None:
    """`red` if nothing reads the result, but an acquire reads memory, and `red` has no exchange."""
    op, result, order = operation.opview, operation.results[0], access_order(operation.opview)
    accesses = pointer_accesses(lowering, op, op.value, op.vector)
    values = lowering.get(op.value)
    if list(result.uses) or order.acquires or op.mode == "xchg":
        zeros = [lowering.constant(accesses.kind, 0)] * accesses.layout.register_count
        lowering.set(result, _fetched(lowering, result, op.mode, accesses, order, [values], zeros))
    else:
        _update(lowering, op.mode, accesses, order, values)


@lowers(CompareAndSwapGlobalOp)
def compare_and_swap_global(lowering: Lowering, operation: ir.Operation) -> None:
    op, result = operation.opview, operation.results[0]
    accesses = pointer_accesses(lowering, op, op.value, vector=1)
    compared, values = lowering.get(op.compare), lowering.get(op.value)
    operands = [compared, values]
    order = access_order(op)
    lowering.set(result, _fetched(lowering, result, COMPARE_AND_SWAP, accesses, order, operands, compared))


@lowers(AtomicViewOp)
def atomic_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    accesses = view_accesses(lowering, op, op.value)
    _update(lowering, op.mode, accesses, AccessOrder("relaxed", op.scope), lowering.get(op.value))


def _update(
    lowering: Lowering, mode: str, accesses: ElementAccesses, order: AccessOrder, values: list[ir.Value]
) -> None:
    """Updates each element once."""
    count = _elements(accesses)
    order.fence(lowering, "release", count)
    holder = first_holder(lowering, accesses.layout.free_thread_mask)
    for group in accesses.distinct:
        one = _by(lowering, holder, accesses.instruction(group))
        update(lowering, order.head(count), mode, accesses.kind, [values[r] for r in group], one)


def _fetched(
    lowering: Lowering,
    result: ir.Value,
    mode: str,
    accesses: ElementAccesses,
    order: AccessOrder,
    operands: Sequence[list[ir.Value]],
    otherwise: Sequence[ir.Value],
) -> list[ir.Value]:
    """The registers of the previous elements, for every holder of each; `otherwise` if the predicate is false."""
    kind, layout, count = accesses.kind, accesses.layout, _elements(accesses)
    order.fence(lowering, "release", count)
    holder = first_holder(lowering, layout.free_thread_mask)
    registers: dict[int, ir.Value] = {}
    for group in accesses.distinct:
        one = _by(lowering, holder, accesses.instruction(group))
        given = [[values[r] for r in group] for values in operands]
        head, unread = order.head(count), [otherwise[r] for r in group]
        fetched = fetch_and_update(lowering, head, mode, kind, given, one, unread)
        registers.update(zip(group, fetched, strict=True))
    order.fence(lowering, "acquire", count)
    found = [registers[r] for r in layout.representatives]
    return broadcast(lowering, kind, layout, found) if list(result.uses) else found


def _elements(accesses: ElementAccesses) -> int:
    """The elements that a thread updates."""
    return sum(map(len, accesses.distinct))


def _by(lowering: Lowering, holder: ir.Value | None, one: Access) -> Access:
    """The access by the first holder of its elements."""
    return replace(one, guard=conjunction(lowering, one.guard, holder))
