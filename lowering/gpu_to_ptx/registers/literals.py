"""Immediates in PTX syntax (PTX ISA 4.5)."""

from __future__ import annotations

import math
import struct

import numpy as np

from tilec.element_types import ElementType, element_type
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement


def literal(element: PtxElement, value: float | int) -> str:
    """The immediate for a value: 0fXXXXXXXX, 0dX.., the bits of narrower floats, decimal integers."""
    if element.name in ("f32", "tf32"):
        return f"0f{struct.unpack('<I', np.float32(value).tobytes())[0]:08X}"
    if element.name == "f64":
        return f"0d{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if element.is_float:
        return f"0x{float_bits(element, value):0{element.bits // 4}X}"
    if element.is_predicate:
        return str(int(bool(value)))
    return str(_signed(int(value), element.bits))


# The magnitude of infinity, or of the largest number, of 8-bit floats: codes above it are NaN, which `cvt` and the
# interpreter write as 0x7F (PTX ISA 9.7.9.22).
_LARGEST_CODES = {"f8E4M3FN": 0x7E, "f8E5M2": 0x7C}
_NAN_OF_EIGHT_BITS = 0x7F


def literal_of_bits(element: PtxElement, bits: int) -> str:
    """The immediate for the bits of an element: a NaN keeps its bits, but for 8-bit floats, which have one."""
    if bits & _NAN_OF_EIGHT_BITS > _LARGEST_CODES.get(element.name, bits):
        bits = _NAN_OF_EIGHT_BITS
    if element.register in ("f32", "f64"):
        return f"0{'f' if element.bits == 32 else 'd'}{bits:0{element.bits // 4}X}"
    if element.is_float:
        return f"0x{bits:0{element.bits // 4}X}"
    return str(bits if element.is_predicate else _signed(bits, element.bits))


def float_bits(element: PtxElement, value: float) -> int:
    """The bits of a float narrower than 32 bits; zero has no bits set, even in f8E8M0FNU, where 0 is 2**-127."""
    if value == 0 and math.copysign(1.0, value) > 0:
        return 0
    if element.name in _LARGEST_CODES and math.isnan(value):
        return _NAN_OF_EIGHT_BITS
    if element.name in _WITHOUT_NUMPY:
        return _code(element_type(element.name), value)
    return int.from_bytes(element_type(element.name).dtypes[0].type(value).tobytes(), "little")


# Formats whose arrays are of bytes. Their largest code is NaN, if they have one.
_WITHOUT_NUMPY = ("f4E2M1FN", "fnv8E5M3FNU")


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


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
