"""The position in row-major order of the first element of a tile, in integers that hold each extent.

There may be more elements than 2^32. ptxas calls a function for a division in 64 bits, and serializes wgmma in kernels
with calls (C7509), so the number of a tile is divided before it is multiplied by the elements of a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.lowering.tile.analysis.index_arithmetic import IndexArithmetic, Number


@dataclass(frozen=True)
class RowMajorStart:
    """The number `tiles * 2^bits + rest`, rest < 2^bits, of the leading dimension, and the position in the others."""

    tiles: Number
    rest: Number
    position: list[Number]


def row_major_start(numbers: IndexArithmetic, tile: Number, bits: int, extents: Sequence[Number]) -> RowMajorStart:
    """The position of the number tile * 2^bits in positive extents, all but the leading one; nothing wraps."""
    rest: Number = 0
    position: list[Number] = []
    for extent in reversed(extents):
        tile, remainder = numbers.divided(tile, extent)
        rest, at = _divided(numbers, remainder, rest, bits, extent)
        position.insert(0, at)
    return RowMajorStart(tile, rest, position)


def _divided(numbers: IndexArithmetic, high: Number, low: Number, bits: int, extent: Number) -> tuple[Number, Number]:
    """The quotient, which is less than 2^bits, and the remainder of high * 2^bits + low, for high < extent."""
    if high == 0 and low == 0:
        return 0, 0
    if isinstance(extent, int) and extent << bits <= 1 << numbers.width:
        return numbers.divided(numbers.sum([numbers.product([high, 1 << bits]), low]), extent)
    quotient: Number = 0
    left = high
    for place in reversed(range(bits)):
        # Twice the rest may exceed the integers, so it is compared with what it lacks of the extent.
        next = numbers.sum([left, _digit(numbers, low, place)])
        lacking = numbers.difference(extent, left)
        is_less = numbers.is_less(numbers.made(next), lacking)
        left = numbers.select(is_less, numbers.sum([left, next]), numbers.difference(next, lacking))
        quotient = numbers.sum([numbers.product([quotient, 2]), numbers.select(is_less, 0, 1)])
    return quotient, left


def _digit(numbers: IndexArithmetic, number: Number, place: int) -> Number:
    """One binary digit."""
    return numbers.divided(numbers.quotient(number, 1 << place), 2)[1]
