"""The constants of a file, each stored once as bytes; types are given at the uses."""

from __future__ import annotations

from tilec.dialect.bytecode.elements import dense_bytes
from tilec.dialect.bytecode.writing.encoder import table, varint
from tilec.dialect.mlir import ir


class ConstantTable:
    """Constants in the order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._known: dict[ir.DenseElementsAttr, int] = {}

    def index(self, elements: ir.DenseElementsAttr) -> int:
        """The index of the constant with these elements."""
        number = self._known.get(elements)
        if number is None:
            number = self._numbers.setdefault(dense_bytes(elements), len(self._numbers))
            self._known[elements] = number
        return number

    def payload(self) -> bytearray | None:
        """The section: 64-bit offsets, then the size and bytes of each constant; None if there are no constants."""
        if not self._numbers:
            return None
        return table([varint(len(content)) + content for content in self._numbers], 8, "Q")
