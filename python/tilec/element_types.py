"""The element types of tiles and arrays: one table for all stages, in plain Python."""

from __future__ import annotations

import functools
import importlib
import math
from typing import TYPE_CHECKING

from tilec.frozen import Frozen

if TYPE_CHECKING:
    import numpy as np

PREDICATE, INTEGER, FLOAT = "predicate", "integer", "float"


class FloatFormat(Frozen):
    """A float format: normal values are 1.f * 2**e with `precision` bits and min_exponent <= e <= max_exponent."""

    precision: int
    min_exponent: int
    max_exponent: int
    largest: float
    # A conversion of a value above `largest`, including infinity, results in `largest` (Tile IR 5.1.3).
    saturates: bool = False
    has_nan: bool = True
    has_infinity: bool = True
    has_zero: bool = True
    has_sign: bool = True

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.min_exponent

    def contains(self, narrow: FloatFormat) -> bool:
        """Whether every number of the narrow format, subnormals included, is a number of this format."""
        return (
            self.precision >= narrow.precision
            and self.max_exponent >= narrow.max_exponent
            and self.min_exponent - self.precision <= narrow.min_exponent - narrow.precision
        )

    def represents(self, special: float) -> bool:
        """Whether the format can represent this NaN, infinity or signed zero."""
        if math.isnan(special):
            return self.has_nan
        is_negative = math.copysign(1.0, special) < 0
        return self.has_infinity if math.isinf(special) else self.has_zero and (self.has_sign or not is_negative)


def _ieee(precision: int, max_exponent: int, saturates: bool = False) -> FloatFormat:
    largest = math.ldexp(2.0 - 2.0 ** (1 - precision), max_exponent)
    return FloatFormat(precision, 1 - max_exponent, max_exponent, largest, saturates)


def _finite(precision: int, exponents: tuple[int, int], largest: float, **properties: bool) -> FloatFormat:
    """A format of at most 8 bits without infinity."""
    return FloatFormat(precision, *exponents, largest, saturates=True, has_infinity=False, **properties)


