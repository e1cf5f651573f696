"""Layouts of tiles in tensor memory: lanes, columns, and the elements of each 32-bit cell (PTX ISA 9.7.16.10.5).

The register layouts are those of tcgen05.ld and tcgen05.st (PTX ISA 9.7.16.2.3).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.errors import VerificationError
from tilec.lowering.layout.blocked import along_columns, along_rows, doubling
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import divided
from tilec.lowering.target import TENSOR_LANES

_SUBPARTITION_WARPS = 4
_LANE_ROWS = along_rows((1, 2, 4, 8, 16))
CELL_BYTES = 4
_TEXT = re.compile(r"lanes=(64|128)( packed| halves| transposed)?(?: pieces=([1-9]\d*) apart=([1-9]\d*))?")
# Rows of an accumulator in halves: those of one CTA of a pair that multiplies 128 rows.
_HALVED_ROWS = 64
# The lanes of a group, which has a part of each row or column (PTX ISA 9.7.16.10.5, layouts B, D, E and G).
GROUP_LANES = (32, 64, 128)


@dataclass(frozen=True)
class TensorLayout:
    """A matrix in tensor memory, one row per lane; further blocks of `lanes` rows are in further columns.

    A cell holds one element in its low bits, or with `packed` all neighbours of a row that fit, the first in the low
    bits: the layout of operand A. With `halves` a tile has 64 rows, and the second half of its columns is in the upper
    64 of 128 lanes (PTX ISA 9.7.16.10.5, layout B). With `transposed`, tile[m, n] is in lane n and column m; of 64 or
    32 columns, each further 64 or 32 lanes have the next half or quarter of the rows (layouts E and G). The columns are
    in as many equal `pieces`, which begin `apart` columns from each other: an operand over sums of which each four
    warps have read a piece. Raises ValueError for other shapes.
    """

    shape: tuple[int, ...]
    element_bytes: int
    lanes: int
    packed: bool = False
    halves: bool = False
    pieces: int = 1
    apart: int = 0
    transposed: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) != 2:
            raise ValueError(f"tensor memory holds matrices, got shape {self.shape}")
        if self.halves and (self.lanes != 128 or self.shape[0] != _HALVED_ROWS or self.shape[1] % 2):
            raise ValueError(
                f"halves have 128 lanes, {_HALVED_ROWS} rows and an even number of columns, got shape {self.shape}"
            )
        if self.transposed and (
            self.lanes != TENSOR_LANES or self.shape[1] not in GROUP_LANES or self.shape[0] % self.groups
        ):
            raise ValueError(f"a transposed tile has 32, 64 or 128 columns in 128 lanes, got shape {self.shape}")
        if not self.halves and not self.transposed and self.shape[0] % self.lanes:
            raise ValueError(f"expected a multiple of {self.lanes} rows, got shape {self.shape}")
        if self.shape[1] % self.per_cell:
            raise ValueError(f"expected rows of whole cells of {self.per_cell} elements, got shape {self.shape}")
        if self.pieces > 1 and (not self.packed or self.blocks > 1 or self.lanes != TENSOR_LANES):
            raise ValueError(f"pieces are of one block of packed rows in {TENSOR_LANES} lanes, got shape {self.shape}")
        if self.block_columns % self.pieces or self.pieces > 1 and self.apart < self.piece_columns:
            raise ValueError(f"{self.block_columns} columns are not {self.pieces} pieces {self.apart} columns apart")

    def __str__(self) -> str:
        pieces = f" pieces={self.pieces} apart={self.apart}" if self.pieces > 1 else ""
        qualifiers = {" packed": self.packed, " halves": self.halves, " transposed": self.transposed}
        return f"lanes={self.lanes}{''.join(text for text, holds in qualifiers.items() if holds)}{pieces}"

    @property
    def groups(self) -> int:
        """The groups of lanes of which each has a part of the tile: of its columns, or of the rows if transposed."""
        return TENSOR_LANES // self.shape[self.transposed] if self.halves or self.transposed else 1

    @property
    def has_whole_rows(self) -> bool:
        """Whether each row is in one of 128 lanes."""
        return self.lanes == TENSOR_LANES and not self.halves and not self.transposed

    @property
    def per_cell(self) -> int:
        """The elements of a cell."""
        return CELL_BYTES // self.element_bytes if self.packed else 1

    @property
    def block_columns(self) -> int:
        """The columns under one block of rows."""
        return self.shape[not self.transposed] // self.groups // self.per_cell

    @property
    def piece_columns(self) -> int:
        """The columns of a piece."""
        return self.block_columns // self.pieces

    def column_of(self, cell: int) -> int:
        """The column of a cell of a row in its block."""
        return cell if self.pieces == 1 else cell // self.piece_columns * self.apart + cell % self.piece_columns

    @property
    def blocks(self) -> int:
        """The blocks of rows."""
        return 1 if self.groups > 1 or self.transposed else self.shape[0] // self.lanes

    @property
    def columns(self) -> int:
        """The columns under the tile."""
        return (self.blocks - 1) * self.block_columns + self.column_of(self.block_columns - 1) + 1

    def registers(self, warps: int) -> LinearLayout:
        """The register layout that loads and stores the tile without exchange; ValueError if `warps` have none.

        With 128 lanes thread L of warp w holds row 32 (w % 4) + L of each block, or of 64 rows in halves row
        32 (w % 2) + L. A thread holds whole cells. Each piece is of four warps.
        """
        if self.pieces > 1 and warps != self.pieces * _SUBPARTITION_WARPS:
            raise ValueError(
                f"{self.pieces} pieces are those of {self.pieces * _SUBPARTITION_WARPS} warps, not {warps}"
            )
        if self.halves:
            return tensor_memory_groups(self.shape, warps)
        if self.transposed:
            return tensor_memory_groups(self.shape[::-1], warps).transpose((1, 0))
        cells = tensor_memory_32x32b
        if self.lanes == _HALVED_ROWS:
            cells = tensor_memory_16x128b if self.per_cell > 1 else tensor_memory_16x256b
        return divided(cells((self.shape[0], self.block_columns), warps), 1, self.per_cell)


def parse_tensor_layout(text: str, shape: tuple[int, ...], element_bytes: int) -> TensorLayout:
    """The layout whose `str()` is the text; raises VerificationError for other texts."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise VerificationError(f"expected a layout like 'lanes=128' or 'lanes=128 packed', got '{text}'")
    qualifier, pieces, apart = (match[2] or "").strip(), int(match[3] or 1), int(match[4] or 0)
    try:
        return TensorLayout(
            shape, element_bytes, int(match[1]), qualifier == "packed", qualifier == "halves", pieces, apart,
            qualifier == "transposed",
        )  # fmt: skip
    except ValueError as error:
        raise VerificationError(f"bad layout '{text}': {error}") from error


