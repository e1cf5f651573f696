"""Pointers as integers of tile_gpu: byte addresses, or a count of half bytes for elements of 4 bits.

The elements per instruction of accesses through tiles of pointers follow from the contiguity of pointers and masks.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.atomic import WIDEST
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.contiguity import Axes, contiguity
from tilec.lowering.tile.analysis.tile_operations import is_tile
from tilec.lowering.tile_to_gpu.access.alignment import VECTOR_BYTES, element_bytes, per_byte

# For each access the elements of the last dimension that one instruction takes.
PointerVectors = dict[ir.Operation, int]

_UPDATE = "cuda_tile.atomic_rmw_tko"
_POINTERS = {"cuda_tile.load_ptr_tko": "source", "cuda_tile.store_ptr_tko": "destination", _UPDATE: "pointers"}
# Elements of less than a byte share one with others, which may not be theirs.
_NARROW = ("f4E2M1FN",)


def address_of(pointers: ir.Value, type: PointerType) -> ir.Value:
    """The byte addresses of converted pointers."""
    return _shifted("arith.shrui", pointers, type)


def pointers_to(addresses: ir.Value, type: PointerType) -> ir.Value:
    """The converted pointers to byte addresses."""
    return _shifted("arith.shli", addresses, type)


def moved(pointers: ir.Value, offsets: ir.Value, type: PointerType) -> ir.Value:
    """The converted pointers, moved by i64 numbers of elements."""
    step = element_bytes(type.element) if per_byte(type.element) == 1 else 1
    return emitter.binary("arith.addi", pointers, emitter.multiplied(offsets, step))


def _shifted(name: str, value: ir.Value, type: PointerType) -> ir.Value:
    parts = per_byte(type.element)
    if parts == 1:
        return value
    return emitter.binary(name, value, emitter.constant(value.type, parts.bit_length() - 1))


def pointer_vectors(entry: ir.OpView, operations: Iterable[ir.OpView]) -> PointerVectors:
    """The width of each access of an entry through a tile of pointers; 1 for those that are not in it."""
    accesses = [op for op in operations if _is_candidate(op)]
    known = contiguity(entry) if accesses else {}
    return {op.operation: _vector(op, known) for op in accesses}


def _is_candidate(op: ir.OpView) -> bool:
    field = _POINTERS.get(op.operation.name)
    return field is not None and is_tile(getattr(op, field)) and _widest(op) > 1


def _widest(op: ir.OpView) -> int:
    """The most elements of one instruction: an atomic updates those of a vector one by one, whatever its order."""
    element = getattr(op, _POINTERS[op.operation.name]).type.element.element
    if op.operation.name == _UPDATE:
        return WIDEST.get((op.mode, spell(element)), 1)
    if op.memory_ordering_semantics != "weak" or spell(element) in _NARROW:
        return 1
    return VECTOR_BYTES // element_bytes(element)


def _vector(op: ir.OpView, known: dict[ir.Value, Axes]) -> int:
    pointers = getattr(op, _POINTERS[op.operation.name])
    if pointers not in known:
        return 1
    size = element_bytes(pointers.type.element.element)
    run = known[pointers][-2]
    elements = min(run.contiguity, _widest(op))
    if op.mask is not None:
        # One guard decides for all elements of an instruction.
        elements = min(elements, known[op.mask][-2].constancy)
    while run.divisor(elements) < elements * size:
        elements //= 2
    return max(1, elements)