class ElementType(Frozen):
    """The properties of one element type, a row of the table.

    Attributes:
        name: The name in Tile IR.
        kind: `PREDICATE`, `INTEGER` or `FLOAT`.
        value_bits: Bits of a value: 19 for tf32, 6 for 6-bit floats, 1 for i1.
        storage_bits: Bits in memory: 32 for tf32, 8 for i1 and, unless they are packed, for 6-bit floats.
        dtype_names: The module and the name of each type of `dtypes`.
        register: The builtin type of the PTX register that holds one element. Elements of 8 and 4 bits occupy the low
            bits of a 16-bit register.
        ptx: The type suffix of PTX instructions (PTX ISA 5.2), or None.
        tensor_map: The CUtensorMapDataType of tensor maps, without its prefix, or None.
        mma_kind: The kind of tcgen05.mma that multiplies this type (PTX ISA 9.7.16.2), or None.
        float_format: The format of a float type, or None.
    """

    name: str
    kind: str
    value_bits: int
    storage_bits: int
    dtype_names: tuple[str, ...]
    register: str
    ptx: str | None
    tensor_map: str | None = None
    mma_kind: str | None = None
    float_format: FloatFormat | None = None

    @functools.cached_property
    def dtypes(self) -> tuple[np.dtype, ...]:
        """The numpy types of arrays with such elements, the default first; integers of Tile IR are signless.

        Loads numpy, or ml_dtypes for a type that numpy lacks.
        """
        return tuple(map(dtype_named, self.dtype_names))

    @property
    def storage_bytes(self) -> int:
        """Bytes in memory; 1 for types smaller than a byte."""
        return max(1, self.storage_bits // 8)

    @property
    def packed_bits(self) -> int:
        """The bits of an element of `pack` and `unpack`: as in memory, but one for i1."""
        return 1 if self.kind == PREDICATE else self.storage_bits

    @property
    def per_byte(self) -> int:
        """The elements that share a byte of memory, the first in its low bits; 1 for types of a byte and more."""
        return max(1, 8 // self.storage_bits)


@functools.cache
def dtype_named(name: str) -> np.dtype:
    """The numpy type `numpy.NAME` or `ml_dtypes.NAME`; loads the package, which few programs need of ml_dtypes."""
    module, _, kind = name.partition(".")
    return importlib.import_module("numpy").dtype(getattr(importlib.import_module(module), kind))


def _numpy(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


_BF16 = ("ml_dtypes.bfloat16",)
_E8M0, _E4M3, _E5M2 = ("ml_dtypes.float8_e8m0fnu",), ("ml_dtypes.float8_e4m3fn",), ("ml_dtypes.float8_e5m2",)

_ROWS = (
    ElementType("i1", PREDICATE, 1, 8, _numpy("bool_"), "i1", "pred", "UINT8"),
    ElementType("i4", INTEGER, 4, 4, _numpy("uint8", "int8"), "i16", "s16"),
    ElementType("i8", INTEGER, 8, 8, _numpy("int8", "uint8"), "i16", "s16", "UINT8", "i8"),
    ElementType("i16", INTEGER, 16, 16, _numpy("int16", "uint16"), "i16", "s16", "UINT16"),
    ElementType("i32", INTEGER, 32, 32, _numpy("int32", "uint32"), "i32", "s32", "INT32"),
    ElementType("i64", INTEGER, 64, 64, _numpy("int64", "uint64"), "i64", "s64", "INT64"),
    ElementType("f16", FLOAT, 16, 16, _numpy("float16"), "i16", "f16", "FLOAT16", "f16", _ieee(11, 15)),
    ElementType("bf16", FLOAT, 16, 16, _BF16, "i16", "bf16", "BFLOAT16", "f16", _ieee(8, 127)),
    ElementType("f32", FLOAT, 32, 32, _numpy("float32"), "f32", "f32", "FLOAT32", None, _ieee(24, 127)),
    ElementType("tf32", FLOAT, 19, 32, _numpy("float32"), "f32", "tf32", "TFLOAT32", "tf32", _ieee(11, 127)),
    ElementType("f64", FLOAT, 64, 64, _numpy("float64"), "f64", "f64", "FLOAT64", None, _ieee(53, 1023)),
    ElementType("f8E4M3FN", FLOAT, 8, 8, _E4M3, "i16", "e4m3", "UINT8", "f8f6f4", _finite(4, (-6, 8), 448.0)),
    ElementType("f8E5M2", FLOAT, 8, 8, _E5M2, "i16", "e5m2", "UINT8", "f8f6f4", _ieee(3, 15, saturates=True)),
    ElementType(
        "f8E8M0FNU", FLOAT, 8, 8, _E8M0, "i16", "ue8m0", "UINT8", None,
        _finite(1, (-127, 127), 2.0**127, has_zero=False, has_sign=False),
    ),
    ElementType(
        "f4E2M1FN", FLOAT, 4, 4, _numpy("uint8"), "i16", "e2m1", None, "f8f6f4",
        _finite(2, (0, 2), 6.0, has_nan=False),
    ),
    ElementType(
        "fnv8E5M3FNU", FLOAT, 8, 8, _numpy("uint8"), "i16", None, None, None,
        _finite(4, (-14, 16), 114688.0, has_sign=False),
    ),
    ElementType(
        "f6E2M3FN", FLOAT, 6, 8, ("ml_dtypes.float6_e2m3fn",), "i16", "e2m3", None, "f8f6f4",
        _finite(4, (0, 2), 7.5, has_nan=False),
    ),
    ElementType(
        "f6E3M2FN", FLOAT, 6, 8, ("ml_dtypes.float6_e3m2fn",), "i16", "e3m2", None, "f8f6f4",
        _finite(3, (-2, 4), 28.0, has_nan=False),
    ),
)  # fmt: skip
ELEMENT_TYPES: dict[str, ElementType] = {row.name: row for row in _ROWS}
# Scalars of these types are passed to kernels as their codes, which numpy lacks or rounds in another way than Tile IR.
CODED_FLOATS = tuple(row.name for row in _ROWS if row.kind == FLOAT and row.value_bits == 8)
# The floats that Tile IR lacks: types of tiles alone, which operations of tilex make and multiply.
EXTENSION_FLOATS = tuple(row.name for row in _ROWS if row.value_bits == 6)


def element_type(name: str) -> ElementType:
    """The element type with this name; raises ValueError for an unknown name."""
    if name not in ELEMENT_TYPES:
        raise ValueError(f"unknown element type '{name}', expected one of {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[name]
