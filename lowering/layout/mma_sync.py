"""The register layout of the accumulators of mma.sync (PTX ISA 9.7.14.5): fragments of 16x8, in blocks of each warp.

A fragment is 16 rows of the left operand times 8 columns of the right one. A tile of fewer than 16 rows is computed as
its transpose. An extent smaller than that of a fragment is repeated: several registers or lanes hold one element.

If operands are bytes, rows and columns are by pairs: rows 2i and 2i + 1 of 16 rows are row i of the upper and of the
lower half of a fragment, and columns 2i and 2i + 1 of 16 columns are column i of two fragments. A transposed load of
16-bit elements then has bytes of the rows (columns) that a lane multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.blocked import doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout

FRAGMENT_ROWS, FRAGMENT_COLUMNS = 16, 8
# The registers of an accumulator fragment are the lowest bits of a register number, by column, then by row.
ACCUMULATOR_BITS = 2


def is_transposed(shape: Sequence[int]) -> bool:
    """Whether the rows of an accumulator are the columns of fragments."""
    return shape[0] < FRAGMENT_ROWS


def mma_sync_accumulator(shape: Sequence[int], warps: int, element_bytes: int) -> LinearLayout:
    """Accumulators of 32 or 64 bits, or of unpacked f16: blocks of fragments by warp, then fragments by register.

    `element_bytes` is the size of an element of the operands. Raises ValueError for a tile of fewer than 16 rows and
    columns.
    """
    if len(shape) != 2 or max(shape) < FRAGMENT_ROWS:
        raise ValueError(f"expected at least {FRAGMENT_ROWS} rows or columns, got {tuple(shape)}")
    if is_transposed(shape):
        return _fragments(shape[1], shape[0], warps, element_bytes).transpose((1, 0))
    return _fragments(shape[0], shape[1], warps, element_bytes)


def _fragments(rows: int, columns: int, warps: int, element_bytes: int) -> LinearLayout:
    shape = (rows, columns)
    paired = element_bytes == 1 and columns > FRAGMENT_COLUMNS
    least_columns = 2 * FRAGMENT_COLUMNS if paired else FRAGMENT_COLUMNS
    warp: list[Basis] = []
    while 1 << len(warp) < warps:
        rows, columns, step = _split(rows, columns, least_columns)
        warp.append(step)
    row = _paired([1, 2, 4, 8]) if element_bytes == 1 else [1, 2, 4, 8]
    column = [1, 2, 4, *doubling(FRAGMENT_COLUMNS, columns)]
    if paired:
        column[:4] = _paired(column[:4])
    blocks = [*along_columns(column[3:]), *along_rows(doubling(FRAGMENT_ROWS, rows))]
    register = (*along_columns(column[:1]), *along_rows(row[3:]), *blocks)
    lane = (*along_columns(column[1:3]), *along_rows(row[:3]))
    return LinearLayout(_inside(shape, register), _inside(shape, lane), tuple(warp), shape)


def _paired(steps: Sequence[int]) -> list[int]:
    """The lowest step last."""
    return [*steps[1:], steps[0]]


def _inside(shape: Sequence[int], bases: Sequence[Basis]) -> tuple[Basis, ...]:
    """The bases, zero where they leave the tile."""
    return tuple(
        basis if all(step < extent for step, extent in zip(basis, shape, strict=True)) else (0,) * len(basis)
        for basis in bases
    )


def _split(rows: int, columns: int, least_columns: int) -> tuple[int, int, Basis]:
    """The block of each half of the warps, and the basis of the bit that tells them apart; zero if both have it all.

    A warp loads the operands of all rows and columns of its block, so the longer side is halved.
    """
    can_split_rows, can_split_columns = rows > FRAGMENT_ROWS, columns > least_columns
    if can_split_rows and (rows >= columns or not can_split_columns):
        return rows // 2, columns, (rows // 2, 0)
    if can_split_columns:
        return rows, columns // 2, (0, columns // 2)
    return rows, columns, (0, 0)


def along_rows(steps: Sequence[int]) -> tuple[Basis, ...]:
    """A bit per step along the first dimension of a matrix."""
    return tuple((step, 0) for step in steps)


def along_columns(steps: Sequence[int]) -> tuple[Basis, ...]:
    """A bit per step along the second dimension of a matrix."""
    return tuple((0, step) for step in steps)
