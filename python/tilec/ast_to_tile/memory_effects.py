"""Which array each memory operation touches, and what an operation with regions touches as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tilec.dialect.mlir import ir

# Operations that hand on the memory of their first operand.
_HAND_ON = frozenset(
    f"cuda_tile.{name}"
    for name in (
        "assume",
        "offset",
        "reshape",
        "broadcast",
        "make_tensor_view",
        "make_partition_view",
        "make_strided_view",
        "make_gather_scatter_view",
    )
)
# Which operand of an access is the memory; what is no load writes.
_MEMORY_OPERAND = {
    "cuda_tile.load_view_tko": 0,
    "cuda_tile.load_ptr_tko": 0,
    "cuda_tile.store_view_tko": 1,
    "cuda_tile.store_ptr_tko": 0,
    "cuda_tile.atomic_cas_tko": 0,
    "cuda_tile.atomic_rmw_tko": 0,
    "cuda_tile.atomic_red_view_tko": 0,
}
_LOADS = frozenset(("cuda_tile.load_view_tko", "cuda_tile.load_ptr_tko"))

# What is printed comes in the order of the program, and orders nothing else.
PRINTED: int = -1

# An argument of the entry, by number. Arrays passed to a kernel do not overlap (a rule of the language).
Root = int


@dataclass(frozen=True)
class Access:
    """One memory operation."""

    root: Root
    writes: bool
    acquires: bool
    releases: bool


@dataclass
class Effects:
    """What is loaded and stored somewhere in a block, and whether something in it acquires."""

    loaded: set[Root] = field(default_factory=set)
    stored: set[Root] = field(default_factory=set)
    acquires: bool = False

    def touches(self, root: Root) -> bool:
        return root in self.loaded or root in self.stored


def access(operation: Any) -> Access | None:
    """What a memory operation touches; None for any other."""
    name = operation.operation.name
    if name == "cuda_tile.print_tko":
        return Access(PRINTED, True, False, False)
    if name not in _MEMORY_OPERAND:
        return None
    ordering = operation.memory_ordering_semantics
    memory = operation.operation.operands[_MEMORY_OPERAND[name]]
    writes = name not in _LOADS
    return Access(_root(memory), writes, ordering in ("acquire", "acq_rel"), ordering in ("release", "acq_rel"))


def _root(value: ir.Value) -> Root:
    """Arrays come from arguments only: what a loop carries or a branch gives is never one."""
    while not isinstance(value.owner, ir.Block):
        assert value.owner.operation.name in _HAND_ON, value
        value = value.owner.operands[0]
    return ir.BlockArgument(value).arg_number


def effects(operation: Any) -> Effects:
    """The effects of everything inside an operation."""
    found = Effects()
    for inner in _inside(operation.operation):
        touched = access(inner)
        if touched is None:
            continue
        (found.stored if touched.writes else found.loaded).add(touched.root)
        found.acquires |= touched.acquires
    return found


def _inside(operation: ir.Operation) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner
                yield from _inside(inner.operation)
