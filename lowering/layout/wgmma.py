"""The register layouts of the accumulators and lhs operands of wgmma (PTX ISA 9.7.15.5): repeated 64-row fragments."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.lowering.layout.blocked import doubling
from tilec.lowering.layout.linear_layout import Basis, LinearLayout

_QUAD_ROWS = ((1, 0), (2, 0), (4, 0))
# The columns of a core matrix of accumulators.
_COLUMNS = 8
_REGISTER_BYTES = 4


def wgmma_accumulator(shape: Sequence[int], warps: int) -> LinearLayout:
    """Accumulators of f32, s32 or unpacked f16: 64 x N fragments, by warpgroup, then by register."""
    rows, columns = _check(shape, warps)
    register = ((0, 1), (8, 0), *((0, step) for step in doubling(_COLUMNS, columns)))
    return LinearLayout(
        (*register, *_row_registers(rows, warps)), ((0, 2), (0, 4), *_QUAD_ROWS), _warp_rows(warps), (rows, columns)
    )


def wgmma_operand(shape: Sequence[int], warps: int, element_bytes: int) -> LinearLayout:
    """The lhs in registers: 64 x 32 bytes fragments along K, by warpgroup, then by register.

    A 32-bit register holds successive elements along K. Elements of two bytes have the layout of accumulators.
    """
    rows, depth = _check(shape, warps)
    per_register = _REGISTER_BYTES // element_bytes
    # The elements along K in the registers of four lanes.
    in_quad = 4 * per_register
    if depth < 2 * in_quad:
        raise ValueError(f"expected at least {2 * in_quad} elements along K, got {tuple(shape)}")
    packed = tuple((0, step) for step in doubling(1, per_register))
    along_k = tuple((0, step) for step in doubling(in_quad, depth))
    lane = ((0, per_register), (0, 2 * per_register), *_QUAD_ROWS)
    return LinearLayout(
        (*packed, (8, 0), *along_k, *_row_registers(rows, warps)), lane, _warp_rows(warps), (rows, depth)
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
