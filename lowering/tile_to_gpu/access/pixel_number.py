"""Numbers of pixels divided by extents without a division in 64 bits.

There may be more than 2^32 pixels. ptxas calls a function for a division in 64 bits, and serializes wgmma in kernels
with calls (C7509), so these divisions take the low digits one bit at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering import emitter
from tilec.lowering.tile_to_gpu.access.scalar import Scalar, added, divided, multiplied, remainder, scalar_value


@dataclass(frozen=True)
class PixelNumber:
    """high * 2^bits + low, where low < 2^bits; `high` has 32 bits, or any width if `bits` is 0."""

    high: Scalar
    low: Scalar = 0
    bits: int = 0

    def value(self) -> ir.Value:
        """The number as an i32; its higher bits are lost."""
        return scalar_value(_joined(self.high, self.low, self.bits), 32)


def divide(number: PixelNumber, extent: Scalar) -> tuple[PixelNumber, Scalar]:
    """The quotient by a positive extent of the width of `high`, and the remainder."""
    if extent == 1:
        return number, 0
    rest, high = remainder(number.high, extent), divided(number.high, extent)
    if number.bits == 0:
        return PixelNumber(high), rest
    if isinstance(extent, int) and extent << number.bits <= 1 << 32:
        # The digits fit in 32 bits.
        digits = _joined(rest, number.low, number.bits)
        low, rest = divided(digits, extent), remainder(digits, extent)
    else:
        low, rest = _long_division(rest, number.low, number.bits, extent)
    return PixelNumber(high, low, number.bits), rest


def _joined(high: Scalar, low: Scalar, bits: int) -> Scalar:
    """high * 2^bits + low."""
    return added(multiplied(high, 1 << bits), low)


def _long_division(rest: Scalar, low: Scalar, bits: int, extent: Scalar) -> tuple[ir.Value, ir.Value]:
    """The digits of (rest * 2^bits + low) / extent, which are less than 2^bits as rest < extent, and the remainder."""
    divisor, left, quotient = scalar_value(extent, 64), scalar_value(rest, 64), emitter.i32(0)
    for place in reversed(range(bits)):
        left = emitter.multiplied(left, 2)
        if low != 0:
            left = emitter.binary("arith.addi", left, scalar_value(_digit(low, place), 64))
        is_less = emitter.less_than(left, divisor, unsigned=True)
        digit = _select(is_less, emitter.i32(0), emitter.i32(1))
        quotient = emitter.binary("arith.addi", emitter.multiplied(quotient, 2), digit)
        left = _select(is_less, left, emitter.binary("arith.subi", left, divisor))
    return quotient, emitter.cast_integer(left, 32)


def _digit(value: Scalar, place: int) -> Scalar:
    """One binary digit of a number of 32 bits."""
    if isinstance(value, int):
        return value >> place & 1
    return emitter.binary("arith.andi", emitter.binary("arith.shrui", value, emitter.i32(place)), emitter.i32(1))


def _select(condition: ir.Value, then: ir.Value, otherwise: ir.Value) -> ir.Value:
    return emitter.create("arith.select", [then.type], [condition, then, otherwise]).result
