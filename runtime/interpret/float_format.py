"""The floating-point formats of Tile IR: precision, exponents, special values and the numpy type that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np

from tilec.element_types import element_type


@dataclass(frozen=True)
class FloatFormat:
    """A binary format: normal values are 1.f * 2**e of `precision` bits, with min_exponent <= e <= max_exponent."""

    name: str
    precision: int
    min_exponent: int
    max_exponent: int
    largest: float
    dtype: np.dtype
    saturates: bool = False
    has_nan: bool = True
    has_infinity: bool = True
    has_zero: bool = True
    has_sign: bool = True

    @property
    def smallest_normal(self) -> float:
        return float(np.ldexp(1.0, self.min_exponent))

    def represents(self, special: float) -> bool:
        """Whether the format can represent this NaN, infinity or signed zero."""
        if np.isnan(special):
            return self.has_nan
        return self.has_infinity if np.isinf(special) else self.has_zero and (self.has_sign or not np.signbit(special))

    def decode(self, tile: np.ndarray) -> np.ndarray:
        """The values of a tile as f64, exactly."""
        if self.name == UE5M3:
            return _ue5m3_values()[tile]
        return tile.astype(np.float64)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """A tile of f64 values, which must be representable in this format (see `round_to`)."""
        if self.name == UE5M3:
            codes = np.searchsorted(_ue5m3_values()[:-1], values)
            return np.where(np.isnan(values), 0xFF, codes).astype(np.uint8)
        return values.astype(self.dtype)


# The MLIR type is Float8E5M3FNU; numpy and ml_dtypes have no such type, so tiles hold the codes.
UE5M3 = "fnv8E5M3FNU"


@cache
def _ue5m3_values() -> np.ndarray:
    """The value of each of the 256 codes: exponent bias 15, subnormals, 0xFF is NaN, no sign."""
    code = np.arange(256)
    exponent, fraction = code >> 3, code & 7
    values = np.where(exponent == 0, np.ldexp(fraction, -17), np.ldexp(8.0 + fraction, exponent - 18))
    values[255] = np.nan
    return values


# numpy holds one 4-bit float per byte in a tile; arrays in memory hold two.
_UNPACKED = {"f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn)}


def _format(name: str, precision: int, exponents: tuple[int, int], largest: float, **properties: bool) -> FloatFormat:
    dtype = _UNPACKED[name] if name in _UNPACKED else element_type(name).dtypes[0]
    return FloatFormat(name, precision, *exponents, largest, dtype, **properties)


def _ieee(name: str, precision: int, max_exponent: int, saturates: bool = False) -> FloatFormat:
    largest = float(np.ldexp(2.0 - 2.0 ** (1 - precision), max_exponent))
    return _format(name, precision, (1 - max_exponent, max_exponent), largest, saturates=saturates)


FORMATS: dict[str, FloatFormat] = {
    form.name: form
    for form in (
        _ieee("f16", 11, 15),
        _ieee("bf16", 8, 127),
        _ieee("tf32", 11, 127),
        _ieee("f32", 24, 127),
        _ieee("f64", 53, 1023),
        _ieee("f8E5M2", 3, 15, saturates=True),
        _format("f8E4M3FN", 4, (-6, 8), 448.0, saturates=True, has_infinity=False),
        _format(
            "f8E8M0FNU", 1, (-127, 127), 2.0**127, saturates=True, has_infinity=False, has_zero=False, has_sign=False
        ),
        _format("f4E2M1FN", 2, (0, 2), 6.0, saturates=True, has_nan=False, has_infinity=False),
        _format(UE5M3, 4, (-14, 16), 114688.0, saturates=True, has_infinity=False, has_sign=False),
    )
}
