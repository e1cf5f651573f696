"""Element types of arrays and parameters: their Tile IR names, their host types, their sizes."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Element:
    """An element type and the numpy types whose memory holds it, the usual one first.

    Integers of Tile IR have no sign, so a pointer to i8 takes arrays of both; signatures say u8 where Python did.
    """

    name: str
    dtypes: tuple[np.dtype, ...]

    @property
    def size_bytes(self) -> int:
        return self.dtypes[0].itemsize


def _element(name: str, *dtypes: type) -> Element:
    return Element(name, tuple(np.dtype(dtype) for dtype in dtypes))


ELEMENTS: dict[str, Element] = {
    element.name: element
    for element in (
        _element("i1", np.bool_),
        _element("i8", np.int8, np.uint8),
        _element("i16", np.int16, np.uint16),
        _element("i32", np.int32, np.uint32),
        _element("i64", np.int64, np.uint64),
        _element("u8", np.uint8),
        _element("u16", np.uint16),
        _element("u32", np.uint32),
        _element("u64", np.uint64),
        _element("f16", np.float16),
        _element("bf16", ml_dtypes.bfloat16),
        _element("f32", np.float32),
        _element("tf32", np.float32),
        _element("f64", np.float64),
        _element("f8E4M3FN", ml_dtypes.float8_e4m3fn),
        _element("f8E5M2", ml_dtypes.float8_e5m2),
        _element("f8E8M0FNU", ml_dtypes.float8_e8m0fnu),
    )
}

# What lies behind a pointer may also be of types that numpy has none for, in an array of their bytes.
POINTEES: dict[str, tuple[np.dtype, ...]] = {
    **{name: element.dtypes for name, element in ELEMENTS.items()},
    "i4": (np.dtype(np.uint8), np.dtype(np.int8)),
    "f4E2M1FN": (np.dtype(np.uint8),),
    "fnv8E5M3FNU": (np.dtype(np.uint8),),
}

# PTX ISA 5.2.1: the fundamental types a kernel parameter can have here, with the host type of the same bits.
PARAMETER_DTYPES: dict[str, np.dtype] = {
    "u8": np.dtype(np.uint8),
    "s8": np.dtype(np.int8),
    "b8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "s16": np.dtype(np.int16),
    "b16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "s32": np.dtype(np.int32),
    "b32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "s64": np.dtype(np.int64),
    "b64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


def element_of(dtype: np.dtype) -> str | None:
    """The element type that an array of this numpy type has, or None where there is none."""
    return next((element.name for element in ELEMENTS.values() if dtype == element.dtypes[0]), None)
