"""The accesses of each thread to the elements of a tile in global memory: registers, address, predicate and order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.memory.access import Access, widest
from tilec.lowering.gpu_to_ptx.memory.shared_access import ScratchTile
from tilec.lowering.gpu_to_ptx.memory.view_address import ViewAddress
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, first_holder
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import global_vector, vector_groups

# Scopes of Tile IR as PTX spells them (PTX ISA 8.5): a tile block is a CTA.
_SCOPES = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
# The sides of each order on which a fence stands if several relaxed accesses implement it.
_SIDES = {"acquire": ("acquire",), "release": ("release",), "acq_rel": ("acquire", "release")}


@dataclass(frozen=True)
class ElementAccesses:
    """The accesses to the elements of a tile: the registers of each, and the weak access to the elements in them."""

    kind: PtxElement
    layout: LinearLayout
    groups: list[list[int]]
    access: Callable[[list[int]], Access]

    @property
    def distinct(self) -> list[list[int]]:
        """The groups without repetitions: only the first register of a thread that holds an element."""
        return [group for group in self.groups if not group[0] & self.layout.free_register_mask]

    def ordered(
        self, lowering: Lowering, order: AccessOrder, *, by_first: bool = True, count: int | None = None
    ) -> Iterator[tuple[list[int], Access]]:
        """The registers and the access of each instruction, between the fences that the order requires.

        An element is accessed by the first thread that holds it (`by_first`), or by each. `count` is the number of
        ordered accesses of a thread, if it is not that of its instructions.
        """
        distinct = self.distinct
        count = len(distinct) if count is None else count
        holder = first_holder(lowering, self.layout.free_thread_mask) if by_first else None
        order.fence(lowering, "release", count)
        for group in distinct:
            one = self.access(group)
            guard = conjunction(lowering, one.guard, holder)
            yield group, replace(one, space=order.space(count), guard=guard)
        order.fence(lowering, "acquire", count)

    def fetched(
        self,
        lowering: Lowering,
        order: AccessOrder,
        fetch: Callable[[list[int], Access], list[ir.Value]],
        *,
        is_read: bool = True,
        count: int | None = None,
    ) -> list[ir.Value]:
        """The registers of the tile whose elements `fetch` returns, also in the other threads that hold them.

        Each thread fetches its elements if the access is weak, else the first one that holds them; then only a result
        that `is_read` is broadcast, because another access could return another value.
        """
        registers: dict[int, ir.Value] = {}
        for group, one in self.ordered(lowering, order, by_first=not order.is_weak, count=count):
            registers.update(zip(group, fetch(group, one), strict=True))
        found = [registers[r] for r in self.layout.representatives]
        if order.is_weak or not is_read or not self.layout.free_thread_mask:
            return found
        tile = ScratchTile.reserve(lowering, self.kind, self.layout.shape)
        tile.write(self.layout, found)
        lowering.barrier()
        return tile.read(self.layout)


def view_accesses(lowering: Lowering, op: ir.OpView, tile: ir.Value) -> ElementAccesses:
    """Of a view: vectors along its contiguous dimension, predicated where an index can be outside."""
    return accesses_in_layout(lowering, op, element(tile), layout_of(tile.type))


def accesses_in_layout(lowering: Lowering, op: ir.OpView, kind: PtxElement, layout: LinearLayout) -> ElementAccesses:
    """As view_accesses(), without a tile in registers."""
    address = ViewAddress(lowering, kind, layout, op)
    bits: tuple[int, ...] = ()
    if op.vector_dimension is not None:
        bits = global_vector(layout, op.vector_dimension, min(op.vector, widest(kind)))

    def access(group: list[int]) -> Access:
        return Access("global", *address.address(group[0]), address.guard(group[0]))

    return ElementAccesses(kind, layout, vector_groups(layout.register_count, bits), access)


def pointer_accesses(lowering: Lowering, op: ir.OpView, tile: ir.Value, vector: int) -> ElementAccesses:
    """By pointers: vectors of successive elements of the last dimension, which share a predicate of the mask."""
    kind, layout = element(tile), layout_of(tile.type)
    bits = global_vector(layout, len(layout.shape) - 1, min(vector, widest(kind))) if layout.shape else ()
    return accesses_by_pointers(lowering, op, kind, vector_groups(layout.register_count, bits))


def accesses_by_pointers(
    lowering: Lowering, op: ir.OpView, kind: PtxElement, groups: list[list[int]]
) -> ElementAccesses:
    """As pointer_accesses(), with the registers of each access."""
    layout = layout_of(op.pointers.type)
    pointers, mask = lowering.get(op.pointers), None if op.mask is None else lowering.get(op.mask)

    def access(group: list[int]) -> Access:
        return Access("global", pointers[group[0]], guard=mask[group[0]] if mask else None)

    return ElementAccesses(kind, layout, groups, access)


@dataclass(frozen=True)
class AccessOrder:
    """`order` and `scope` of an access operation of tile_gpu; both are None for weak accesses."""

    order: str | None
    scope: str | None

    @property
    def is_weak(self) -> bool:
        return self.order is None

    def space(self, accesses: int) -> str:
        """The state space and qualifiers of one of `accesses` accesses of a thread."""
        if self.scope is None:
            return "global"
        order = "relaxed" if accesses > 1 else self.order
        return f"{order}.{_SCOPES[self.scope]}.global"

    @property
    def acquires(self) -> bool:
        """Whether later accesses must see the writes that precede the release of the accessed value."""
        return "acquire" in _SIDES.get(self.order or "", ())

    def fence(self, lowering: Lowering, side: str, accesses: int) -> None:
        """Emits the fence for several relaxed accesses, after an acquire or before a release (PTX ISA 8.8)."""
        if self.scope is not None and side in _SIDES.get(self.order or "", ()) and accesses > 1:
            lowering.b.execute(f"fence.acq_rel.{_SCOPES[self.scope]};")


def access_order(op: ir.OpView) -> AccessOrder:
    """The order of an access operation of tile_gpu."""
    return AccessOrder(op.order, op.scope)
