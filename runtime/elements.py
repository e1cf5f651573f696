"""Element types of arrays and parameters: their Tile IR names, their host types, their sizes."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tilec.element_types import ELEMENT_TYPES, FLOAT


@dataclass(frozen=True)
class ArrayElement:
    """An element type and the numpy types whose memory holds it, the usual one first.

    Integers of Tile IR have no sign, so a pointer to i8 takes arrays of both; signatures say u8 where Python did.
    """

    name: str
    dtypes: tuple[np.dtype, ...]

    @property
    def size_bytes(self) -> int:
        return self.dtypes[0].itemsize


# What lies behind a pointer may also be of types that numpy has none for, in an array of their bytes.
_IN_BYTES = ("i4", "f4E2M1FN", "fnv8E5M3FNU")
_UNSIGNED = tuple(f"u{bits}" for bits in (8, 16, 32, 64))


def _elements() -> list[ArrayElement]:
    """Integers, unsigned integers (which only signatures tell apart), floats."""
    rows = [row for row in ELEMENT_TYPES.values() if row.name not in _IN_BYTES]
    unsigned = [ArrayElement(name, (np.dtype(f"uint{name[1:]}"),)) for name in _UNSIGNED]
    integers, floats = (
        [ArrayElement(row.name, row.dtypes) for row in rows if (row.kind == FLOAT) == b] for b in (0, 1)
    )
    return [*integers, *unsigned, *floats]


ELEMENTS: dict[str, ArrayElement] = {element.name: element for element in _elements()}
POINTEES: dict[str, tuple[np.dtype, ...]] = {
    **{name: element.dtypes for name, element in ELEMENTS.items()},
    **{name: ELEMENT_TYPES[name].dtypes for name in _IN_BYTES},
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
