"""Rows of floats of 4 and 6 bits on the host, as `ct.packed_view` reads them: packing and unpacking."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tilec.errors import InputError
from tilec.language.datatypes import PACKED_FLOATS, DType
from tilec.runtime.interpret.float_format import FORMATS
from tilec.runtime.interpret.rounding import NEAREST_EVEN, round_to


def pack_rows(values: ArrayLike, dtype: DType) -> np.ndarray:
    """The bytes of an array of floats of less than 8 bits, as `ct.packed_view` with this `dtype` reads them.

    Args:
        values: numbers of any float or integer type, of one dimension or more. They are rounded to the nearest value
            of `dtype`; values beyond the largest become the largest.
        dtype: float6_e2m3fn, float6_e3m2fn or float4_e2m1fn.

    Returns:
        An array of uint8 whose rows have len(row) * bits / 8 bytes.

    Raises:
        InputError: another `dtype`, a NaN, or rows that do not fill whole bytes.

    Example:
        >>> ct.pack_rows(np.array([0.0, 0.0625, 0.125, -28.0]), ct.float6_e3m2fn)
        array([ 64,  32, 252], dtype=uint8)
    """
    bits, numbers = _packed_bits(dtype), np.asarray(values, np.float64)
    if numbers.ndim == 0 or numbers.shape[-1] * bits % 8:
        group = 2 if bits == 4 else 4
        raise InputError(f"expected rows of a multiple of {group} elements of {dtype}, got shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise InputError(f"expected numbers, as {dtype} has no NaN, got NaN: replace it first")
    form = FORMATS[dtype.element]
    codes = form.encode(round_to(numbers, form, NEAREST_EVEN)).view(np.uint8)
    by_bit = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(by_bit.reshape(*numbers.shape[:-1], -1), axis=-1, bitorder="little")


def unpack_rows(packed: ArrayLike, dtype: DType) -> np.ndarray:
    """The float32 values of packed rows, the inverse of `pack_rows`.

    Args:
        packed: bytes (uint8) of one dimension or more.
        dtype: float6_e2m3fn, float6_e3m2fn or float4_e2m1fn.

    Returns:
        An array of float32 whose rows have as many elements as their bytes hold.

    Raises:
        InputError: another `dtype`, or elements other than uint8.

    Example:
        >>> ct.unpack_rows(np.array([64, 32, 252], np.uint8), ct.float6_e3m2fn)
        array([  0.    ,   0.0625,   0.125 , -28.    ], dtype=float32)
    """
    bits, stored = _packed_bits(dtype), np.asarray(packed)
    if stored.dtype != np.uint8 or stored.ndim == 0:
        raise InputError(f"expected an array of uint8, got {stored.dtype} of shape {stored.shape}")
    count = stored.shape[-1] * 8 // bits
    by_bit = np.unpackbits(stored, axis=-1, count=count * bits, bitorder="little")
    codes = by_bit.reshape(*stored.shape[:-1], count, bits) @ (1 << np.arange(bits, dtype=np.uint8))
    form = FORMATS[dtype.element]
    return form.decode(codes.astype(np.uint8).view(form.dtype)).astype(np.float32)


def _packed_bits(dtype: DType) -> int:
    if dtype not in PACKED_FLOATS:
        raise InputError(f"expected {', '.join(map(str, PACKED_FLOATS))}, got {dtype}")
    return dtype.bitwidth
