"""The accesses of each thread to the elements of a tile in global memory: registers, address and predicate of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import widest
from tilec.lowering.gpu_to_ptx.memory.view_address import SparseIndices, View, ViewAddress
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.value_types import element, layout_of
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vector_width import global_vector, vector_groups


@dataclass(frozen=True)
class Access:
    """One instruction: address, immediate offset and predicate."""

    address: ir.Value
    offset: int
    guard: ir.Value | None


@dataclass(frozen=True)
class ElementAccesses:
    """The accesses to the elements of a tile: the registers of each, and the instruction for these registers."""

    kind: PtxElement
    layout: LinearLayout
    groups: list[list[int]]
    instruction: Callable[[list[int]], Access]

    @property
    def distinct(self) -> list[list[int]]:
        """The groups without repetitions: only the first register of a thread that holds an element."""
        return [group for group in self.groups if not group[0] & self.layout.free_register_mask]


def view_accesses(lowering: Lowering, op: ir.OpView, tile: ir.Value) -> ElementAccesses:
    """Of a view: vectors along its contiguous dimension, predicated where an index can be outside."""
    return accesses_in_layout(lowering, op, element(tile), layout_of(tile.type))


def accesses_in_layout(lowering: Lowering, op: ir.OpView, kind: PtxElement, layout: LinearLayout) -> ElementAccesses:
    """As view_accesses(), without a tile in registers."""
    address = ViewAddress(lowering, kind, layout, _view(lowering, op, layout))

    def instruction(group: list[int]) -> Access:
        start, offset = address.address(group[0])
        return Access(start, offset, address.guard(group[0]))

    return ElementAccesses(kind, layout, _view_groups(op, kind, layout), instruction)


def _view(lowering: Lowering, op: ir.OpView, layout: LinearLayout) -> View:
    scalars = ([lowering.scalar(v) for v in group] for group in (op.offsets, op.extents, op.strides))
    offsets, extents, strides = scalars
    inbounds = op.inbounds or [False] * len(offsets)
    return View(lowering.scalar(op.base), offsets, extents, strides, list(inbounds), _sparse(lowering, op, layout))


def _sparse(lowering: Lowering, op: ir.OpView, layout: LinearLayout) -> SparseIndices | None:
    """The registers of the indices; raises ValueError unless each thread holds those of its elements."""
    indices = getattr(op, "indices", None)
    if indices is None:
        return None
    expected, found = layout.keep(op.sparse_dimension), layout_of(indices.type)
    if found != expected:
        raise ValueError(f"expected indices in layout '{expected}', but got '{found}'")
    return SparseIndices(op.sparse_dimension, found, lowering.get(indices))


def _view_groups(op: ir.OpView, kind: PtxElement, layout: LinearLayout) -> list[list[int]]:
    """The registers of each access."""
    if op.vector_dimension is None:
        return vector_groups(layout.register_count, ())
    bits = global_vector(layout, op.vector_dimension, min(op.vector, widest(kind)))
    return vector_groups(layout.register_count, bits)


def pointer_accesses(lowering: Lowering, op: ir.OpView, tile: ir.Value, vector: int) -> ElementAccesses:
    """By pointers: vectors of elements whose pointers are successive, predicated by the mask."""
    kind, layout = element(tile), layout_of(tile.type)
    return accesses_by_pointers(lowering, op, kind, _pointer_groups(vector, kind, layout))


def accesses_by_pointers(
    lowering: Lowering, op: ir.OpView, kind: PtxElement, groups: list[list[int]]
) -> ElementAccesses:
    """As pointer_accesses(), with the registers of each access."""
    layout = layout_of(op.pointers.type)
    pointers, mask = lowering.get(op.pointers), optional_registers(lowering, op.mask)

    def instruction(group: list[int]) -> Access:
        return Access(pointers[group[0]], 0, mask[group[0]] if mask else None)

    return ElementAccesses(kind, layout, groups, instruction)


def optional_registers(lowering: Lowering, tile: ir.Value | None) -> list[ir.Value] | None:
    """The registers of an operand that may be absent."""
    return None if tile is None else lowering.get(tile)


def _pointer_groups(vector: int, kind: PtxElement, layout: LinearLayout) -> list[list[int]]:
    """The registers of each access: `vector` successive elements of the last dimension share a mask."""
    bits = global_vector(layout, len(layout.shape) - 1, min(vector, widest(kind))) if layout.shape else ()
    return vector_groups(layout.register_count, bits)
