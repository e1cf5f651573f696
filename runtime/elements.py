"""Element types of arrays and parameters: Tile IR names, host types, sizes."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tilec.element_types import ELEMENT_TYPES, FLOAT


@dataclass(frozen=True)
class ArrayElement:
    """An element type and the numpy types of its arrays, the default one first.

    Integers of Tile IR are signless, so a pointer to i8 accepts int8 and uint8; signatures have u8 for a Python uint8.
    """

    name: str
    dtypes: tuple[np.dtype, ...]

    @property
    def size_bytes(self) -> int:
        return self.dtypes[0].itemsize


# Pointees also include types without a numpy type, stored in arrays of bytes.
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

# PTX ISA 5.2.1: the fundamental types of kernel parameters, with a host type of the same representation.
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
    """The element type of arrays of this numpy type, None if unsupported."""
    return next((element.name for element in ELEMENTS.values() if dtype == element.dtypes[0]), None)
