"""Register layouts of tcgen05.ld and tcgen05.st (PTX ISA 9.7.16.2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.linear_layout import Basis, LinearLayout

_SUBPARTITION_WARPS = 4


def tensor_memory_32x32b(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 128 k rows read with shape .32x32b: lane L of warp w holds row 32 (w % 4) + L, registers the columns.

    Eight or sixteen warps split the columns; further 128-row tiles use further registers.
    """
    rows, columns = _check(shape, warps, 128)
    split = _column_split(columns, warps)
    register = _steps(1, 1, columns // (warps // 4)) + _steps(0, 128, rows)
    return LinearLayout(register, _steps(0, 1, 32), _steps(0, 32, 128) + split, (rows, columns))


def tensor_memory_halves(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 64 rows whose second half of columns is in the upper 64 lanes, read with shape .32x32b.

    Lane L of warp w holds row 32 (w % 2) + L, and of the half of the columns w % 4 / 2.
    """
    rows, columns = _check(shape, warps, 64)
    own = columns // 2 // (warps // _SUBPARTITION_WARPS)
    if rows != 64 or own < 1:
        raise ValueError(f"expected 64 rows and two columns per warp, got {tuple(shape)} for {warps} warps")
    split = _steps(1, own, columns // 2)
    return LinearLayout(_steps(1, 1, own), _steps(0, 1, 32), ((32, 0), (0, columns // 2), *split), (rows, columns))


def tensor_memory_16x256b(shape: Sequence[int], warps: int) -> LinearLayout:
    """A tile of 64 rows, 16 in each sub-partition, read with shape .16x256b: the wgmma fragment."""
    rows, columns = _check(shape, warps, 64)
    if rows != 64 or columns // (warps // 4) < 8:
        raise ValueError(
            f"shape .16x256b reads 64 rows and at least 8 columns per warp, got {tuple(shape)} for {warps} warps"
        )
    register = ((0, 1), (8, 0)) + _steps(1, 8, columns // (warps // 4))
    lane = ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
    return LinearLayout(register, lane, _steps(0, 16, 64) + _column_split(columns, warps), (rows, columns))


def _check(shape: Sequence[int], warps: int, rows: int) -> tuple[int, int]:
    if len(shape) != 2 or shape[0] % rows or warps % _SUBPARTITION_WARPS:
        raise ValueError(f"expected a multiple of {rows} rows and of four warps, got {tuple(shape)} for {warps} warps")
    return shape[0], shape[1]


def _column_split(columns: int, warps: int) -> tuple[Basis, ...]:
    return _steps(1, columns // (warps // _SUBPARTITION_WARPS), columns)


def _steps(dimension: int, first: int, end: int) -> tuple[Basis, ...]:
    """Bases first, 2 first, ... below end along a dimension of two."""
    steps = []
    while first < end:
        steps.append((first, 0) if dimension == 0 else (0, first))
        first *= 2
    return tuple(steps)
