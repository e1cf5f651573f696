"""Layouts for loads and stores: neighbouring lanes hold neighbouring vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tilec.lowering.layout.linear_layout import LANE_BITS, Basis, LinearLayout

T = TypeVar("T")
# Lanes along the columns of a matrix whose rows and columns a thread multiplies: they have 128 bytes of f32.
_COLUMN_LANES = 3
# The elements of a row that a thread has, as bits, before warps divide the row: a barrier takes as long as these.
_SCANNED_BITS = 2


def blocked(shape: Sequence[int], warps: int, contiguous: int | None = None, vector: int = 1) -> LinearLayout:
    """Register vectors of `vector` elements along dimension `contiguous` (default: last), then lanes, then warps.

    Lanes fill the contiguous dimension before the others, so a warp's access is one run of memory; warps take the
    top of the slowest dimension, so a row is held by as few warps as possible; registers take the remaining bits.
    """
    shape = tuple(shape)
    contiguous = len(shape) - 1 if contiguous is None else contiguous
    bits = _bits_fastest_first(shape, contiguous)
    vector_bits = min(vector.bit_length() - 1, sum(1 for basis in bits if basis[contiguous]))
    return _assembled(shape, warps, bits[:vector_bits], bits[vector_bits:])


def _assembled(shape: tuple[int, ...], warps: int, vectors: list[Basis], others: list[Basis]) -> LinearLayout:
    """The layout whose first register bits are `vectors`, and whose lanes have the first other bits."""
    lanes, rest = others[:LANE_BITS], others[LANE_BITS:]
    warp_bits = min(warps.bit_length() - 1, len(rest))
    registers, warp = rest[: len(rest) - warp_bits], rest[len(rest) - warp_bits :]
    rank = len(shape)
    lane = _fill(lanes, LANE_BITS, rank)
    return LinearLayout(tuple(vectors + registers), lane, _fill(warp, warps.bit_length() - 1, rank), shape)


def transposing(
    shape: Sequence[int], warps: int, contiguous: int, stored: int, vector: int, word: int, sector: int
) -> LinearLayout:
    """The layout of a tile that is loaded along dimension `contiguous` and stored along `stored`.

    A thread loads vectors of `vector` elements, of as many rows as a word of shared memory has elements (`word`). The
    lanes have the rest of a sector of global memory (`sector` elements), then neighbouring words, which are in
    different banks.
    """
    shape, rank = tuple(shape), len(shape)
    loaded, words = (along(d, doubling(1, shape[d]), rank) for d in (contiguous, stored))
    others = [basis for basis in _bits_fastest_first(shape, contiguous) if not basis[contiguous] and not basis[stored]]
    vectors, loaded = _split(loaded, vector)
    rows, words = _split(words, word)
    sectors, loaded = _split(loaded, sector // vector)
    return _assembled(shape, warps, vectors + rows, [*sectors, *words, *loaded, *others])


def _split(bases: list[T], elements: int) -> tuple[list[T], list[T]]:
    """The first bases, which number `elements` elements, and the others."""
    count = max(0, elements.bit_length() - 1)
    return bases[:count], bases[count:]


def for_scan(shape: Sequence[int], warps: int, dimension: int) -> LinearLayout:
    """A layout whose threads have adjacent elements along `dimension`, adjacent lanes the next ones, then warps.

    The other dimensions, the rows, are in warps and lanes first. Threads have several elements of a row before it is
    divided among warps.
    """
    shape, rank = tuple(shape), len(shape)
    own = along(dimension, doubling(1, shape[dimension]), rank)
    rows = [basis for basis in _bits_fastest_first(shape, dimension) if not basis[dimension]]
    warp_bits = warps.bit_length() - 1
    of_warps = min(len(rows), warp_bits)
    warp, rows = rows[len(rows) - of_warps :], rows[: len(rows) - of_warps]
    in_warps = max(0, min(warp_bits - of_warps, len(own) - LANE_BITS - _SCANNED_BITS))
    own, later = own[: len(own) - in_warps], own[len(own) - in_warps :]
    lane_rows = rows[:LANE_BITS]
    in_lanes = min(LANE_BITS - len(lane_rows), len(own))
    registers, lanes = own[: len(own) - in_lanes], own[len(own) - in_lanes :]
    registers += rows[LANE_BITS:]
    return LinearLayout(
        tuple(registers), _fill(lanes + lane_rows, LANE_BITS, rank), _fill(later + warp, warp_bits, rank), shape
    )


def rows_of_threads(shape: Sequence[int], warps: int, dimension: int, vector: int = 1) -> LinearLayout:
    """A layout that spreads `dimension` over registers, and the other dimensions, the rows, over threads.

    Warps take the top of the rows, lanes the rest, and registers the rows that remain. Too few rows leave lanes, and
    after them warps, for the dimension: adjacent lanes hold adjacent vectors of `vector` elements.
    """
    shape, rank = tuple(shape), len(shape)
    bits = _bits_fastest_first(shape, dimension)
    own = [basis for basis in bits if basis[dimension]]
    rows = bits[len(own) :]
    warp_bits = warps.bit_length() - 1
    vectors, own = _split(own, max(1, min(vector, 1 << len(bits) >> LANE_BITS + warp_bits)))
    free = max(0, LANE_BITS + warp_bits - len(rows))
    rows = own[:free] + rows
    lanes, rest = rows[:LANE_BITS], rows[LANE_BITS:]
    warp, rest = rest[len(rest) - warp_bits :] if warp_bits < len(rest) else rest, rest[: max(0, len(rest) - warp_bits)]
    registers = tuple(vectors + own[free:] + rest)
    return LinearLayout(registers, _fill(lanes, LANE_BITS, rank), _fill(warp, warp_bits, rank), shape)


def rectangles(shape: Sequence[int], warps: int, vectors: tuple[int, int] = (1, 4)) -> LinearLayout:
    """A layout of a matrix in which a thread has about as many rows as columns, of all parts of its warp's rectangle.

    A thread has `vectors` adjacent rows and columns; the next ones are in the other lanes: 4 along rows and 8 along
    columns if there are enough. Warps take the top of the rows, then of the columns.
    """
    rows, columns = (doubling(1, extent) for extent in shape)
    warp_bits = warps.bit_length() - 1
    own = max(0, len(rows) + len(columns) - LANE_BITS - warp_bits)
    own_columns = min(len(columns), (own + 1) // 2)
    own_rows = min(len(rows), own - own_columns)
    own_columns = min(len(columns), own - own_rows)
    lane_columns = min(_COLUMN_LANES, len(columns) - own_columns)
    lane_rows = min(LANE_BITS - lane_columns, len(rows) - own_rows)
    lane_columns = min(LANE_BITS - lane_rows, len(columns) - own_columns)
    vector_rows, rows = _split(rows, min(vectors[0], 1 << own_rows))
    vector_columns, columns = _split(columns, min(vectors[1], 1 << own_columns))
    lanes = [*along(1, columns[:lane_columns], 2), *along(0, rows[:lane_rows], 2)]
    rows, columns = rows[lane_rows:], columns[lane_columns:]
    own_rows, own_columns = own_rows - len(vector_rows), own_columns - len(vector_columns)
    registers = [*along(1, vector_columns, 2), *along(0, vector_rows, 2)]
    registers += [*along(1, columns[:own_columns], 2), *along(0, rows[:own_rows], 2)]
    warp = [*along(0, rows[own_rows:], 2), *along(1, columns[own_columns:], 2)]
    return LinearLayout(tuple(registers), _fill(lanes, LANE_BITS, 2), _fill(warp, warp_bits, 2), tuple(shape))


def _bits_fastest_first(shape: tuple[int, ...], contiguous: int) -> list[Basis]:
    others = [dimension for dimension in reversed(range(len(shape))) if dimension != contiguous]
    order = [contiguous, *others] if shape else []
    return [basis for dimension in order for basis in along(dimension, doubling(1, shape[dimension]), len(shape))]


def _fill(bases: list[Basis], count: int, rank: int) -> tuple[Basis, ...]:
    return tuple(bases) + ((0,) * rank,) * (count - len(bases))


def unit(dimension: int, step: int, rank: int) -> Basis:
    """The basis that moves by `step` along one dimension."""
    return tuple(step if d == dimension else 0 for d in range(rank))


def along(dimension: int, steps: Iterable[int], rank: int) -> list[Basis]:
    """A basis per step along one dimension."""
    return [unit(dimension, step, rank) for step in steps]


def along_rows(steps: Iterable[int]) -> tuple[Basis, ...]:
    """A basis per step along the first dimension of a matrix."""
    return tuple((step, 0) for step in steps)


def along_columns(steps: Iterable[int]) -> tuple[Basis, ...]:
    """A basis per step along the second dimension of a matrix."""
    return tuple((0, step) for step in steps)


def doubling(first: int, end: int) -> list[int]:
    """first, 2 first, 4 first, .. below end; all are powers of two."""
    return [first << bit for bit in range((end // first).bit_length() - 1)] if end >= first else []
