"""Register tiles to and from global memory: vectors where the compiler proved them, guards in place of branches."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.access import load, store, widest
from tilec.lowering.gpu_to_ptx.elements import Element
from tilec.lowering.gpu_to_ptx.lowers import Lowering, element, layout_of
from tilec.lowering.gpu_to_ptx.registry import lowers
from tilec.lowering.gpu_to_ptx.view_address import View, ViewAddress
from tilec.lowering.gpu_to_ptx.writers import both, first_holder
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vector_width import global_vector, vector_groups

_PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


@lowers("tile_gpu.load_view")
def load_view(lowering: Lowering, operation: ir.Operation) -> None:
    """Elements outside take the padding: the guard leaves the register as it was."""
    result, op = operation.results[0], operation.opview
    kind, layout = element(result), layout_of(result.type)
    address = ViewAddress(lowering, kind, layout, _view(lowering, op))
    padding = _padding(lowering, operation, kind, op.padding)
    registers: list[ir.Value | None] = [None] * layout.register_count
    for group in _groups(lowering, op, kind, layout):
        if layout.representatives[group[0]] == group[0]:
            place, offset = address.address(group[0])
            guard = address.guard(group[0])
            loaded = load(lowering, "global", kind, len(group), place, offset, guard, [padding] * len(group))
            for register, value in zip(group, loaded, strict=True):
                registers[register] = value
    lowering.set(result, [registers[r] for r in layout.representatives])


@lowers("tile_gpu.store_view")
def store_view(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    kind, layout = element(op.value), layout_of(op.value.type)
    address = ViewAddress(lowering, kind, layout, _view(lowering, op))
    values = lowering.get(op.value)
    holder = first_holder(lowering, layout.free_thread_mask)
    for group in _groups(lowering, op, kind, layout):
        if not group[0] & layout.free_register_mask:
            place, offset = address.address(group[0])
            guard = both(lowering, address.guard(group[0]), holder)
            store(lowering, "global", kind, [values[r] for r in group], place, offset, guard)


def _view(lowering: Lowering, op: ir.OpView) -> View:
    scalars = ([lowering.scalar(v) for v in group] for group in (op.offsets, op.extents, op.strides))
    offsets, extents, strides = scalars
    inbounds = op.inbounds or [False] * len(offsets)
    return View(lowering.scalar(op.base), offsets, extents, strides, list(inbounds))


def _groups(lowering: Lowering, op: ir.OpView, kind: Element, layout: LinearLayout) -> list[list[int]]:
    """The registers of each access: `vector` of them along the last dimension of stride one."""
    unit = [d for d, stride in enumerate(op.strides) if lowering.number(lowering.scalar(stride)) == 1]
    bits = global_vector(layout, unit[-1], min(op.vector, widest(kind))) if unit else ()
    return vector_groups(layout.register_count, bits)


def _padding(lowering: Lowering, operation: ir.Operation, kind: Element, name: str) -> ir.Value:
    if name not in _PADDINGS:
        raise lowering.unsupported(operation, f"unknown padding '{name}', expected one of {', '.join(_PADDINGS)}")
    if name != "zero" and not kind.is_float:
        raise lowering.unsupported(operation, f"padding '{name}' needs float elements, got {kind.name}")
    return lowering.constant(kind, _PADDINGS[name])


@lowers("tile_gpu.load_global")
def load_global(lowering: Lowering, operation: ir.Operation) -> None:
    """`other`, or zero, where the mask is false."""
    result, op = operation.results[0], operation.opview
    kind, layout = element(result), layout_of(result.type)
    pointers, mask = lowering.get(op.pointers), _optional(lowering, op.mask)
    other = _optional(lowering, op.other) or [lowering.constant(kind, 0)] * layout.register_count
    head = _head(op.order)
    registers: list[ir.Value | None] = [None] * layout.register_count
    for group in _pointer_groups(op, kind, layout):
        first = group[0]
        if layout.representatives[first] == first:
            otherwise = [other[r] for r in group]
            guard = mask[first] if mask else None
            loaded = load(lowering, head, kind, len(group), pointers[first], 0, guard, otherwise)
            for register, value in zip(group, loaded, strict=True):
                registers[register] = value
    lowering.set(result, [registers[r] for r in layout.representatives])


@lowers("tile_gpu.store_global")
def store_global(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    kind, layout = element(op.value), layout_of(op.value.type)
    pointers, values, mask = lowering.get(op.pointers), lowering.get(op.value), _optional(lowering, op.mask)
    holder = first_holder(lowering, layout.free_thread_mask)
    for group in _pointer_groups(op, kind, layout):
        first = group[0]
        if not first & layout.free_register_mask:
            guard = both(lowering, mask[first] if mask else None, holder)
            store(lowering, _head(op.order), kind, [values[r] for r in group], pointers[first], 0, guard)


def _optional(lowering: Lowering, tile: ir.Value | None) -> list[ir.Value] | None:
    return None if tile is None else lowering.get(tile)


def _pointer_groups(op: ir.OpView, kind: Element, layout: LinearLayout) -> list[list[int]]:
    """`vector` successive elements of the last dimension are consecutive in memory and share their mask."""
    bits = global_vector(layout, len(layout.shape) - 1, min(op.vector, widest(kind))) if layout.shape else ()
    return vector_groups(layout.register_count, bits)


def _head(order: str) -> str:
    """Memory order and scope as PTX spells them, then the state space (`weak` is the default of ld and st)."""
    return "global" if order == "weak" else f"{order}.gpu.global"
