"""Pointers as integers of tile_gpu: byte addresses, or a count of half bytes for elements of 4 bits."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.lowering import emitter
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes, per_byte


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
