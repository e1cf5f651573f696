"""Linear layouts: a map from register and thread bits to the coordinates of a tile element."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tilec.errors import VerificationError
from tilec.lowering.layout.bit_matrix import BitMatrix, Index

LANE_BITS = 5
Basis = tuple[int, ...]
_BASES = r"((?:\([\d,]*\))+|none)"
_TEXT = re.compile(rf"register={_BASES} lane={_BASES} warp={_BASES} shape=(\d+(?:x\d+)*|scalar)")


@dataclass(frozen=True)
class LinearLayout:
    """Element coordinates = XOR of the bases of the bits set in (register, lane, warp).

    A basis is a coordinate tuple; a zero basis is replication. All extents are powers of two. `str()` is canonical
    and parse_layout() reads it. Raises ValueError for an invalid shape or basis.
    """

    register: tuple[Basis, ...]
    lane: tuple[Basis, ...]
    warp: tuple[Basis, ...]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(extent < 1 or extent & (extent - 1) for extent in self.shape):
            raise ValueError(f"extents must be powers of two, got {self.shape}")
        if len(self.lane) != LANE_BITS:
            raise ValueError(f"expected {LANE_BITS} lane bases, got {len(self.lane)}")
        bases, rank = self.register + self.lane + self.warp, len(self.shape)
        # By dimension, because to look at each basis takes several times as long.
        if set(map(len, bases)) == {rank} and all(map(_are_below, zip(*bases, strict=True), self.shape)):
            return
        basis = next(basis for basis in bases if len(basis) != rank or not all(map(_is_below, basis, self.shape)))
        raise ValueError(f"basis {basis} lies outside shape {self.shape}")

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        parts = (f"{name}={_spell(getattr(self, name))}" for name in ("register", "lane", "warp"))
        return " ".join((*parts, "shape=" + ("x".join(map(str, self.shape)) or "scalar")))

    @property
    def register_count(self) -> int:
        return 1 << len(self.register)

    @property
    def warps(self) -> int:
        return 1 << len(self.warp)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def register_matrix(self) -> BitMatrix:
        """Register number -> row-major element index."""
        return self._matrix(self.register)

    @cached_property
    def thread_matrix(self) -> BitMatrix:
        """Thread number (lane + 32 warp) -> row-major element index."""
        return self._matrix(self.lane + self.warp)

    @cached_property
    def matrix(self) -> BitMatrix:
        """Register, lane and warp bits, in this order from bit 0 -> row-major element index."""
        return self._matrix(self.register + self.lane + self.warp)

    def apply(self, register: Index, lane: Index, warp: Index) -> tuple[Index, ...]:
        """The coordinates of an element; arguments are integers or integer arrays that broadcast."""
        thread = lane + (warp << LANE_BITS)
        index = self.register_matrix(register) ^ self.thread_matrix(thread)
        return unflatten(index, self.shape)

    @property
    def is_surjective(self) -> bool:
        """Whether some thread holds each element of the tile."""
        return self.matrix.is_surjective

    @cached_property
    def free_register_mask(self) -> int:
        """Register bits that depend on lower ones: a register with such a bit set repeats another register."""
        return _dependent(self.register_matrix.columns)

    @cached_property
    def distinct_registers(self) -> tuple[int, ...]:
        """The registers of a thread without repetitions."""
        return tuple(r for r in range(self.register_count) if not r & self.free_register_mask)

    @cached_property
    def free_thread_mask(self) -> int:
        """Thread bits (lane + 32 warp) that depend on lower bits and registers."""
        registers = len(self.register)
        return _dependent(self.matrix.columns) >> registers

    @cached_property
    def representatives(self) -> tuple[int, ...]:
        """For each register, the register without free bits that holds the same element."""
        return tuple(self.register_matrix.solve(image) or 0 for image in self.register_images)

    @cached_property
    def register_images(self) -> tuple[int, ...]:
        """Row-major element index of each register of thread 0."""
        images = [0]
        for column in self.register_matrix.columns:
            images += [image ^ column for image in images]
        return tuple(images)

    def holder(self, coordinates: Sequence[int]) -> int:
        """The lowest register, lane and warp bits that hold an element, as one number.

        Raises ValueError if no thread holds the element.
        """
        found = self.matrix.solve(flatten(coordinates, self.shape))
        if found is None:
            raise ValueError(f"'{self}' does not hold {tuple(coordinates)}")
        return found

    def project(self, dimension: int) -> LinearLayout:
        """The layout with the dimension reduced to one element: its part of every basis is zero."""
        return self._map(lambda basis: _replace(basis, dimension, 0), _replace(self.shape, dimension, 1))

    def drop(self, dimension: int) -> LinearLayout:
        """The layout without the dimension."""
        return self._map(lambda basis: _without(basis, dimension), _without(self.shape, dimension))

    def stack(self, count: int) -> LinearLayout:
        """The layout of `count` tiles of this layout along a new first dimension, each thread with its part of all."""
        inner = self._map(lambda basis: (0, *basis), (count, *self.shape))
        steps = tuple((1 << bit, *(0 for _ in self.shape)) for bit in range(count.bit_length() - 1))
        return LinearLayout(inner.register + steps, inner.lane, inner.warp, inner.shape)

    def keep(self, dimension: int) -> LinearLayout:
        """The layout of one dimension, without the others."""
        return self._map(lambda basis: (basis[dimension],), (self.shape[dimension],))

    def map_along(self, dimension: int, change: Callable[[int], int]) -> LinearLayout:
        """The layout with changed coordinates along one dimension, whose extent changes alike."""
        shape = _replace(self.shape, dimension, change(self.shape[dimension]))
        return self._map(lambda basis: _replace(basis, dimension, change(basis[dimension])), shape)

    def reshape(self, shape: Sequence[int]) -> LinearLayout:
        """The layout in another shape with equal row-major numbering; raises ValueError if the sizes differ."""
        shape = tuple(shape)
        if math.prod(shape) != self.size:
            raise ValueError(f"cannot reshape {self.shape} to {shape}")
        return self._map(lambda basis: unflatten(flatten(basis, self.shape), shape), shape)

    def transpose(self, permutation: Sequence[int]) -> LinearLayout:
        """Result dimension i is dimension permutation[i]."""

        def reorder(values: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(values[source] for source in permutation)

        return self._map(reorder, reorder(self.shape))

    def _map(self, rename: Callable[[Basis], Basis], shape: tuple[int, ...]) -> LinearLayout:
        register, lane, warp = (tuple(map(rename, part)) for part in (self.register, self.lane, self.warp))
        return LinearLayout(register, lane, warp, shape)

    def _matrix(self, bases: tuple[Basis, ...]) -> BitMatrix:
        return BitMatrix(tuple(flatten(basis, self.shape) for basis in bases), self.size.bit_length() - 1)


def flatten(coordinates: Sequence[int], shape: Sequence[int]) -> int:
    """Row-major index of coordinates."""
    index = 0
    for coordinate, extent in zip(coordinates, shape, strict=True):
        index = index * extent + coordinate
    return index


def unflatten(index: Index, shape: Sequence[int]) -> tuple[Index, ...]:
    """Coordinates of a row-major index, outermost first."""
    coordinates = []
    for extent in reversed(shape):
        coordinates.append(index % extent)
        index = index // extent
    return tuple(reversed(coordinates))


@lru_cache(maxsize=4096)
def parse_layout(text: str) -> LinearLayout:
    """The layout whose `str()` is the text; raises VerificationError for other texts."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise VerificationError(
            f"expected a layout like 'register=(0,1) lane=(1,0)... warp=none shape=32x2', got '{text}'"
        )
    register, lane, warp, shape = match.groups()
    extents = () if shape == "scalar" else tuple(int(extent) for extent in shape.split("x"))
    try:
        return LinearLayout(_bases(register), _bases(lane), _bases(warp), extents)
    except ValueError as error:
        raise VerificationError(f"bad layout '{text}': {error}") from error


def _bases(text: str) -> tuple[Basis, ...]:
    if text == "none":
        return ()
    return tuple(tuple(int(c) for c in basis.split(",") if c) for basis in text[1:-1].split(")("))


def _are_below(coordinates: Sequence[int], extent: int) -> bool:
    return 0 <= min(coordinates) and max(coordinates) < extent


def _is_below(coordinate: int, extent: int) -> bool:
    return 0 <= coordinate < extent


def _spell(bases: tuple[Basis, ...]) -> str:
    return "".join("(" + ",".join(map(str, basis)) + ")" for basis in bases) or "none"


def _replace(values: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
    return values[:position] + (value,) + values[position + 1 :]


def _without(values: tuple[int, ...], position: int) -> tuple[int, ...]:
    return values[:position] + values[position + 1 :]


def _dependent(columns: tuple[int, ...]) -> int:
    """A mask of the columns that are in the span of preceding columns."""
    kernel = BitMatrix(columns, max(columns, default=0).bit_length()).kernel()
    return sum(1 << vector.bit_length() - 1 for vector in kernel)
