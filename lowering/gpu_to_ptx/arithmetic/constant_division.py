"""Quotients and remainders of 64-bit integers by constants.

ptxas calls a function for every division in 64 bits, also by a power of two, and serializes wgmma in kernels with calls
(C7509).
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

_BITS = 64


def divide_by_constant(lowering: Lowering, name: str, signed: bool, a: ir.Value, b: ir.Value) -> ir.Value | None:
    """The result of `div` or `rem` of i64 registers, rounded toward zero; None if b is not a known number or is 0."""
    number = lowering.number(b)
    if not number:
        return None
    divisor = number if signed else number % (1 << _BITS)
    quotient = _signed_quotient(lowering, a, divisor) if signed else _quotient(lowering, a, divisor)
    return quotient if name == "div" else _remainder(lowering, a, quotient, divisor)


def _quotient(lowering: Lowering, dividend: ir.Value, divisor: int) -> ir.Value:
    """The unsigned quotient, rounded down."""
    shift = (divisor - 1).bit_length()
    if divisor == 1 << shift:
        return lowering.compute(f"shr.u64 $0, $1, {shift};", "i64", dividend) if shift else dividend
    # Granlund and Montgomery, Division by Invariant Integers using Multiplication, figure 4.1: the reciprocal has
    # 65 bits, of which the highest is added apart.
    reciprocal = ((1 << _BITS) * ((1 << shift) - divisor)) // divisor + 1
    high = lowering.compute(f"mul.hi.u64 $0, $1, {reciprocal};", "i64", dividend)
    rest = lowering.compute("sub.s64 $0, $1, $2;", "i64", dividend, high)
    half = lowering.compute("shr.u64 $0, $1, 1;", "i64", rest)
    sum = lowering.compute("add.s64 $0, $1, $2;", "i64", half, high)
    return lowering.compute(f"shr.u64 $0, $1, {shift - 1};", "i64", sum)


def _signed_quotient(lowering: Lowering, dividend: ir.Value, divisor: int) -> ir.Value:
    """The quotient of the magnitudes with the sign of the quotient."""
    sign = lowering.compute("shr.s64 $0, $1, 63;", "i64", dividend)
    quotient = _quotient(lowering, _negated_if(lowering, dividend, sign), abs(divisor))
    if divisor < 0:
        sign = lowering.compute("not.b64 $0, $1;", "i64", sign)
    return _negated_if(lowering, quotient, sign)


def _negated_if(lowering: Lowering, value: ir.Value, sign: ir.Value) -> ir.Value:
    """The value if `sign` is 0, its negation if it is -1."""
    flipped = lowering.compute("xor.b64 $0, $1, $2;", "i64", value, sign)
    return lowering.compute("sub.s64 $0, $1, $2;", "i64", flipped, sign)


def _remainder(lowering: Lowering, dividend: ir.Value, quotient: ir.Value, divisor: int) -> ir.Value:
    product = lowering.compute(f"mul.lo.s64 $0, $1, {divisor};", "i64", quotient)
    return lowering.compute("sub.s64 $0, $1, $2;", "i64", dividend, product)
