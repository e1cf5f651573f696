"""The floating-point formats of Tile IR, with the numpy type that holds their tiles."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from tilec.element_types import ELEMENT_TYPES, ElementType, FloatFormat


class TileFormat(FloatFormat, kw_only=True):
    """A format, its name in Tile IR, and the numpy type of a tile."""

    name: str
    dtype: np.dtype

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
        tile = values.astype(self.dtype)
        nan = _CANONICAL_NAN.get(self.name)
        if nan is None:
            return tile
        return np.where(np.isnan(values), np.uint8(nan), tile.view(np.uint8)).view(self.dtype)


# PTX ISA 9.7.9.22: cvt gives this NaN, without the sign of the source.
_CANONICAL_NAN = {"f8E4M3FN": 0x7F, "f8E5M2": 0x7F}

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


def _format(row: ElementType, values: FloatFormat) -> TileFormat:
    return TileFormat(**vars(values), name=row.name, dtype=_UNPACKED.get(row.name, row.dtypes[0]))


FORMATS: dict[str, TileFormat] = {
    row.name: _format(row, row.float_format) for row in ELEMENT_TYPES.values() if row.float_format is not None
}
