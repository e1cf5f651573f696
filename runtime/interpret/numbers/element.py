"""Element types of tiles: their representation in numpy and in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilec.element_types import ELEMENT_TYPES, element_type
from tilec.runtime.interpret.numbers.float_format import FORMATS, TileFormat


@dataclass(frozen=True)
class TileElement:
    """A number type, or with `pointee` a pointer to one.

    Tiles hold integers as signed numpy integers (i1 as bool, i4 within int8), floats in the format's numpy type
    (tf32 in float32) and pointers as uint64, in steps of `TileElement.step_bits` of the pointee.
    """

    name: str
    pointee: TileElement | None = None

    @property
    def format(self) -> TileFormat:
        return FORMATS[self.name]

    @property
    def target(self) -> TileElement:
        """The pointee of a pointer."""
        assert self.pointee is not None
        return self.pointee

    @property
    def steps(self) -> int:
        """The distance of two adjacent elements, in steps."""
        return self.bits // self.step_bits

    @property
    def steps_per_byte(self) -> int:
        """The number of address steps per byte for this pointee."""
        return 8 // self.step_bits

    @cached_property
    def is_float(self) -> bool:
        return self.pointee is None and self.name in FORMATS

    @cached_property
    def bits(self) -> int:
        """The size of an element in memory, in bits: 8 for i1, 32 for tf32."""
        return 64 if self.pointee is not None else element_type(self.name).storage_bits

    @property
    def step_bits(self) -> int:
        """The unit of an address of this pointee: a byte, or four bits for elements of four bits."""
        return min(self.bits, 8)

    @cached_property
    def width(self) -> int:
        """The width of an integer, in bits."""
        return element_type(self.name).value_bits

    @cached_property
    def dtype(self) -> np.dtype:
        if self.pointee is not None:
            return np.dtype(np.uint64)
        if self.is_float:
            return self.format.dtype
        return np.dtype(np.int8) if self.name == "i4" else element_type(self.name).dtypes[0]

    def __str__(self) -> str:
        return f"ptr<{self.pointee}>" if self.pointee else self.name

    def from_bits(self, bits: np.ndarray) -> np.ndarray:
        """A tile from unsigned integers of the storage size; an i1 is true for every nonzero byte."""
        if self.name == "i1":
            return bits != 0
        if self.name == "i4":
            return ((bits ^ np.uint8(8)) - np.uint8(8)).view(np.int8)
        return bits.view(self.dtype)

    def to_bits(self, tile: np.ndarray) -> np.ndarray:
        """The unsigned integers of the storage size that hold a tile."""
        if self.name == "i4":
            return tile.view(np.uint8) & np.uint8(15)
        return np.asarray(tile, order="C").view(f"u{max(self.bits, 8) // 8}")


ELEMENTS = {name: TileElement(name) for name in ELEMENT_TYPES}
