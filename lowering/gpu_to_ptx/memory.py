"""Loads and stores of register tiles in global memory, vectorized, with predicates instead of branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.access import load, store, widest
from tilec.lowering.gpu_to_ptx.elements import PtxElement
from tilec.lowering.gpu_to_ptx.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.lowering import Lowering
from tilec.lowering.gpu_to_ptx.ordered_access import access_order, broadcast
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.gpu_to_ptx.value_types import element, layout_of
from tilec.lowering.gpu_to_ptx.view_address import View, ViewAddress
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vector_width import global_vector, vector_groups

_PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


@lowers("tile_gpu.load_view")
def load_view(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements outside the view have the padding value: a false guard leaves the register unchanged."""
    result, op = operation.results[0], operation.opview
    accesses = _view_accesses(lowering, op, result)
    padding = _padding(lowering, operation, accesses.kind, op.padding)
    lowering.set(result, _loaded(lowering, op, accesses, [padding] * accesses.layout.register_count))


@lowers("tile_gpu.store_view")
def store_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _store(lowering, op, _view_accesses(lowering, op, op.value))


@dataclass(frozen=True)
class _Access:
    """One instruction: address, immediate offset and predicate."""

    address: ir.Value
    offset: int
    guard: ir.Value | None


@dataclass(frozen=True)
class _Accesses:
    """The accesses to the elements of a tile: the registers of each, and the instruction for these registers."""

    kind: PtxElement
    layout: LinearLayout
    groups: list[list[int]]
    instruction: Callable[[list[int]], _Access]


def _loaded(lowering: Lowering, op: ir.OpView, accesses: _Accesses, otherwise: Sequence[ir.Value]) -> list[ir.Value]:
    """The registers of a loaded tile; `otherwise` has the value of each if the predicate is false.

    Each thread that holds an element loads it if the access is weak.
    """
    kind, layout, order = accesses.kind, accesses.layout, access_order(op)
    distinct = [group for group in accesses.groups if layout.representatives[group[0]] == group[0]]
    holder = None if order.is_weak else first_holder(lowering, layout.free_thread_mask)
    registers: list[ir.Value | None] = [None] * layout.register_count
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


def _store(lowering: Lowering, op: ir.OpView, accesses: _Accesses) -> None:
    """Stores each element once, by the first thread that holds it."""
    kind, layout, order = accesses.kind, accesses.layout, access_order(op)
    values = lowering.get(op.value)
    holder = first_holder(lowering, layout.free_thread_mask)
    distinct = [group for group in accesses.groups if not group[0] & layout.free_register_mask]
    order.fence(lowering, "release", len(distinct))
    for group in distinct:
        one = accesses.instruction(group)
        guard, head = conjunction(lowering, one.guard, holder), order.head(len(distinct))
        store(lowering, head, kind, [values[r] for r in group], one.address, one.offset, guard)


def _view_accesses(lowering: Lowering, op: ir.OpView, tile: ir.Value) -> _Accesses:
    """Of a view: vectors along its contiguous dimension, predicated where an index can be outside."""
    kind, layout = element(tile), layout_of(tile.type)
    address = ViewAddress(lowering, kind, layout, _view(lowering, op))

    def instruction(group: list[int]) -> _Access:
        start, offset = address.address(group[0])
        return _Access(start, offset, address.guard(group[0]))

    return _Accesses(kind, layout, _view_groups(op, kind, layout), instruction)


def _view(lowering: Lowering, op: ir.OpView) -> View:
    scalars = ([lowering.scalar(v) for v in group] for group in (op.offsets, op.extents, op.strides))
    offsets, extents, strides = scalars
    inbounds = op.inbounds or [False] * len(offsets)
    return View(lowering.scalar(op.base), offsets, extents, strides, list(inbounds))


def _view_groups(op: ir.OpView, kind: PtxElement, layout: LinearLayout) -> list[list[int]]:
    """The registers of each access."""
    if op.vector_dimension is None:
        return vector_groups(layout.register_count, ())
    bits = global_vector(layout, op.vector_dimension, min(op.vector, widest(kind)))
    return vector_groups(layout.register_count, bits)


def _padding(lowering: Lowering, operation: ir.Operation, kind: PtxElement, name: str) -> ir.Value:
    if name not in _PADDINGS:
        raise lowering.unsupported(operation, f"unknown padding '{name}', expected one of {', '.join(_PADDINGS)}")
    if name != "zero" and not kind.is_float:
        raise lowering.unsupported(operation, f"padding '{name}' needs float elements, got {kind.name}")
    return lowering.constant(kind, _PADDINGS[name])


@lowers("tile_gpu.load_global")
def load_global(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements whose mask is false have the value of `other`, or zero."""
    result, op = operation.results[0], operation.opview
    accesses = _pointer_accesses(lowering, op, result)
    other = _optional(lowering, op.other) or [lowering.constant(accesses.kind, 0)] * accesses.layout.register_count
    lowering.set(result, _loaded(lowering, op, accesses, other))


@lowers("tile_gpu.store_global")
def store_global(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    _store(lowering, op, _pointer_accesses(lowering, op, op.value))


def _pointer_accesses(lowering: Lowering, op: ir.OpView, tile: ir.Value) -> _Accesses:
    """By pointers: vectors of elements whose pointers are successive, predicated by the mask."""
    kind, layout = element(tile), layout_of(tile.type)
    pointers, mask = lowering.get(op.pointers), _optional(lowering, op.mask)

    def instruction(group: list[int]) -> _Access:
        return _Access(pointers[group[0]], 0, mask[group[0]] if mask else None)

    return _Accesses(kind, layout, _pointer_groups(op, kind, layout), instruction)


def _optional(lowering: Lowering, tile: ir.Value | None) -> list[ir.Value] | None:
    return None if tile is None else lowering.get(tile)


def _pointer_groups(op: ir.OpView, kind: PtxElement, layout: LinearLayout) -> list[list[int]]:
    """The registers of each access: `vector` successive elements of the last dimension share a mask."""
    bits = global_vector(layout, len(layout.shape) - 1, min(op.vector, widest(kind))) if layout.shape else ()
    return vector_groups(layout.register_count, bits)
