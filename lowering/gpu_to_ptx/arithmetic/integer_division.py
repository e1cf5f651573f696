"""Divisions of integers, also by constants, and with quotients that are rounded up or down."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu_to_ptx.arithmetic.arith import each_integer
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import record_divided
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

# Functions, and whether the operands are signed.
_DIVISIONS = {
    "arith.divsi": ("div", True),
    "arith.remsi": ("rem", True),
    "arith.divui": ("div", False),
    "arith.remui": ("rem", False),
}
# Whether the operands are signed, and whether the quotient is rounded up.
_ROUNDED = {"arith.floordivsi": (True, False), "arith.ceildivsi": (True, True), "arith.ceildivui": (False, True)}
_BITS = 64


@lowers(*_DIVISIONS)
def division(lowering: Lowering, operation: ir.Operation) -> None:
    """Quotients that are rounded toward zero, and remainders."""
    name, signed = _DIVISIONS[operation.name]
    each_integer(lowering, operation, signed, lambda kind, a, b: _divided(lowering, kind, name, signed, a, b))
    _record_bits(lowering, operation)


def _record_bits(lowering: Lowering, operation: ir.Operation) -> None:
    """Records the bits of words that the results are, for conversions to floats."""
    kind, name = element(operation.results[0]), operation.name.removeprefix("arith.")
    dividend, divisor = operation.operands
    number = number_of_all(divisor)
    if number is not None:
        for source, result in zip(lowering.get(dividend), lowering.get(operation.results[0]), strict=True):
            record_divided(lowering, kind, name, source, number, result)


def _divided(lowering: Lowering, kind: PtxElement, name: str, signed: bool, a: ir.Value, b: ir.Value) -> ir.Value:
    """The quotient rounded toward zero (`div`) or the remainder (`rem`)."""
    known = _divide_by_constant(lowering, name, signed, a, b) if kind.register_bits == _BITS else None
    if known is not None:
        return known
    return lowering.compute(f"{name}.{'s' if signed else 'u'}{kind.register_bits} $0, $1, $2;", kind.register, a, b)


@lowers(*_ROUNDED)
def rounded_division(lowering: Lowering, operation: ir.Operation) -> None:
    """Shifts signed numbers by powers of two; otherwise adjusts an inexact quotient of the division toward zero."""
    signed, up = _ROUNDED[operation.name]

    def divide(kind: PtxElement, a: ir.Value, b: ir.Value) -> ir.Value:
        divisor = lowering.number(b)
        if signed and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
            return _shifted(lowering, kind, up, a, divisor)
        return _adjusted(lowering, kind, signed, up, a, b)

    each_integer(lowering, operation, signed, divide)
    if not up:
        _record_bits(lowering, operation)


def _shifted(lowering: Lowering, kind: PtxElement, up: bool, a: ir.Value, divisor: int) -> ir.Value:
    """An arithmetic shift rounds down; rounding up adds one if a dropped bit is set."""
    bits, register, shift = kind.register_bits, kind.register, divisor.bit_length() - 1
    quotient = lowering.compute(f"shr.s{bits} $0, $1, {shift};", register, a) if shift else a
    if not up or not shift:
        return quotient
    rest = lowering.compute(f"and.b{bits} $0, $1, {divisor - 1};", register, a)
    one = lowering.compute(f"min.u{bits} $0, $1, 1;", register, rest)
    return lowering.compute(f"add.s{bits} $0, $1, $2;", register, quotient, one)


def _adjusted(lowering: Lowering, kind: PtxElement, signed: bool, up: bool, a: ir.Value, b: ir.Value) -> ir.Value:
    """Adds one to an inexact quotient that is not negative (`up`), or subtracts one from a negative one."""
    bits, register = kind.register_bits, kind.register
    type = f"{'s' if signed else 'u'}{bits}"
    quotient = _divided(lowering, kind, "div", signed, a, b)
    product = lowering.compute(f"mul.lo.{type} $0, $1, $2;", register, quotient, b)
    signs = lowering.compute(f"xor.b{bits} $0, $1, $2;", register, a, b) if signed else None
    steps = lowering.compute(f"setp.ne.{type} $0, $1, $2;", "i1", product, a)
    if signs is not None:
        steps = lowering.compute(f"setp.{'ge' if up else 'lt'}.and.{type} $0, $1, 0, $2;", "i1", signs, steps)
    moved = lowering.compute(f"add.{type} $0, $1, {1 if up else -1};", register, quotient)
    return lowering.compute(f"selp.b{bits} $0, $1, $2, $3;", register, moved, quotient, steps)


def _divide_by_constant(lowering: Lowering, name: str, signed: bool, a: ir.Value, b: ir.Value) -> ir.Value | None:
    """The result of `div` or `rem` of i64 registers, rounded toward zero; None if b is not a known number or is 0.

    ptxas calls a function for every division in 64 bits, also by a power of two, and serializes wgmma in kernels with
    calls (C7509).
    """
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
