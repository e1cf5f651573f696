"""The register layout of the accumulators of wgmma (PTX ISA 9.7.15.5): 64-row fragments repeated over a tile."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.blocked import doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout

_QUAD_ROWS = ((1, 0), (2, 0), (4, 0))
# The columns of a core matrix of accumulators.
_COLUMNS = 8


def wgmma_accumulator(shape: Sequence[int], warps: int) -> LinearLayout:
    """Accumulators of f32, s32 or unpacked f16: 64 x N fragments, by warpgroup, then by register."""
    rows, columns = _check(shape, warps)
    register = ((0, 1), (8, 0), *((0, step) for step in doubling(_COLUMNS, columns)))
    return LinearLayout(
        (*register, *_row_registers(rows, warps)), ((0, 2), (0, 4), *_QUAD_ROWS), _warp_rows(warps), (rows, columns)
    )


def _check(shape: Sequence[int], warps: int) -> tuple[int, int]:
    if len(shape) != 2 or shape[0] % (16 * warps) or warps % 4 or shape[1] < _COLUMNS:
        raise ValueError(
            f"expected a multiple of {16 * warps} rows and at least {_COLUMNS} columns for {warps} warps,"
            f" got {tuple(shape)}"
        )
    return shape[0], shape[1]


def _warp_rows(warps: int) -> tuple[Basis, ...]:
    return tuple((step, 0) for step in doubling(16, 16 * warps))


def _row_registers(rows: int, warps: int) -> tuple[Basis, ...]:
    return tuple((step, 0) for step in doubling(16 * warps, rows))
