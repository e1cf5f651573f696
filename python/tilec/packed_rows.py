"""Rows of floats of 4 and 6 bits on the host, as `ct.packed_view` reads them: packing and unpacking."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tilec.diagnostics.user_traceback import public
from tilec.errors import ArgumentTypeError, ArgumentValueError
from tilec.language.datatypes import PACKED_FLOATS, DType
from tilec.runtime.interpret.numbers.float_format import FORMATS
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, round_to
from tilec.runtime.interpret.operations.packed import pack_bits, unpack_bits


@public
def pack_rows(values: ArrayLike, dtype: DType) -> np.ndarray:
    """The bytes of an array of floats of less than 8 bits, as `ct.packed_view` with this `dtype` reads them.

    Args:
        values: numbers of any float or integer type, of one dimension or more. They are rounded to the nearest value
            of `dtype`; values beyond the largest become the largest.
        dtype: float6_e2m3fn, float6_e3m2fn or float4_e2m1fn.

    Returns:
        An array of uint8 whose rows have len(row) * bits / 8 bytes.

    Raises:
        TypeError: another `dtype`, or elements other than real numbers.
        ValueError: a NaN, or rows that do not fill whole bytes.

    Example:
        >>> ct.pack_rows(np.array([0.0, 0.0625, 0.125, -28.0]), ct.float6_e3m2fn)
        array([ 64,  32, 252], dtype=uint8)
    """
    bits, given = _packed_bits("ct.pack_rows", dtype), np.asarray(values)
    where = "'ct.pack_rows', argument 'values': "
    if not np.can_cast(given.dtype, np.float64):
        raise ArgumentTypeError(f"{where}expected real numbers of at most 64 bits, got {given.dtype}")
    numbers, group = given.astype(np.float64), 8 // math.gcd(bits, 8)
    if numbers.ndim == 0 or numbers.shape[-1] % group:
        expected = f"rows of a multiple of {group} elements of {dtype}"
        raise ArgumentValueError(f"{where}expected {expected}, got shape {numbers.shape}: append zeros")
    if np.isnan(numbers).any():
        raise ArgumentValueError(f"{where}expected numbers, as {dtype} has no NaN, got NaN: replace it first")
    form = FORMATS[dtype.element]
    return pack_bits(form.encode(round_to(numbers, form, NEAREST_EVEN)).view(np.uint8), bits)


@public
def unpack_rows(packed: ArrayLike, dtype: DType) -> np.ndarray:
    """The float32 values of packed rows, the inverse of `pack_rows`.

    Args:
        packed: bytes (uint8) of one dimension or more.
        dtype: float6_e2m3fn, float6_e3m2fn or float4_e2m1fn.

    Returns:
        An array of float32 whose rows have as many elements as their bytes hold.

    Raises:
        TypeError: another `dtype`, or elements other than uint8.
        ValueError: rows that end within an element.

    Example:
        >>> ct.unpack_rows(np.array([64, 32, 252], np.uint8), ct.float6_e3m2fn)
        array([  0.    ,   0.0625,   0.125 , -28.    ], dtype=float32)
    """
    bits, stored = _packed_bits("ct.unpack_rows", dtype), np.asarray(packed)
    if stored.dtype != np.uint8 or stored.ndim == 0:
        found = f"{stored.dtype} of shape {stored.shape}"
        raise ArgumentTypeError(f"'ct.unpack_rows', argument 'packed': expected rows of uint8, got {found}")
    group_bytes = math.lcm(bits, 8) // 8
    if stored.shape[-1] % group_bytes:
        expected = f"rows of a multiple of {group_bytes} bytes of {dtype}, got shape {stored.shape}"
        raise ArgumentValueError(f"'ct.unpack_rows', argument 'packed': expected {expected}: leave out padding")
    form = FORMATS[dtype.element]
    return form.decode(unpack_bits(stored, bits).view(form.dtype)).astype(np.float32)


def _packed_bits(function: str, dtype: DType) -> int:
    if dtype not in PACKED_FLOATS:
        known = ", ".join(map(str, PACKED_FLOATS))
        raise ArgumentTypeError(f"'{function}', argument 'dtype': expected {known}, got {dtype}")
    return dtype.bitwidth
