"""Accesses to multicast addresses: multimem.ld_reduce, multimem.st and multimem.red (PTX ISA 9.7.9.12)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.multimem import MultimemLoadViewOp, MultimemReduceViewOp, MultimemStoreViewOp
from tilec.lowering.gpu_to_ptx.memory.access import load_by, store_by
from tilec.lowering.gpu_to_ptx.memory.atomic_access import OPERATIONS, vector_and_type
from tilec.lowering.gpu_to_ptx.memory.element_accesses import view_accesses
from tilec.lowering.gpu_to_ptx.memory.memory import padding_value
from tilec.lowering.gpu_to_ptx.memory.ordered_access import AccessOrder, access_order, broadcast
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.registry import lowers


@lowers(MultimemLoadViewOp)
def _load(lowering: Lowering, operation: ir.Operation) -> None:
    """A weak element is loaded by each thread that holds it, another one by the first."""
    result, op, order = operation.results[0], operation.opview, access_order(operation.opview)
    accesses = view_accesses(lowering, op, result)
    kind, layout, distinct = accesses.kind, accesses.layout, accesses.distinct
    padding = padding_value(lowering, operation, kind, op.padding)
    holder = None if order.is_weak else first_holder(lowering, layout.free_thread_mask)
    registers: dict[int, ir.Value] = {}
    for group in distinct:
        one = accesses.instruction(group)
        name, type = _spelled(op.reduction, kind, len(group))
        head = f"multimem.ld_reduce.{order.head(len(distinct))}.{name}{type}"
        guard = conjunction(lowering, one.guard, holder)
        outside = [padding] * len(group)
        loaded = load_by(lowering, head, kind, len(group), one.address, one.offset, guard, outside)
        registers.update(zip(group, loaded, strict=True))
    order.fence(lowering, "acquire", len(distinct))
    found = [registers[r] for r in layout.representatives]
    lowering.set(result, found if order.is_weak else broadcast(lowering, kind, layout, found))


@lowers(MultimemStoreViewOp)
def _store(lowering: Lowering, operation: ir.Operation) -> None:
    _write(lowering, operation.opview, "st", None)


@lowers(MultimemReduceViewOp)
def _reduce(lowering: Lowering, operation: ir.Operation) -> None:
    _write(lowering, operation.opview, "red", operation.opview.reduction)


def _write(lowering: Lowering, op: ir.OpView, instruction: str, reduction: str | None) -> None:
    """Writes each element once, by the first thread that holds it."""
    order: AccessOrder = access_order(op)
    accesses, values = view_accesses(lowering, op, op.value), lowering.get(op.value)
    distinct, holder = accesses.distinct, first_holder(lowering, accesses.layout.free_thread_mask)
    order.fence(lowering, "release", len(distinct))
    for group in distinct:
        one = accesses.instruction(group)
        name, type = _spelled(reduction or "add", accesses.kind, len(group))
        head = f"multimem.{instruction}.{order.head(len(distinct))}{f'.{name}' if reduction else ''}{type}"
        guard = conjunction(lowering, one.guard, holder)
        store_by(lowering, head, accesses.kind, [values[r] for r in group], one.address, one.offset, guard)


def _spelled(reduction: str, element: PtxElement, count: int) -> tuple[str, str]:
    """The operation, and the vector and type of an instruction on `count` elements: `add` and `.v2.f16x2`."""
    name, kind = OPERATIONS[reduction]
    return name, vector_and_type(element, count, "f" if element.is_float else kind)
