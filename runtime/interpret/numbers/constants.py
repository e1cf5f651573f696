"""MLIR constants as tiles."""

from __future__ import annotations

import re

import numpy as np

from tilec.dialect.mlir import ir
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import wrap
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, round_to

# The element types that the bindings expose as a buffer; the others are available only as text.
_BUFFERED = frozenset(("i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64"))
# MLIR prints long lists as hexadecimal bytes, and infinities and NaN in short lists as hexadecimal bits.
_BYTES = re.compile(r'^dense<"0x([0-9A-Fa-f]*)">')
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?\d[\d.eE+-]*")
# A tf32 constant has three bytes: the upper 19 bits of an f32.
_TF32_BYTES, _TF32_SHIFT = 3, 13


def array_of_elements(attribute: ir.DenseElementsAttr, element: TileElement) -> np.ndarray:
    """The tile of a dense elements attribute."""
    shape = tuple(ir.RankedTensorType(attribute.type).shape)
    if attribute.is_splat:
        return np.broadcast_to(scalar_of_attribute(attribute.get_splat_value(), element), shape)
    if element.name in _BUFFERED:
        return np.array(attribute).reshape(shape)
    text = str(attribute)
    stored = _BYTES.match(text)
    tile = _of_bytes(bytes.fromhex(stored[1]), element) if stored else _of_numbers(text, element)
    return tile.reshape(shape)


def scalar_of_attribute(attribute: ir.Attribute, element: TileElement) -> np.ndarray:
    """The 0-D tile of an integer or float attribute; the attribute's type may be wider than the element."""
    if element.is_float:
        return element.format.encode(np.asarray(attribute.value, np.float64))
    return np.asarray(wrap(np.asarray(int(attribute.value) % 2**64, np.uint64), element))


def _of_numbers(text: str, element: TileElement) -> np.ndarray:
    numbers = _NUMBER.findall(text[: text.rindex(" : ")])
    return np.stack([_of_number(number, element) for number in numbers])


def _of_number(number: str, element: TileElement) -> np.ndarray:
    if not number.startswith("0x"):
        # MLIR prints enough digits that rounding to the format restores the value.
        return element.format.encode(round_to(np.asarray(float(number)), element.format, NEAREST_EVEN))
    return _of_codes(np.asarray(int(number, 16), np.uint32), element)


def _of_bytes(stored: bytes, element: TileElement) -> np.ndarray:
    if element.name == "tf32":
        codes = np.frombuffer(stored, np.uint8).reshape(-1, _TF32_BYTES).astype(np.uint32)
        return _of_codes(codes[:, 0] | codes[:, 1] << 8 | codes[:, 2] << 16, element)
    return _of_codes(np.frombuffer(stored, f"u{element.dtype.itemsize}"), element)


def _of_codes(codes: np.ndarray, element: TileElement) -> np.ndarray:
    if element.name == "tf32":
        return element.from_bits(codes.astype(np.uint32) << np.uint32(_TF32_SHIFT))
    return element.from_bits(codes.astype(f"u{element.dtype.itemsize}"))
