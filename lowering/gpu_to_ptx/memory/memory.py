"""Loads and stores of register tiles in global memory, vectorized, with predicates instead of branches."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.view import LoadGlobalOp, LoadViewOp, StoreGlobalOp, StoreViewOp
from tilec.lowering.gpu_to_ptx.memory.access import load, store
from tilec.lowering.gpu_to_ptx.memory.element_accesses import (
    ElementAccesses,
    optional_registers,
    pointer_accesses,
    view_accesses,
)
from tilec.lowering.gpu_to_ptx.memory.ordered_access import access_order, broadcast
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.registry import lowers

_PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


@lowers(LoadViewOp)
def load_view(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements outside the view have the padding value: a false guard leaves the register unchanged."""
    result, op = operation.results[0], operation.opview
    accesses = view_accesses(lowering, op, result)
    padding = padding_value(lowering, operation, accesses.kind, op.padding)
    lowering.set(result, _loaded(lowering, op, accesses, [padding] * accesses.layout.register_count))


@lowers(StoreViewOp)
def store_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _store(lowering, op, view_accesses(lowering, op, op.value))


def _loaded(
    lowering: Lowering, op: ir.OpView, accesses: ElementAccesses, otherwise: Sequence[ir.Value]
) -> list[ir.Value]:
    """The registers of a loaded tile; `otherwise` has the value of each if the predicate is false.

    Each thread that holds an element loads it if the access is weak.
    """
    kind, layout, order = accesses.kind, accesses.layout, access_order(op)
    holder = None if order.is_weak else first_holder(lowering, layout.free_thread_mask)
    registers: list[ir.Value | None] = [None] * layout.register_count
    distinct = accesses.distinct
    for group in distinct:
        one = accesses.instruction(group)
        guard = conjunction(lowering, one.guard, holder)
        head = order.head(len(distinct))
        unread = [otherwise[r] for r in group] if guard is not None else None
        loaded = load(lowering, head, kind, len(group), one.address, one.offset, guard, unread)
        for register, value in zip(group, loaded, strict=True):
            registers[register] = value
    order.fence(lowering, "acquire", len(distinct))
    found = [registers[r] for r in layout.representatives]
    return found if order.is_weak else broadcast(lowering, kind, layout, found)


def _store(lowering: Lowering, op: ir.OpView, accesses: ElementAccesses) -> None:
    """Stores each element once, by the first thread that holds it."""
    kind, layout, order = accesses.kind, accesses.layout, access_order(op)
    values = lowering.get(op.value)
    holder = first_holder(lowering, layout.free_thread_mask)
    distinct = accesses.distinct
    order.fence(lowering, "release", len(distinct))
    for group in distinct:
        one = accesses.instruction(group)
        guard, head = conjunction(lowering, one.guard, holder), order.head(len(distinct))
        store(lowering, head, kind, [values[r] for r in group], one.address, one.offset, guard)


def padding_value(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str) -> ir.Value:
    """The register of the padding of a load: a name of Tile IR, or the bits of an integer."""
    if name.startswith("0x"):
        return lowering.constant(kind, int(name, 16))
    if name not in _PADDINGS:
        raise lowering.unsupported(operation, f"unknown padding '{name}', expected one of {', '.join(_PADDINGS)}")
    if name != "zero" and not kind.is_float:
        raise lowering.unsupported(operation, f"padding '{name}' needs float elements, got {kind.name}")
    return lowering.constant(kind, _PADDINGS[name])


@lowers(LoadGlobalOp)
def load_global(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements whose mask is false have the value of `other`, or zero."""
    result, op = operation.results[0], operation.opview
    accesses = pointer_accesses(lowering, op, result, op.vector)
    other = optional_registers(lowering, op.other)
    zeros = [lowering.constant(accesses.kind, 0)] * accesses.layout.register_count
    lowering.set(result, _loaded(lowering, op, accesses, other or zeros))


@lowers(StoreGlobalOp)
def store_global(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _store(lowering, op, pointer_accesses(lowering, op, op.value, op.vector))
