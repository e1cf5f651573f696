"""The arrays that memory operations access, and the memory effects of operations with regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilec.ast_to_tile.control_flow.memory_roots import Root, memory_roots
from tilec.dialect.mlir import ir

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

# The resource of print operations: prints keep program order among themselves only.
PRINTED: int = -1

# The resource of the operations between grids.
GRIDS: int = -2


@dataclass(frozen=True)
class Access:
    """One memory operation; a pointer that branches or loops choose has several roots."""

    roots: frozenset[Root]
    writes: bool
    acquires: bool
    releases: bool


@dataclass
class Effects:
    """The arrays loaded and stored in a region, and whether an access in it acquires."""

    loaded: set[Root] = field(default_factory=set)
    stored: set[Root] = field(default_factory=set)
    acquires: bool = False


def access(operation: ir.OpView) -> Access | None:
    """The access of a memory operation; None for other operations."""
    name = operation.operation.name
    if name == "cuda_tile.print_tko":
        return Access(frozenset((PRINTED,)), True, False, False)
    if name in _GRID_CONTROLS:
        return Access(frozenset((GRIDS,)), True, _GRID_CONTROLS[name], False)
    if name not in _MEMORY_OPERAND:
        return None
    ordering = operation.memory_ordering_semantics
    memory = operation.operation.operands[_MEMORY_OPERAND[name]]
    writes = name not in _LOADS
    return Access(memory_roots(memory), writes, ordering in ("acquire", "acq_rel"), ordering in ("release", "acq_rel"))


def effects(operation: ir.OpView) -> Effects:
    """The memory effects of all operations nested in an operation."""
    found = Effects()
    for inner in _inside(operation.operation):
        touched = access(inner)
        if touched is None:
            continue
        (found.stored if touched.writes else found.loaded).update(touched.roots)
        found.acquires |= touched.acquires
    return found


def _inside(operation: ir.Operation) -> Iterator[ir.OpView]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner
                yield from _inside(inner.operation)
