"""Constant elements: the bytes of the constant table as MLIR's dense attributes."""

from __future__ import annotations

from math import prod

import numpy as np

from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.bytecode.reading.table_reader import Table
from tilec.dialect.bytecode.reading.type_reader import TypeReader
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

# A constant is stored once per type, so a small file could demand any amount of memory.
_MOST_BYTES = 1 << 30


class ConstantReader:
    """The constants by index and type."""

    def __init__(self, table: Table, types: TypeReader) -> None:
        self._table, self._types = table, types
        self._found: dict[tuple[int, ir.Type], ir.Attribute] = {}
        self._bytes = 0

    def read(self, type: ir.Type, cursor: Cursor) -> ir.Attribute:
        """Reads an index and returns the constant's elements for a tile type; a splat stays one element."""
        start, index = cursor.at, cursor.number()
        found = self._found.get((index, type))
        if found is None:
            found = self._found[index, type] = self._elements(index, type, cursor, start)
        return found

    def _elements(self, index: int, type: ir.Type, user: Cursor, at: int) -> ir.Attribute:
        if not isinstance(type, TileType) or spell(type.element) not in ELEMENT_BITS:
            user.fail(f"constant elements need a tile of numbers, but got {quote(type)}", at)
        blob = self._table.entry(index, user, at)
        payload = blob.take(blob.number())
        self._bytes += len(payload)
        if self._bytes > _MOST_BYTES:
            user.fail(f"the constants of the file take more than {_MOST_BYTES} bytes", at)
        content = _bits(payload, type, blob) if spell(type.element) == "i1" else _whole_bytes(payload, type, blob)
        numbers = np.frombuffer(content, np.uint8)
        return ir.DenseElementsAttr.get(numbers, type=type.element, shape=list(type.shape))


def _whole_bytes(payload: bytes, type: TileType, blob: Cursor) -> bytes:
    bits, count = ELEMENT_BITS[spell(type.element)], prod(type.shape)
    size = -(-bits // 8)
    if len(payload) not in (size, size * count):
        blob.fail(
            f"expected {size} bytes (all elements equal) or {size * count} for {quote(type)}, but got {len(payload)}", 0
        )
    if bits % 8 == 0:
        return payload
    # The unused high bits of an element's last byte are ignored.
    cleared = bytearray(payload)
    kept = (1 << bits % 8) - 1
    cleared[size - 1 :: size] = bytes(byte & kept for byte in payload[size - 1 :: size])
    return bytes(cleared)


def _bits(payload: bytes, type: TileType, blob: Cursor) -> bytes:
    """The bytes of i1 elements, one byte each, packed eight to a byte as MLIR stores them; a splat is 00 or FF."""
    count = prod(type.shape)
    if payload in (b"\x00", b"\xff"):
        return b"\x01" if payload[0] else b"\x00"
    if len(payload) != -(-count // 8):
        blob.fail(
            f"expected one byte 00 or FF (all elements equal) or {-(-count // 8)} bytes of eight elements each for "
            f"{quote(type)}, but got {len(payload)}",
            0,
        )
    return np.unpackbits(np.frombuffer(payload, np.uint8), count=count, bitorder="little").tobytes()
