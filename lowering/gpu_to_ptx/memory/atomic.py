"""Atomic updates of global memory: each element once, by the first thread that holds it (PTX ISA 9.7.13.6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.atomic import AtomicGlobalOp, AtomicViewOp, CompareAndSwapGlobalOp
from tilec.lowering.gpu_to_ptx.memory.access import Access, load_by, store_by, vector_suffix
from tilec.lowering.gpu_to_ptx.memory.element_accesses import (
    AccessOrder,
    ElementAccesses,
    access_order,
    pointer_accesses,
    view_accesses,
)
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import packed_type

# The operation and the kind of type of each mode; sums of floats have the type of their elements.
OPERATIONS = {
    "and": ("and", "b"),
    "or": ("or", "b"),
    "xor": ("xor", "b"),
    "add": ("add", "u"),
    "addf": ("add", "f"),
    "max": ("max", "s"),
    "min": ("min", "s"),
    "umax": ("max", "u"),
    "umin": ("min", "u"),
    "xchg": ("exch", "b"),
    "inc": ("inc", "u"),
    "dec": ("dec", "u"),
    "compare_and_swap": ("cas", "b"),
}


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
    operands, order = [compared, values], access_order(op)
    lowering.set(result, _fetched(lowering, result, "compare_and_swap", accesses, order, operands, compared))


@lowers(AtomicViewOp)
def atomic_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    accesses = view_accesses(lowering, op, op.value)
    _update(lowering, op.mode, accesses, AccessOrder("relaxed", op.scope), lowering.get(op.value))


def _update(
    lowering: Lowering, mode: str, accesses: ElementAccesses, order: AccessOrder, values: list[ir.Value]
) -> None:
    """Updates each element once."""
    for group, one in accesses.ordered(lowering, order, count=_elements(accesses)):
        head = f"red.{one.space}.{_spelled(mode, accesses.kind, len(group))}"
        store_by(lowering, head, one, accesses.kind, [values[r] for r in group])


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

    def fetch(group: list[int], one: Access) -> list[ir.Value]:
        given = [[values[r] for r in group] for values in operands]
        head = f"atom.{one.space}.{_spelled(mode, accesses.kind, len(group))}"
        return load_by(lowering, head, one, accesses.kind, len(group), [otherwise[r] for r in group], given)

    return accesses.fetched(lowering, order, fetch, is_read=bool(list(result.uses)), count=_elements(accesses))


def _elements(accesses: ElementAccesses) -> int:
    return sum(map(len, accesses.distinct))


def _spelled(mode: str, element: PtxElement, count: int) -> str:
    """The operation, vector and type of an instruction on `count` elements: `add.noftz.v2.f16x2`, `max.s32`."""
    name, kind = OPERATIONS[mode]
    # Only sums of 16-bit floats have the qualifier, which they need: they keep subnormals.
    flush = ".noftz" if kind == "f" and element.bits == 16 else ""
    return f"{name}{flush}{vector_and_type(element, count, kind)}"


def vector_and_type(element: PtxElement, count: int, kind: str) -> str:
    """The vector and type of an instruction on `count` elements of a kind of type: `.v2.f16x2`, `.s32`."""
    _, per_register = packed_type(element, count)
    type = f"{kind}{element.bits}" if kind != "f" else f"{element.suffix}{'x2' if per_register == 2 else ''}"
    return f"{vector_suffix(count // per_register)}.{type}"
