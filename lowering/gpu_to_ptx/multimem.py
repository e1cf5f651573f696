"""Accesses to multicast addresses: multimem.ld_reduce, multimem.st and multimem.red (PTX ISA 9.7.9.12)."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.access import braced, signed, vector_suffix
from tilec.lowering.gpu_to_ptx.element_accesses import Access, view_accesses
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.memory import padding_value
from tilec.lowering.gpu_to_ptx.ordered_access import AccessOrder, access_order, broadcast
from tilec.lowering.gpu_to_ptx.packed_registers import pack, packed_type, unpack
from tilec.lowering.gpu_to_ptx.registry import lowers

# The operation and the kind of type of each reduction of integers; floats have their own types.
_OPERATIONS = {
    "add": ("add", "u"),
    "and": ("and", "b"),
    "or": ("or", "b"),
    "xor": ("xor", "b"),
    "max": ("max", "s"),
    "min": ("min", "s"),
    "umax": ("max", "u"),
    "umin": ("min", "u"),
}


@lowers("tile_gpu.multimem_load_view")
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
        loaded = _loaded(lowering, head, kind, one, guard, [padding] * len(group))
        registers.update(zip(group, loaded, strict=True))
    order.fence(lowering, "acquire", len(distinct))
    found = [registers[r] for r in layout.representatives]
    lowering.set(result, found if order.is_weak else broadcast(lowering, kind, layout, found))


def _loaded(
    lowering: Lowering,
    head: str,
    kind: PtxElement,
    one: Access,
    guard: ir.Value | None,
    otherwise: Sequence[ir.Value],
) -> list[ir.Value]:
    """Successive elements, or `otherwise` if the guard is false."""
    register, per_register = packed_type(kind, len(otherwise))
    count = len(otherwise) // per_register
    types = [lowering.type(register)] * count
    text = f"{head} {braced(0, count)}, [${count}{signed(one.offset)}];"
    if guard is None:
        return unpack(lowering, kind, list(lowering.b.execute(text, types, one.address)), len(otherwise))
    before, tied = pack(lowering, kind, list(otherwise)), range(2, 2 + count)
    loaded = lowering.b.execute(f"@${count + 1} {text}", types, one.address, guard, *before, tied=tied)
    return unpack(lowering, kind, list(loaded), len(otherwise))


@lowers("tile_gpu.multimem_store_view")
def _store(lowering: Lowering, operation: ir.Operation) -> None:
    _write(lowering, operation.opview, "st", None)


@lowers("tile_gpu.multimem_reduce_view")
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
        packed = pack(lowering, accesses.kind, [values[r] for r in group])
        head = f"multimem.{instruction}.{order.head(len(distinct))}{f'.{name}' if reduction else ''}{type}"
        text = f"{head} [$0{signed(one.offset)}], {braced(1, len(packed))};"
        guard = conjunction(lowering, one.guard, holder)
        if guard is None:
            lowering.b.execute(text, (), one.address, *packed)
        else:
            lowering.b.execute(f"@${1 + len(packed)} {text}", (), one.address, *packed, guard)


def _spelled(reduction: str, element: PtxElement, count: int) -> tuple[str, str]:
    """The operation, and the vector and type of an instruction on `count` elements: `add` and `.v2.f16x2`."""
    name, kind = _OPERATIONS[reduction]
    _, per_register = packed_type(element, count)
    vector = vector_suffix(count // per_register)
    if element.is_float:
        return name, f"{vector}.{element.suffix}{'x2' if per_register == 2 else ''}"
    return name, f"{vector}.{kind}{element.bits}"
