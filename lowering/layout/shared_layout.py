"""Layouts of tiles in shared memory: panels and swizzles, as a linear map of bits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tilec.errors import VerificationError
from tilec.lowering.layout.bit_matrix import BitMatrix, Index
from tilec.lowering.layout.blocked import doubling, unit
from tilec.lowering.layout.vectors import byte_shape

# Span in bytes, mask and target by swizzle: a ^= ((a >> 7) & mask) << target.
_SWIZZLES = {"32B": (32, 1, 4), "64B": (64, 3, 4), "128B": (128, 7, 4), "128B_atom_32B": (128, 3, 5)}
BASE_ALIGNMENT_BYTES = 1024
_TEXT = re.compile(r"contiguous=(\d+) swizzle=(\w+)(?: panel=(\d+))?(?: packed=(\d+))?")
_BYTE = 8


def swizzle_span_bytes(swizzle: str) -> int | None:
    """The bytes of a row that one period of the swizzle covers; None without swizzle."""
    return None if swizzle == "none" else _SWIZZLES[swizzle][0]


def swizzle_bits(swizzle: str) -> tuple[int, int]:
    """The mask of the number of a line of 128 bytes, and the bit of the address from which on it is combined by XOR."""
    _, mask, target = _SWIZZLES[swizzle]
    return mask, target


def swizzled(swizzle: str, address: Index) -> Index:
    """The byte address after the XOR pattern of TMA, wgmma and tcgen05 (PTX ISA 5.5.7)."""
    if swizzle == "none":
        return address
    _, mask, target = _SWIZZLES[swizzle]
    return address ^ ((address >> 7 & mask) << target)


@dataclass(frozen=True)
class SharedLayout:
    """A tile in a buffer aligned to 1024 bytes, dimension `contiguous` innermost, the others row-major above it.

    Rows wider than the swizzle span (or `panel_bytes`, for descriptors without swizzle) are cut into panels of that
    many bytes, stored in order, each with all rows. With `packed_bits` each 16 bytes hold 16 elements of that many
    bits, packed in the first of them (PTX ISA 5.5.1.1), so that only groups of 16 have an offset.
    Raises ValueError for rows narrower than the span.
    """

    shape: tuple[int, ...]
    element_bytes: int
    contiguous: int
    swizzle: str = "none"
    panel_bytes: int | None = None
    packed_bits: int | None = None

    def __post_init__(self) -> None:
        if self.swizzle != "none" and self.swizzle not in _SWIZZLES:
            raise ValueError(f"unknown swizzle '{self.swizzle}'")
        if self.row_bytes > self.shape[self.contiguous] * self.element_bytes:
            row = self.shape[self.contiguous] * self.element_bytes
            raise ValueError(f"rows of {row} bytes are narrower than a panel of {self.row_bytes}")

    def __str__(self) -> str:
        panel = f" panel={self.panel_bytes}" if self.panel_bytes else ""
        packed = f" packed={self.packed_bits}" if self.packed_bits else ""
        return f"contiguous={self.contiguous} swizzle={self.swizzle}{panel}{packed}"

    @property
    def row_bytes(self) -> int:
        """Bytes of a row inside a panel: the box row of a TMA copy."""
        return self.panel_bytes or swizzle_span_bytes(self.swizzle) or self.shape[self.contiguous] * self.element_bytes

    @property
    def panel_elements(self) -> int:
        return self.row_bytes // self.element_bytes

    @property
    def panels(self) -> int:
        return self.shape[self.contiguous] // self.panel_elements

    @property
    def panel_stride_bytes(self) -> int:
        """Bytes from one panel to the next."""
        return self.size_bytes // self.panels

    @property
    def copies(self) -> tuple[int, ...]:
        """Byte offsets of the copies of all elements: one, at the start."""
        return (0,)

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape) * self.element_bytes

    @property
    def loaded_bytes(self) -> int:
        """The bytes of global memory that TMA copies into the buffer, which its mbarrier counts."""
        return self.size_bytes if self.packed_bits is None else self.size_bytes * self.packed_bits // _BYTE

    def offset(self, *coordinates: Index) -> Index:
        """Byte offset of an element from the aligned base; coordinates are integers or integer arrays."""
        inner = coordinates[self.contiguous]
        row = inner * 0
        for dimension, extent in enumerate(self.shape):
            if dimension != self.contiguous:
                row = row * extent + coordinates[dimension]
        panel, column = inner // self.panel_elements, inner % self.panel_elements
        address = panel * self.panel_stride_bytes + row * self.row_bytes + column * self.element_bytes
        return swizzled(self.swizzle, address)

    def transpose(self) -> SharedLayout:
        """The same bytes as a tile with the two dimensions exchanged; ValueError unless there are two."""
        if len(self.shape) != 2:
            raise ValueError(f"expected two dimensions, got {len(self.shape)}")
        return replace(self, shape=self.shape[::-1], contiguous=1 - self.contiguous)

    @cached_property
    def matrix(self) -> BitMatrix:
        """Row-major element index -> byte offset."""
        return offset_matrix(self.shape, self.offset, self.size_bytes)


def offset_matrix(shape: tuple[int, ...], offset: Callable[..., int], size_bytes: int) -> BitMatrix:
    """Row-major element index -> byte offset, for offsets that are linear over bits."""
    rank, bits = len(shape), size_bytes.bit_length() - 1
    positions = (
        unit(dimension, step, rank) for dimension in reversed(range(rank)) for step in doubling(1, shape[dimension])
    )
    return BitMatrix(tuple(offset(*position) for position in positions), bits)


@lru_cache(maxsize=4096)
def parse_shared_layout(text: str, shape: tuple[int, ...], element_bytes: int, per_byte: int = 1) -> SharedLayout:
    """The shared layout whose `str()` is the text; raises VerificationError for other texts.

    If `per_byte` elements of the shape share a byte, it is the layout of the bytes.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise VerificationError(f"expected a layout like 'contiguous=1 swizzle=128B', got '{text}'")
    contiguous, swizzle, panel, packed = match.groups()
    try:
        stored = byte_shape(shape, int(contiguous), per_byte)
        sizes = (None if size is None else int(size) for size in (panel, packed))
        return SharedLayout(stored, element_bytes, int(contiguous), swizzle, *sizes)
    except (ValueError, IndexError) as error:
        raise VerificationError(f"bad layout '{text}': {error}") from error
