"""The arrays that memory operations access, and the memory effects of operations with regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.ast_to_tile.control_flow.memory_roots import Root, memory_roots
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.acquires import ACQUIRING, Acquires

# Access -> the index of its pointer or view operand. Every access that is not a load writes.
_MEMORY_OPERAND = {
    "cuda_tile.load_view_tko": 0,
    "cuda_tile.load_ptr_tko": 0,
    "cuda_tile.store_view_tko": 1,
    "cuda_tile.store_ptr_tko": 0,
    "cuda_tile.atomic_cas_tko": 0,
    "cuda_tile.atomic_rmw_tko": 0,
    "cuda_tile.atomic_red_view_tko": 0,
    "tilex.atomic_rmw_tko": 0,
    "tilex.atomic_red_view_tko": 0,
    "tilex.load_im2col_tko": 0,
    "tilex.store_im2col_tko": 1,
    "tilex.load_packed_tko": 0,
    "tilex.store_packed_tko": 1,
}
_LOADS = frozenset(
    ("cuda_tile.load_view_tko", "cuda_tile.load_ptr_tko", "tilex.load_im2col_tko", "tilex.load_packed_tko")
)

# Operation between grids -> whether accesses of any array that follow it are ordered after it. PTX ISA 9.7.13.13: the
# dependent grid sees the writes of this one when this one is complete, so that letting it start orders no access.
_GRID_CONTROLS = {"cuda_tile.gdc_wait_tko": True, "cuda_tile.gdc_launch_dependents_tko": False}

# The accesses of any array that are ordered after an access that acquires.
ALL, STRONG = "all", "strong"

# The resource of print operations: prints keep program order among themselves only.
PRINTED: int = -1

# The resource of the operations between grids.
GRIDS: int = -2


@dataclass(frozen=True)
class Access:
    """One memory operation; a pointer that branches or loops choose has several roots.

    Attributes:
        orders: the accesses of other arrays that are ordered after it, ALL or STRONG; None if it does not acquire.
        is_strong: whether it has a memory order itself.
    """

    roots: frozenset[Root]
    writes: bool
    orders: str | None = None
    releases: bool = False
    is_strong: bool = False


@dataclass
class Effects:
    """The arrays loaded and stored in a region, what its acquires order, and whether an access in it releases."""

    loaded: set[Root] = field(default_factory=set)
    stored: set[Root] = field(default_factory=set)
    orders: set[str] = field(default_factory=set)
    releases: bool = False


def access(operation: ir.OpView, acquires: Acquires) -> Access | None:
    """The access of a memory operation of an entry with these acquires; None for other operations."""
    name = operation.operation.name
    if name == "cuda_tile.print_tko":
        return Access(frozenset((PRINTED,)), True)
    if name in _GRID_CONTROLS:
        return Access(frozenset((GRIDS,)), True, ALL if _GRID_CONTROLS[name] else None)
    if name not in _MEMORY_OPERAND:
        return None
    ordering = operation.memory_ordering_semantics
    memory = operation.operation.operands[_MEMORY_OPERAND[name]]
    orders = None if ordering not in ACQUIRING else ALL if acquires.order_weak_accesses(operation) else STRONG
    releases, is_strong = ordering in ("release", "acq_rel"), ordering != "weak"
    return Access(memory_roots(memory), name not in _LOADS, orders, releases, is_strong)


def effects(operation: ir.OpView, acquires: Acquires) -> Effects:
    """The memory effects of all operations nested in an operation."""
    found = Effects()
    for inner in _inside(operation.operation):
        touched = access(inner, acquires)
        if touched is None:
            continue
        (found.stored if touched.writes else found.loaded).update(touched.roots)
        found.releases |= touched.releases
        if touched.orders is not None:
            found.orders.add(touched.orders)
    return found


def _inside(operation: ir.Operation) -> Iterator[ir.OpView]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner
                yield from _inside(inner.operation)
