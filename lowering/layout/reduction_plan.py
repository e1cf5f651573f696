"""The steps of a reduction along a dimension: registers of a thread, lanes of a warp, warps of a role."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from tilec.lowering.layout.bit_matrix import BitMatrix, complement, independent
from tilec.lowering.layout.blocked import along, doubling
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
        order: None if steps join elements in any order. Otherwise step i, counted over registers, lanes and warps,
            joins adjacent blocks of 2**i positions, and order[i] masks the (register, lane, warp) bits whose parity is
            bit i of the position: it is odd in the later block.
    """

    result: LinearLayout
    register_rows: tuple[tuple[int, tuple[int, ...]], ...]
    row_of_register: tuple[int, ...]
    lane_steps: tuple[tuple[int, int], ...]
    warp_parts: int
    written: LinearLayout
    order: tuple[int, ...] | None

    @property
    def register_steps(self) -> int:
        return len(self.register_rows[0][1]).bit_length() - 1

    def every_part(self, rows: LinearLayout) -> LinearLayout:
        """The flat rows with all parts in one thread: part p of register r is register p * count + r."""
        parts = tuple((1 << part, 0) for part in range(self.warp_parts.bit_length() - 1))
        register, lane, warp = (_numbered([0] * len(b), b) for b in (rows.register, rows.lane, rows.warp))
        return LinearLayout(register + parts, lane, warp, self.written.shape)


@functools.lru_cache(maxsize=1024)
def reduction_plan(layout: LinearLayout, dimension: int) -> ReductionPlan:
    """The plan of a reduction along `dimension` by a commutative body."""
    repeats, steps = _steps(layout, dimension)
    return _plan(layout, dimension, repeats, steps, None)


@functools.lru_cache(maxsize=1024)
def ordered_plan(layout: LinearLayout, dimension: int) -> ReductionPlan:
    """The plan of a reduction along `dimension` that keeps the order of elements, in a layout made by in_order()."""
    repeats = independent(layout.matrix.kernel())
    bases = layout.register + layout.lane + layout.warp
    order = tuple(
        sum(1 << at for at, basis in enumerate(bases) if basis[dimension] >> bit & 1)
        for bit in range(layout.shape[dimension].bit_length() - 1)
    )
    return _plan(layout, dimension, repeats, _siblings(layout, dimension), order)


@functools.lru_cache(maxsize=1024)
def in_order(layout: LinearLayout, dimension: int) -> LinearLayout:
    """A layout with equal rows whose low bits of the position are in registers, the next in lanes, the last in warps.

    It is the layout itself if the positions are in that order.
    """
    repeats, steps = _steps(layout, dimension)
    if [_level(layout, step) for step in _siblings(layout, dimension)] == [_level(layout, step) for step in steps]:
        return layout
    numbers = iter(_coordinates((*repeats, *steps), len(layout.matrix.columns)))

    def moved(bases: tuple[Basis, ...]) -> tuple[Basis, ...]:
        return tuple((*basis[:dimension], next(numbers) >> len(repeats), *basis[dimension + 1 :]) for basis in bases)

    return LinearLayout(moved(layout.register), moved(layout.lane), moved(layout.warp), layout.shape)


def _siblings(layout: LinearLayout, dimension: int) -> tuple[int, ...]:
    """For each bit of the position the lowest register, lane and warp bits that change it alone."""
    return tuple(map(layout.holder, along(dimension, doubling(1, layout.shape[dimension]), len(layout.shape))))


def _level(layout: LinearLayout, step: int) -> int:
    """0 for a step within a thread, 1 within a warp, 2 across warps."""
    registers = len(layout.register)
    return (step >> registers != 0) + (step >> registers + LANE_BITS != 0)


def _steps(layout: LinearLayout, dimension: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The bits that repeat an element, and a basis of those that change it within its row: registers, lanes, warps."""
    repeats = independent(layout.matrix.kernel())
    kernel = layout.drop(dimension).matrix.kernel()
    return repeats, independent((*repeats, *_by_reach(kernel)))[len(repeats) :]


def _plan(
    layout: LinearLayout,
    dimension: int,
    repeats: tuple[int, ...],
    steps: tuple[int, ...],
    order: tuple[int, ...] | None,
) -> ReductionPlan:
    result, registers = layout.drop(dimension), len(layout.register)
    in_registers, in_lanes, across = (tuple(s for s in steps if _level(layout, s) == level) for level in range(3))
    within = len(in_registers) + len(in_lanes)
    if order is None:
        coordinates = _coordinates((*repeats, *in_registers, *in_lanes, *across), len(layout.matrix.columns))
        parts = [number >> len(repeats) + within for number in coordinates]
    else:
        parts = [basis[dimension] >> within for basis in layout.register + layout.lane + layout.warp]
    rows = result.representatives
    return ReductionPlan(
        result,
        tuple((row, tuple(row ^ member for member in _span(in_registers))) for row in sorted(set(rows))),
        rows,
        tuple((step >> registers, step & (1 << registers) - 1) for step in in_lanes),
        1 << len(across),
        _written(result, parts, 1 << len(across)),
        order,
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


def _coordinates(basis: tuple[int, ...], bits: int) -> list[int]:
    """For each unit vector its coordinates in the basis; those of the unit vectors that complete the basis are zero."""
    whole = BitMatrix((*basis, *complement(basis, bits)), bits).right_inverse()
    return [column & (1 << len(basis)) - 1 for column in whole.columns]


def _written(result: LinearLayout, parts: list[int], count: int) -> LinearLayout:
    """The (part, row) of each register, where each register and thread bit contributes parts[bit] to the part."""
    flat = result.reshape((result.size,))
    registers, lanes = len(flat.register), len(flat.register) + LANE_BITS
    return LinearLayout(
        _numbered(parts[:registers], flat.register),
        _numbered(parts[registers:lanes], flat.lane),
        _numbered(parts[lanes:], flat.warp),
        (count, result.size),
    )


def _numbered(numbers: list[int], bases: tuple[Basis, ...]) -> tuple[Basis, ...]:
    return tuple((number, *basis) for number, basis in zip(numbers, bases, strict=True))
