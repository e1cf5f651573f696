"""The steps of a reduction along a dimension: registers of a thread, lanes of a warp, warps of a role."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from tilec.lowering.layout.bit_matrix import BitMatrix, complement, independent
from tilec.lowering.layout.linear_layout import LANE_BITS, Basis, LinearLayout


@dataclass(frozen=True)
class ReductionPlan:
    """The steps of a reduction.

    Attributes:
        result: The layout of the result.
        register_rows: The first register of each row of a thread with the registers to reduce (each element once).
        row_of_register: The first register of the row of each register.
        lane_steps: Pairs (lane mask, register mask): exchange register r ^ register mask with lane ^ lane mask.
        warp_parts: The number of partial results across warps.
        written: The rows of each thread in a tile of (part, row).
    """

    result: LinearLayout
    register_rows: tuple[tuple[int, tuple[int, ...]], ...]
    row_of_register: tuple[int, ...]
    lane_steps: tuple[tuple[int, int], ...]
    warp_parts: int
    written: LinearLayout

    def every_part(self, rows: LinearLayout) -> LinearLayout:
        """The flat rows with all parts in one thread: part p of register r is register p * count + r."""
        parts = tuple((1 << part, 0) for part in range(self.warp_parts.bit_length() - 1))
        register, lane, warp = (_numbered([0] * len(b), b) for b in (rows.register, rows.lane, rows.warp))
        return LinearLayout(register + parts, lane, warp, self.written.shape)


@functools.lru_cache(maxsize=1024)
def reduction_plan(layout: LinearLayout, dimension: int) -> ReductionPlan:
    """The plan of the reduction along `dimension`."""
    result = layout.drop(dimension)
    registers = len(layout.register)
    repeats = independent(layout.matrix.kernel())
    steps = independent((*repeats, *_by_reach(result.matrix.kernel())))[len(repeats) :]
    within_lanes = registers + LANE_BITS
    in_registers = tuple(step for step in steps if step >> registers == 0)
    in_lanes = tuple(step for step in steps if step >> registers and step >> within_lanes == 0)
    across = tuple(step for step in steps if step >> within_lanes)
    rows = result.representatives
    return ReductionPlan(
        result,
        tuple((row, tuple(row ^ member for member in _span(in_registers))) for row in sorted(set(rows))),
        rows,
        tuple((step >> registers, step & (1 << registers) - 1) for step in in_lanes),
        1 << len(across),
        _parts(result, (*repeats, *in_registers, *in_lanes), across),
    )


def _by_reach(kernel: tuple[int, ...]) -> list[int]:
    """A basis of the same span with distinct leading bits, lowest first: registers, then lanes, then warps."""
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
    """The (part, row) of each register.

    Part numbers are linear in (register, thread): zero for reduced elements, bit i for step i across warps.
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
