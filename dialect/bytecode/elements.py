"""The bytes of constant elements and float attributes in MLIR's memory format."""

from __future__ import annotations

import functools
import re

import numpy as np

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

# The bindings expose elements of these types as a buffer; for other types only text is available.
_BUFFERED = frozenset(("i8", "i16", "i32", "i64", "f16", "f32", "f64"))
# MLIR prints longer lists as bytes, which are exact, and shorter lists as rounded numbers.
_PRINTED_AS_NUMBERS = 100
_BYTES = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')


def element_bytes(element: str) -> int:
    """The size of an element in bytes: its bits rounded up, so f4E2M1FN has one and tf32 three."""
    return (ELEMENT_BITS[element] + 7) // 8


def dense_bytes(elements: ir.DenseElementsAttr) -> bytes:
    """All elements in row-major order, or a single one for a splat.

    Eight of i1 fill a byte; where all are equal it is 00 or FF. See the specification of Tile IR, section "Binary
    format", and MLIR's DenseElementsAttr.
    """
    element = ir.RankedTensorType(elements.type).element_type
    name = spell(element)
    if name == "i1":
        return _bits(elements)
    if name in _BUFFERED:
        numbers = np.array(elements).reshape(-1)
        return (numbers[:1] if elements.is_splat else numbers).tobytes()
    raw = _raw_bytes(elements)
    return raw[: element_bytes(name)] if elements.is_splat else raw


def float_bits(value: ir.FloatAttr) -> int:
    """The bit pattern of a float attribute."""
    return int.from_bytes(_scalar_bytes(str(value).partition(" : ")[0], value.type), "little")


def _bits(elements: ir.DenseElementsAttr) -> bytes:
    truths = np.array(elements, dtype=bool).reshape(-1)
    if elements.is_splat:
        return b"\xff" if truths[0] else b"\x00"
    return np.packbits(truths, bitorder="little").tobytes()


def _raw_bytes(elements: ir.DenseElementsAttr) -> bytes:
    text = str(elements)
    stored = _BYTES.match(text)
    if stored is not None:
        return bytes.fromhex(stored[1])
    element = ir.RankedTensorType(elements.type).element_type
    numbers = text[len("dense<") : text.rindex("> : ")].replace("[", "").replace("]", "").split(", ")
    return b"".join(_scalar_bytes(number, element) for number in numbers)


def _scalar_bytes(number: str, element: ir.Type) -> bytes:
    """The bytes of a number that MLIR prints as text."""
    return _parsed(number, str(element))[: element_bytes(spell(element))]


@functools.lru_cache(maxsize=4096)
def _parsed(number: str, element: str) -> bytes:
    """The bytes of a number, printed with enough others that MLIR prints bytes; the bindings offer no other access."""
    others = ", ".join(["1, 2" if element == "i4" else "1.0, 2.0"] * (_PRINTED_AS_NUMBERS // 2))
    printed = ir.Attribute.parse(f"dense<[{number}, {others}]> : tensor<{_PRINTED_AS_NUMBERS + 1}x{element}>")
    stored = _BYTES.match(str(printed))
    assert stored is not None, printed
    return bytes.fromhex(stored[1])
