"""Constants: immediates in PTX syntax (PTX ISA 4.5), the bits of elements, and the text of operands."""

from __future__ import annotations

import math
import struct

import numpy as np

from tilec.dialect.bytecode.elements import dense_bytes
from tilec.dialect.mlir import ir
from tilec.element_types import ElementType, element_type
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement

# A tf32 has the upper 19 bits of an f32, and three bytes in a constant.
_TF32_BYTES, _TF32_SHIFT = 3, 13
# The magnitude of infinity, or of the largest number, of 8-bit floats: codes above it are NaN, which `cvt` and the
# interpreter write as 0x7F (PTX ISA 9.7.9.22).
_LARGEST_CODES = {"f8E4M3FN": 0x7E, "f8E5M2": 0x7C}
_NAN_OF_EIGHT_BITS = 0x7F
# Formats whose arrays are of bytes. Their largest code is NaN, if they have one.
_WITHOUT_NUMPY = ("f4E2M1FN", "fnv8E5M3FNU")


def operands(count: int, first: int = 0) -> str:
    """`$0, $1, ...`: consecutive results and operands of an instruction."""
    return ", ".join(f"${index}" for index in range(first, first + count))


def braced(first: int, count: int) -> str:
    """The operands from number `first`: one alone, or several in braces."""
    return f"{{{operands(count, first)}}}" if count > 1 else operands(count, first)


def literal(element: PtxElement, value: float | int) -> str:
    """The immediate for a value: floats as hexadecimal bits, of f32 after 0f and of f64 after 0d; decimal integers."""
    return _immediate(element, _bits(element, value))


def literal_of_bits(element: PtxElement, bits: int) -> str:
    """The immediate for the bits of an element: a NaN keeps its bits, but for 8-bit floats, which have one."""
    is_nan = bits & _NAN_OF_EIGHT_BITS > _LARGEST_CODES.get(element.name, bits)
    return _immediate(element, _NAN_OF_EIGHT_BITS if is_nan else bits)


def _immediate(element: PtxElement, bits: int) -> str:
    if element.register in ("f32", "f64"):
        return f"0{'f' if element.bits == 32 else 'd'}{bits:0{element.bits // 4}X}"
    if element.is_float:
        return f"0x{bits:0{element.bits // 4}X}"
    is_negative = not element.is_predicate and bits >> element.bits - 1
    return str(bits - (1 << element.bits) if is_negative else bits)


def _bits(element: PtxElement, value: float | int) -> int:
    if element.is_predicate:
        return int(bool(value))
    if not element.is_float:
        return int(value) & (1 << element.bits) - 1
    if element.name in ("f32", "tf32"):
        return int.from_bytes(np.float32(value).tobytes(), "little")
    if element.name == "f64":
        return int.from_bytes(struct.pack("<d", value), "little")
    # Zero has no bits set, even in f8E8M0FNU, where 0 is 2**-127.
    if value == 0 and math.copysign(1.0, value) > 0:
        return 0
    if element.name in _LARGEST_CODES and math.isnan(value):
        return _NAN_OF_EIGHT_BITS
    row = element_type(element.name)
    if element.name in _WITHOUT_NUMPY:
        return _code(row, value)
    return int.from_bytes(row.dtypes[0].type(value).tobytes(), "little")


def _code(row: ElementType, value: float) -> int:
    """The bits of a value of a format with subnormal numbers."""
    form = row.float_format
    assert form is not None
    if math.isnan(value):
        return (1 << row.value_bits) - 1
    fraction_bits = form.precision - 1
    exponent = max(math.frexp(value)[1] - 1, form.min_exponent)
    units = math.ldexp(abs(value), fraction_bits - exponent)
    sign = 1 << row.value_bits - 1 if math.copysign(1.0, value) < 0 else 0
    return sign + (exponent - form.min_exponent << fraction_bits) + int(units)


def element_codes(elements: ir.DenseElementsAttr, kind: PtxElement) -> np.ndarray:
    """The bits of each element in row-major order, as unsigned integers of its size in scratch memory."""
    count = math.prod(ir.RankedTensorType(elements.type).shape)
    codes = _stored_codes(np.frombuffer(dense_bytes(elements), np.uint8), kind)
    return np.repeat(codes[:1], count) if elements.is_splat else codes[:count]


def memory_bytes(elements: ir.DenseElementsAttr, kind: PtxElement) -> bytes:
    """The elements as in global memory, where two elements of 4 bits share a byte, the first in its low half."""
    codes = element_codes(elements, kind)
    if kind.bits == 4:
        halves = np.append(codes, np.zeros(len(codes) % 2, np.uint8))
        codes = halves[0::2] | halves[1::2] << 4
    return codes.tobytes()


def _stored_codes(stored: np.ndarray, kind: PtxElement) -> np.ndarray:
    if kind.is_predicate:
        return np.unpackbits(stored, bitorder="little")
    if kind.name == "tf32":
        low, middle, high = stored.reshape(-1, _TF32_BYTES).astype(np.uint32).T
        return (low | middle << 8 | high << 16) << _TF32_SHIFT
    return stored.view(f"u{kind.bytes}")
