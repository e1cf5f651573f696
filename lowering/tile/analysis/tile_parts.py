"""Parts of tiles: equal sub-tiles at known positions in the grid that they form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.constants import integer_splat, splat

Position = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """The sub-tile of `shape` at a position in the grid of such parts of a tile."""

    whole: ir.Value
    position: Position
    shape: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The parts along each dimension of the whole."""
        return tuple(a // b for a, b in zip(self.whole.type.shape, self.shape, strict=True))

    @property
    def is_run(self) -> bool:
        """Whether the elements of the part are consecutive in the row-major order of the whole."""
        first = next((d for d, extent in enumerate(self.shape) if extent > 1), len(self.shape))
        return self.shape[first + 1 :] == tuple(self.whole.type.shape)[first + 1 :]

    def extracted(self) -> ir.Value:
        """The part as a tile: the whole tile itself if it is the only part, else an extract."""
        type = self.whole.type
        if tuple(type.shape) == self.shape:
            return self.whole
        scalar = TileType.get((), ir.IntegerType.get_signless(32))
        indices = [integer_splat(scalar, index) for index in self.position]
        return build("extract", [self.whole, *indices], [TileType.get(self.shape, type.element)]).result


def part_of(extract: ir.OpView) -> Part | None:
    """The part that an extract selects; None if an index is not a constant inside the grid."""
    indices = [splat(index) for index in extract.indices]
    known = tuple(index for index in indices if index is not None)
    part = Part(extract.source, known, tuple(extract.result.type.shape))
    if len(known) < len(indices) or any(not 0 <= i < n for i, n in zip(known, part.counts, strict=True)):
        return None
    return part


def positions(counts: Sequence[int]) -> list[Position]:
    """The positions of a grid in row-major order."""
    return list(itertools.product(*map(range, counts)))


def joined(parts: Sequence[ir.Value], type: TileType) -> ir.Value:
    """The tile of a type that consists of parts in row-major order of their positions."""
    found = list(parts)
    for dimension in reversed(range(type.rank)):
        while found[0].type.shape[dimension] < type.shape[dimension]:
            found = [_pair(a, b, dimension) for a, b in zip(found[0::2], found[1::2], strict=True)]
    return found[0]


def _pair(lhs: ir.Value, rhs: ir.Value, dimension: int) -> ir.Value:
    shape = [extent * (2 if d == dimension else 1) for d, extent in enumerate(lhs.type.shape)]
    return build("cat", [lhs, rhs], [TileType.get(shape, lhs.type.element)], {"dim": dimension}).result


def same_dimension(shape: Sequence[int], other: Sequence[int], dimension: int) -> int | None:
    """The dimension of a reshape with the same extent and as many elements per index in row-major order; or None."""
    position = shape[dimension], math.prod(shape[dimension + 1 :])
    positions = ((extent, math.prod(other[d + 1 :])) for d, extent in enumerate(other))
    return next((d for d, found in enumerate(positions) if found == position), None)


def outer_dimension(shape: Sequence[int], other: Sequence[int], dimension: int) -> int | None:
    """The dimension of a reshape whose equal parts, in order, have the elements of those of a dimension; or None.

    Example: the halves of dimension 0 of 256x4 are those of dimension 0 of 2x4x32x4, if its number of parts is even.
    """
    before, extent = math.prod(shape[:dimension]), shape[dimension]
    starts = ((math.prod(other[:d]), d) for d, size in enumerate(other) if size > 1)
    return next((d for start, d in starts if start == before), None) if extent > 1 else None


def kept_dimension(source: Sequence[int], result: Sequence[int], dimension: int) -> int | None:
    """The source dimension of a dimension of several elements, if a reshape moves only extents of one; else None."""
    of_source, of_result = ([d for d, extent in enumerate(shape) if extent > 1] for shape in (source, result))
    if dimension not in of_result or [source[d] for d in of_source] != [result[d] for d in of_result]:
        return None
    return of_source[of_result.index(dimension)]


def reshaped(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The tile in another shape; itself if the shape is the same."""
    if tuple(value.type.shape) == tuple(shape):
        return value
    return build("reshape", [value], [TileType.get(shape, value.type.element)]).result