def tensor_memory_32x32b(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 128 k rows read with shape .32x32b: lane L of warp w holds row 32 (w % 4) + L, registers the columns.

    Eight or sixteen warps split the columns; further 128-row tiles use further registers.
    """
    rows, columns = _check(shape, warps, 128)
    own = columns // (warps // _SUBPARTITION_WARPS)
    if own < 1:
        raise ValueError(f"expected a column per warp, got {tuple(shape)} for {warps} warps")
    register = along_columns(doubling(1, own)) + along_rows(doubling(128, rows))
    warp = along_rows((32, 64)) + along_columns(doubling(own, columns))
    return LinearLayout(register, _LANE_ROWS, warp, (rows, columns))


def tensor_memory_groups(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 32, 64 or 128 rows, of which each group of lanes has a part of the columns, read with shape .32x32b.

    Thread L of 128 holds row L % rows of part L / rows of the columns, which eight or sixteen warps split.
    """
    rows, columns = _check(shape, warps, shape[0])
    part = columns * rows // TENSOR_LANES
    own = part // (warps // _SUBPARTITION_WARPS)
    if rows not in GROUP_LANES or own < 1:
        raise ValueError(f"expected 32, 64 or 128 rows and a column per warp, got {tuple(shape)} for {warps} warps")
    lanes = along_rows(doubling(32, rows)) + along_columns(doubling(part, columns))
    return LinearLayout(
        along_columns(doubling(1, own)), _LANE_ROWS, lanes + along_columns(doubling(own, part)), (rows, columns)
    )


def tensor_memory_16x256b(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 64 rows, 16 in each sub-partition, read with shape .16x256b: the wgmma fragment."""
    return _sixteen_lanes(shape, warps, 8)


def tensor_memory_16x128b(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 64 rows, likewise with shape .16x128b: the cells of a wgmma fragment with two elements in a cell."""
    return _sixteen_lanes(shape, warps, 4)


def _sixteen_lanes(shape: Sequence[int], warps: int, step: int) -> LinearLayout:
    """The layout of an access to 64 rows that moves `step` columns of 16 lanes at a time."""
    rows, columns = _check(shape, warps, 64)
    own = columns // (warps // _SUBPARTITION_WARPS)
    if rows != 64 or own < step:
        expected = f"shape .16x{step * 32}b reads 64 rows and at least {step} columns per warp"
        raise ValueError(f"{expected}, got {tuple(shape)} for {warps} warps")
    register = along_columns(doubling(1, step // 4)) + ((8, 0),) + along_columns(doubling(step, own))
    lane = along_columns(doubling(step // 4, step)) + along_rows((1, 2, 4))
    warp = along_rows((16, 32)) + along_columns(doubling(own, columns))
    return LinearLayout(register, lane, warp, (rows, columns))


def _check(shape: Sequence[int], warps: int, rows: int) -> tuple[int, int]:
    if len(shape) != 2 or shape[0] % rows or warps % _SUBPARTITION_WARPS:
        raise ValueError(f"expected a multiple of {rows} rows and of four warps, got {tuple(shape)} for {warps} warps")
    return shape[0], shape[1]
