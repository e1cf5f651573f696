"""The element types of tiles and arrays: one table for all stages, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

PREDICATE, INTEGER, FLOAT = "predicate", "integer", "float"


@dataclass(frozen=True)
class ElementType:
    """A row: what the stages know of an element type by its name in Tile IR.

    `value_bits` are the bits of a value (19 of tf32, one of i1), `storage_bits` those it takes in memory. `dtypes`
    are the numpy types of such memory, the usual one first: Tile IR integers have no sign. `register` is the builtin
    type of the PTX register that holds one element, and `ptx` its suffix in PTX instructions (PTX ISA 5.2); an
    element of 8 bits is the low half of a register of 16; None where PTX has neither.
    """

    name: str
    kind: str
    value_bits: int
    storage_bits: int
    dtypes: tuple[np.dtype, ...]
    register: str | None
    ptx: str | None


def _dtypes(*types: type) -> tuple[np.dtype, ...]:
    return tuple(np.dtype(type) for type in types)


_E8M0, _E4M3, _E5M2 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2

ELEMENT_TYPES: dict[str, ElementType] = {
    row.name: row
    for row in (
        ElementType("i1", PREDICATE, 1, 8, _dtypes(np.bool_), "i1", "pred"),
        ElementType("i4", INTEGER, 4, 4, _dtypes(np.uint8, np.int8), None, None),
        ElementType("i8", INTEGER, 8, 8, _dtypes(np.int8, np.uint8), "i16", "s16"),
        ElementType("i16", INTEGER, 16, 16, _dtypes(np.int16, np.uint16), "i16", "s16"),
        ElementType("i32", INTEGER, 32, 32, _dtypes(np.int32, np.uint32), "i32", "s32"),
        ElementType("i64", INTEGER, 64, 64, _dtypes(np.int64, np.uint64), "i64", "s64"),
        ElementType("f16", FLOAT, 16, 16, _dtypes(np.float16), "i16", "f16"),
        ElementType("bf16", FLOAT, 16, 16, _dtypes(ml_dtypes.bfloat16), "i16", "bf16"),
        ElementType("f32", FLOAT, 32, 32, _dtypes(np.float32), "f32", "f32"),
        ElementType("tf32", FLOAT, 19, 32, _dtypes(np.float32), "f32", "tf32"),
        ElementType("f64", FLOAT, 64, 64, _dtypes(np.float64), "f64", "f64"),
        ElementType("f8E4M3FN", FLOAT, 8, 8, _dtypes(_E4M3), "i16", "e4m3"),
        ElementType("f8E5M2", FLOAT, 8, 8, _dtypes(_E5M2), "i16", "e5m2"),
        ElementType("f8E8M0FNU", FLOAT, 8, 8, _dtypes(_E8M0), "i16", "ue8m0"),
        ElementType("f4E2M1FN", FLOAT, 4, 4, _dtypes(np.uint8), None, None),
        ElementType("fnv8E5M3FNU", FLOAT, 8, 8, _dtypes(np.uint8), None, None),
    )
}


def element_type(name: str) -> ElementType:
    """The row of a name; ValueError for a name without one."""
    if name not in ELEMENT_TYPES:
        raise ValueError(f"unknown element type '{name}', expected one of {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[name]
