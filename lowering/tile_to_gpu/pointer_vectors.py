"""The elements per instruction of accesses through tiles of pointers, from the contiguity of pointers and masks."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.contiguity import Axes, contiguity
from tilec.lowering.tile_to_gpu.alignment import VECTOR_BYTES, element_bytes
from tilec.lowering.tile_to_gpu.layouts import is_tile

# For each access the elements of the last dimension that one instruction takes.
PointerVectors = dict[ir.Operation, int]

_POINTERS = {"cuda_tile.load_ptr_tko": "source", "cuda_tile.store_ptr_tko": "destination"}
# Elements of less than a byte share one with others, which may not be theirs.
_NARROW = ("f4E2M1FN",)


def pointer_vectors(entry: ir.OpView, operations: Iterable[ir.OpView]) -> PointerVectors:
    """The width of each weak access of an entry through a tile of pointers; 1 for those that are not in it."""
    accesses = [op for op in operations if _is_candidate(op)]
    known = contiguity(entry) if accesses else {}
    return {op.operation: _vector(op, known) for op in accesses}


def _is_candidate(op: ir.OpView) -> bool:
    field = _POINTERS.get(op.operation.name)
    return field is not None and is_tile(getattr(op, field)) and op.memory_ordering_semantics == "weak"


def _vector(op: ir.OpView, known: dict[ir.Value, Axes]) -> int:
    pointers = getattr(op, _POINTERS[op.operation.name])
    element = pointers.type.element.element
    if spell(element) in _NARROW or pointers not in known:
        return 1
    size = element_bytes(element)
    run = known[pointers][-2]
    elements = min(run.contiguity, VECTOR_BYTES // size)
    if op.mask is not None:
        # One guard decides for all elements of an instruction.
        elements = min(elements, known[op.mask][-2].constancy)
    while run.divisor(elements) < elements * size:
        elements //= 2
    return max(1, elements)
