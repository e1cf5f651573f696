"""Element types of arrays and parameters: Tile IR names, host types, sizes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tilec.element_types import CODED_FLOATS, ELEMENT_TYPES, EXTENSION_FLOATS, FLOAT, dtype_named
from tilec.frozen import Frozen

if TYPE_CHECKING:
    import numpy as np


class ArrayElement(Frozen):
    """An element type and the names of the numpy types of its arrays, the default one first.

    Integers of Tile IR are signless, so a pointer to i8 accepts int8 and uint8; signatures have u8 for a Python uint8.
    """

    name: str
    dtype_names: tuple[str, ...]

    @cached_property
    def dtypes(self) -> tuple[np.dtype, ...]:
        """The numpy types of the arrays."""
        return tuple(map(dtype_named, self.dtype_names))

    @property
    def size_bytes(self) -> int:
        return self.dtypes[0].itemsize


# Pointees also include types without a numpy type, stored in arrays of bytes.
_IN_BYTES = ("i4", "f4E2M1FN", "fnv8E5M3FNU")
_UNSIGNED = tuple(f"u{bits}" for bits in (8, 16, 32, 64))


def _elements() -> list[ArrayElement]:
    """Integers, unsigned integers (which only signatures tell apart), floats."""
    rows = [row for row in ELEMENT_TYPES.values() if row.name not in (*_IN_BYTES, *EXTENSION_FLOATS)]
    unsigned = [ArrayElement(name, (f"numpy.uint{name[1:]}",)) for name in _UNSIGNED]
    integers, floats = (
        [ArrayElement(row.name, row.dtype_names) for row in rows if (row.kind == FLOAT) == b] for b in (0, 1)
    )
    return [*integers, *unsigned, *floats]


ELEMENTS: dict[str, ArrayElement] = {element.name: element for element in _elements()}
POINTEES: dict[str, ArrayElement] = {
    **ELEMENTS,
    **{name: ArrayElement(name, ELEMENT_TYPES[name].dtype_names) for name in _IN_BYTES},
}

# PTX ISA 5.2.1: the fundamental types of kernel parameters, and floats whose parameters have a type of bits, with a
# host type of the same representation.
PARAMETER_DTYPES: dict[str, str] = {
    "u8": "numpy.uint8",
    "s8": "numpy.int8",
    "b8": "numpy.uint8",
    "u16": "numpy.uint16",
    "s16": "numpy.int16",
    "b16": "numpy.uint16",
    "u32": "numpy.uint32",
    "s32": "numpy.int32",
    "b32": "numpy.uint32",
    "u64": "numpy.uint64",
    "s64": "numpy.int64",
    "b64": "numpy.uint64",
    "f16": "numpy.float16",
    "bf16": "ml_dtypes.bfloat16",
    "f32": "numpy.float32",
    "f64": "numpy.float64",
    **dict.fromkeys(CODED_FLOATS, "numpy.uint8"),
}


def parameter_dtype(name: str) -> np.dtype:
    """The host type of a kernel parameter."""
    return dtype_named(PARAMETER_DTYPES[name])


def element_of(dtype: np.dtype) -> str | None:
    """The element type of arrays of this numpy type, None if unsupported."""
    return next((element.name for element in ELEMENTS.values() if dtype == element.dtypes[0]), None)
