"""Element types of random programs: their numpy types, and the largest magnitude of exact integers."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

# The largest magnitude of the initial values of random floats.
LARGEST_BOUND = 8


@dataclass(frozen=True)
class Element:
    """`exact`: every integer of at most this magnitude is a value of the type (floats only)."""

    name: str
    dtype: np.dtype
    bits: int
    exact: int = 0

    @property
    def is_float(self) -> bool:
        return self.exact > 0


def _row(name: str, dtype: type, bits: int, exact: int = 0) -> Element:
    return Element(name, np.dtype(dtype), bits, exact)


ELEMENTS = {
    element.name: element
    for element in (
        _row("i1", np.bool_, 1),
        _row("i8", np.int8, 8),
        _row("i16", np.int16, 16),
        _row("i32", np.int32, 32),
        _row("i64", np.int64, 64),
        _row("f16", np.float16, 16, 2**11),
        _row("bf16", ml_dtypes.bfloat16, 16, 2**8),
        _row("tf32", np.float32, 32, 2**11),
        _row("f32", np.float32, 32, 2**24),
        _row("f64", np.float64, 64, 2**53),
        _row("f8E4M3FN", ml_dtypes.float8_e4m3fn, 8, 2**4),
        _row("f8E5M2", ml_dtypes.float8_e5m2, 8, 2**3),
        _row("i4", np.int8, 4),
        _row("f4E2M1FN", np.uint8, 4),
        _row("f8E8M0FNU", ml_dtypes.float8_e8m0fnu, 8),
        _row("fnv8E5M3FNU", np.uint8, 8),
    )
}
INTEGERS = ("i8", "i16", "i32", "i64")
# Types that random_narrow.py generates; their values have no bounds.
NARROW_FLOATS = ("f4E2M1FN", "f8E8M0FNU", "fnv8E5M3FNU")
NARROW = ("i4", *NARROW_FLOATS)
# Types of which two elements share a byte.
PACKED = ("i4", "f4E2M1FN")
# Types with arithmetic; values of other types are only stored, moved and converted.
ARITHMETIC_FLOATS = ("f16", "bf16", "f32", "f64")


def unsigned(array: np.ndarray) -> np.ndarray:
    """The same bits as unsigned integers."""
    return array.view(np.uint8) if array.dtype == np.bool_ else array.view(f"u{array.itemsize}")


def wrapped(number: int, bits: int) -> int:
    """The signed integer of this size with the same low bits."""
    return (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def high_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The upper half of the unsigned product of twice the width."""
    bits = 8 * left.itemsize
    product = unsigned(left).astype(object) * unsigned(right).astype(object)
    return np.array(product >> bits, dtype=object).astype(f"u{left.itemsize}").view(left.dtype).reshape(left.shape)
