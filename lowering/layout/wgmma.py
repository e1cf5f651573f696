"""The register layouts of the accumulators and lhs operands of wgmma (PTX ISA 9.7.15.5): repeated 64-row fragments.

Warpgroups divide the rows; those for which no rows are left divide the columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.blocked import along_columns, along_rows, doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout

# The columns of a core matrix of accumulators, the rows of a fragment, and those of each warp.
_COLUMNS, _FRAGMENT_ROWS, _WARP_ROWS = 8, 64, 16
_REGISTER_BYTES = 4


def groups_along_columns(rows: int, warps: int) -> int:
    """The warpgroups among which the columns of an accumulator of these rows are divided."""
    return max(1, _WARP_ROWS * warps // rows)


def wgmma_accumulator(shape: Sequence[int], warps: int) -> LinearLayout:
    """Accumulators of f32, s32 or unpacked f16: 64 x N fragments, by warpgroup, then by register."""
    rows, columns = _check(shape, warps, _COLUMNS * groups_along_columns(shape[0], warps))
    own = columns // groups_along_columns(rows, warps)
    register = ((0, 1), (8, 0), *along_columns(doubling(_COLUMNS, own)))
    return _repeated(register, ((0, 2), (0, 4)), rows, columns, warps, along_columns(doubling(own, columns)))


def wgmma_operand(shape: Sequence[int], warps: int, element_bytes: int) -> LinearLayout:
    """The lhs in registers: 64 x 32 bytes fragments along K, by warpgroup, then by register.

    A 32-bit register holds successive elements along K. Elements of two bytes have the layout of accumulators.
    """
    rows, depth = _check(shape, warps, _COLUMNS)
    per_register = _REGISTER_BYTES // element_bytes
    # The elements along K in the registers of four lanes.
    in_quad = 4 * per_register
    if depth < 2 * in_quad:
        raise ValueError(f"expected at least {2 * in_quad} elements along K, got {tuple(shape)}")
    packed, along_k = along_columns(doubling(1, per_register)), along_columns(doubling(in_quad, depth))
    quad = (0, per_register), (0, 2 * per_register)
    # Warpgroups along the columns of the accumulator have the same rows.
    same = [(0, 0)] * (groups_along_columns(rows, warps).bit_length() - 1)
    return _repeated((*packed, (8, 0), *along_k), quad, rows, depth, warps, same)


def wgmma_metadata(shape: Sequence[int], warps: int) -> LinearLayout:
    """The words of metadata of a sparse lhs (dialect/tilex), by warpgroup, then by register.

    Lanes 0 and 1 of four have words of rows r and r + 8, lanes 2 and 3 the next word of each, if there are several.
    """
    rows, words = shape
    return _repeated(along_columns(doubling(2, words)), ((8, 0), (0, min(1, words - 1))), rows, words, warps)


def _check(shape: Sequence[int], warps: int, least_columns: int) -> tuple[int, int]:
    if len(shape) != 2 or shape[0] % _FRAGMENT_ROWS or warps % 4 or shape[1] < least_columns:
        raise ValueError(
            f"expected a multiple of {_FRAGMENT_ROWS} rows and at least {least_columns} columns for {warps} warps,"
            f" got {tuple(shape)}"
        )
    return shape[0], shape[1]


def _repeated(
    register: tuple[Basis, ...],
    quad: tuple[Basis, ...],
    rows: int,
    columns: int,
    warps: int,
    others: Sequence[Basis] = (),
) -> LinearLayout:
    """The fragments of all rows, by warps along the rows and then `others`.

    `register` are the registers of 64 rows, `quad` the lanes of a row.
    """
    repeated = along_rows(doubling(_WARP_ROWS * warps, rows))
    warp = (*along_rows(doubling(_WARP_ROWS, min(rows, _WARP_ROWS * warps))), *others)
    return LinearLayout(register + tuple(repeated), (*quad, (1, 0), (2, 0), (4, 0)), warp, (rows, columns))
