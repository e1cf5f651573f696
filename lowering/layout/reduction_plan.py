"""What a reduction along a dimension folds where: registers of a thread, lanes of a warp, warps of a role."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from tilec.lowering.layout.bit_matrix import BitMatrix, complement, independent
from tilec.lowering.layout.linear_layout import LANE_BITS, Basis, LinearLayout


@dataclass(frozen=True)
class ReductionPlan:
    """`register_rows`: for the first register of each row of a thread, the registers to fold (each element once).

    `row_of_register[r]` is the first register of r's row. A lane fold (lane mask, register mask) exchanges register
    r ^ register mask with lane ^ lane mask. Across warps, `written` is each thread's rows in a tile of (part, row).
    """

    result: LinearLayout
    register_rows: tuple[tuple[int, tuple[int, ...]], ...]
    row_of_register: tuple[int, ...]
    lane_steps: tuple[tuple[int, int], ...]
    warp_parts: int
    written: LinearLayout

    def every_part(self, rows: LinearLayout) -> LinearLayout:
        """A layout of the (flat) rows with all their parts in one thread: register part * count + r."""
        parts = tuple((1 << part, 0) for part in range(self.warp_parts.bit_length() - 1))
        register, lane, warp = (_numbered([0] * len(b), b) for b in (rows.register, rows.lane, rows.warp))
        return LinearLayout(register + parts, lane, warp, self.written.shape)


@functools.lru_cache(maxsize=1024)
def reduction_plan(layout: LinearLayout, dimension: int) -> ReductionPlan:
    """The plan for folding `dimension`."""
    result = layout.drop(dimension)
    registers = len(layout.register)
    repeats = independent(layout.matrix.kernel())
    folds = independent((*repeats, *_by_reach(result.matrix.kernel())))[len(repeats) :]
    within_lanes = registers + LANE_BITS
    in_registers = tuple(fold for fold in folds if fold >> registers == 0)
    in_lanes = tuple(fold for fold in folds if fold >> registers and fold >> within_lanes == 0)
    across = tuple(fold for fold in folds if fold >> within_lanes)
    rows = result.representatives
    return ReductionPlan(
        result,
        tuple((row, tuple(row ^ member for member in _span(in_registers))) for row in sorted(set(rows))),
        rows,
        tuple((fold >> registers, fold & (1 << registers) - 1) for fold in in_lanes),
        1 << len(across),
        _parts(result, (*repeats, *in_registers, *in_lanes), across),
    )


def _by_reach(kernel: tuple[int, ...]) -> list[int]:
    """The same span, leading bits distinct and lowest first: what folds in registers, then in a warp, then beyond."""
    reduced: list[int] = []
    for vector in kernel:
        for other in sorted(reduced, reverse=True):
            vector = min(vector, vector ^ other)
        reduced.append(vector)
    return sorted(reduced)


def _span(vectors: tuple[int, ...]) -> list[int]:
    members = [0]
    for vector in vectors:
        members += [member ^ vector for member in members]
    return members


def _parts(result: LinearLayout, within: tuple[int, ...], across: tuple[int, ...]) -> LinearLayout:
    """(part, row) of what each thread holds.

    Part numbers are linear in (register, thread): zero on what is folded already, bit i on fold i across warps.
    """
    bits = len(result.matrix.columns)
    basis = (*within, *across)
    coordinates = BitMatrix((*basis, *complement(basis, bits)), bits).right_inverse()
    numbers = [column >> len(within) & (1 << len(across)) - 1 for column in coordinates.columns]
    flat = result.reshape((result.size,))
    registers, lanes = len(flat.register), len(flat.register) + LANE_BITS
    return LinearLayout(
        _numbered(numbers[:registers], flat.register),
        _numbered(numbers[registers:lanes], flat.lane),
        _numbered(numbers[lanes:], flat.warp),
        (1 << len(across), result.size),
    )


def _numbered(numbers: list[int], bases: tuple[Basis, ...]) -> tuple[Basis, ...]:
    return tuple((number, *basis) for number, basis in zip(numbers, bases, strict=True))
