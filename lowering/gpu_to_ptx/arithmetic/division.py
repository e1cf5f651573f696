"""Divisions: of floats, also by divisors that elements share, and of integers, also by constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.arithmetic.arith import each_integer
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element
from tilec.lowering.gpu_to_ptx.registers.elementwise import (
    Column,
    each,
    each_distinct,
    in_pairs,
    instruction,
    reduced,
)
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.instruction_choice import LEAST_QUOTIENTS, quotients_of_a_test

# Divisors in [2^-20, 2^20] and dividends of magnitudes in [2^-100, 2^100] have quotients and, with 2^-46 of the
# dividend as last digit, remainders in the range of normal and exact numbers.
_LEAST_DIVISOR, _LARGEST_DIVISOR = "0f35800000", "0f49800000"
_LARGEST_DIVIDEND = "0f71800000"
# Twice the bits of 2^-100, less one: without the sign, and zero is the largest number.
_LEAST_DIVIDEND_CODE = 2 * (27 << 23) - 1
# Functions, and whether the operands are signed.
_DIVISIONS = {
    "arith.divsi": ("div", True),
    "arith.remsi": ("rem", True),
    "arith.divui": ("div", False),
    "arith.remui": ("rem", False),
}
# Whether the operands are signed, and whether the quotient is rounded up.
_ROUNDED = {
    "arith.floordivsi": (True, False),
    "arith.ceildivsi": (True, True),
    "arith.ceildivui": (False, True),
}
_BITS = 64
Divide = Callable[[Lowering, Sequence[Column]], list[ir.Value]]


@lowers("arith.divf")
def divf(lowering: Lowering, operation: ir.Operation) -> None:
    """Divides 16-bit floats in f32: 24 bits are at least 2 * 11 + 2, so the second rounding has no effect."""
    kind = element(operation.results[0])
    if kind.name == "f32" and _shares_divisors(lowering, operation):
        each_distinct(lowering, operation, lambda columns: _divide_by_shared(lowering, columns))
        return
    if kind.bits > 16:
        each(lowering, operation, instruction(lowering, f"div.rn.{kind.suffix} $0, $1, $2;", kind))
        return

    def divide(a: ir.Value, b: ir.Value) -> ir.Value:
        wide = [lowering.compute(f"cvt.f32.{kind.suffix} $0, $1;", "f32", x) for x in (a, b)]
        quotient = lowering.compute("div.rn.f32 $0, $1, $2;", "f32", *wide)
        return lowering.compute(f"cvt.rn.{kind.suffix}.f32 $0, $1;", kind.register, quotient)

    each(lowering, operation, divide)


# ---- by divisors that elements share


def _shares_divisors(lowering: Lowering, operation: ir.Operation) -> bool:
    """Whether each divisor has enough distinct dividends, and no wgmma has its own in flight."""
    columns = set(zip(*(lowering.get(operand) for operand in operation.operands), strict=True))
    counts = Counter(divisor for _, divisor in columns)
    return min(counts.values()) >= LEAST_QUOTIENTS and not lowering.in_flight


def _divide_by_shared(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """The quotients of distinct pairs (dividend, divisor) of f32 registers.

    For y = RN(1 / s) and q = RN(x * y), the quotient RN(x / s) is RN(q + y * (x - s * q)), if nothing overflows or
    underflows (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor
    is known in advance", IEEE Transactions on Computers 53, 2004). `div.rn.f32` has about twelve instructions, one of
    MUFU. A warp with an operand outside of the safe range divides each element by `div.rn.f32`.
    """
    size = quotients_of_a_test(len(columns))
    slowly = _one_by_one if size == len(columns) else _in_loops
    rows = {divisor: row for row, divisor in enumerate(dict.fromkeys(divisor for _, divisor in columns))}
    in_order = sorted(columns, key=lambda column: rows[column[1]]) if size < len(columns) else list(columns)
    quotients: dict[Column, ir.Value] = {}
    for first in range(0, len(columns), size):
        part = in_order[first : first + size]
        quotients.update(zip(part, _divide_part(lowering, part, slowly), strict=True))
    return [quotients[column] for column in columns]


def _divide_part(lowering: Lowering, columns: Sequence[Column], slowly: Divide) -> list[ir.Value]:
    """The quotients of some columns after one test of their operands; `slowly` divides any operands."""
    safe = _is_safe(lowering, columns)
    fast, slow = lowering.b.block(label="divide_by_reciprocal"), lowering.b.block(label="divide")
    done = lowering.b.block([lowering.type("f32")] * len(columns), "divided")
    lowering.b.cond_branch(safe, fast, [], slow, [], uniform=True)
    for block, divide in ((fast, _by_reciprocals), (slow, slowly)):
        lowering.at(block)
        lowering.b.branch(done, *divide(lowering, columns))
    lowering.at(done)
    return list(done.arguments)


def _is_safe(lowering: Lowering, columns: Sequence[Column]) -> ir.Value:
    """Whether all operands of the warp are in the safe range: the predicate is the same in all of its threads."""
    dividends = list(dict.fromkeys(dividend for dividend, _ in columns))
    divisors = list(dict.fromkeys(divisor for _, divisor in columns))
    codes = [
        lowering.compute("mad.lo.s32 $0, $1, 2, -1;", "i32", lowering.compute("mov.b32 $0, $1;", "i32", each))
        for each in dividends
    ]
    magnitudes = [lowering.compute("abs.f32 $0, $1;", "f32", each) for each in dividends]
    least = reduced(lowering, "min.u32", "i32", codes)
    largest = reduced(lowering, "max.NaN.f32", "f32", magnitudes, 2 + lowering.target.compares_three)
    safe = lowering.compute(f"setp.ge.u32 $0, $1, {_LEAST_DIVIDEND_CODE};", "i1", least)
    limits = [("le", largest, _LARGEST_DIVIDEND)]
    limits.append(("ge", reduced(lowering, "min.NaN.f32", "f32", divisors), _LEAST_DIVISOR))
    limits.append(("le", reduced(lowering, "max.NaN.f32", "f32", divisors), _LARGEST_DIVISOR))
    for comparison, register, limit in limits:
        safe = lowering.compute(f"setp.{comparison}.and.f32 $0, $1, {limit}, $2;", "i1", register, safe)
    return lowering.b.execute("vote.sync.all.pred $0, $1, 0xffffffff;", lowering.type("i1"), safe)


def _one_by_one(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    return [lowering.compute("div.rn.f32 $0, $1, $2;", "f32", *column) for column in columns]


def _in_loops(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """The quotients by `div.rn.f32`, of one divisor in a loop: ptxas inlines a division as about 15 instructions."""
    dividends: dict[ir.Value, list[ir.Value]] = {}
    for dividend, divisor in columns:
        dividends.setdefault(divisor, []).append(dividend)
    quotients = {
        (dividend, divisor): quotient
        for divisor, own in dividends.items()
        for dividend, quotient in _divided_in_turn(lowering, own, divisor)
    }
    return [quotients[column] for column in columns]


def _divided_in_turn(
    lowering: Lowering, dividends: list[ir.Value], divisor: ir.Value
) -> Iterable[tuple[ir.Value, ir.Value]]:
    """Dividends with their quotients: each iteration divides the first register, which becomes the last one."""
    b, registers = lowering.b, [each.type for each in dividends]
    head, done = b.block([b.i32, *registers], "divide_next"), b.block(registers, "divided_in_turn")
    b.branch(head, lowering.compute("mov.b32 $0, 1;", "i32"), *dividends)
    lowering.at(head)
    count, first, *others = head.arguments
    moved = [*others, lowering.compute("div.rn.f32 $0, $1, $2;", "f32", first, divisor)]
    following = lowering.compute("add.s32 $0, $1, 1;", "i32", count)
    again = lowering.compute(f"setp.le.s32 $0, $1, {len(dividends)};", "i1", following)
    b.cond_branch(again, head, [following, *moved], done, moved, uniform=True)
    lowering.at(done)
    return zip(dividends, done.arguments, strict=True)


def _by_reciprocals(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    reciprocals = {
        divisor: lowering.compute("rcp.rn.f32 $0, $1;", "f32", divisor)
        for divisor in dict.fromkeys(divisor for _, divisor in columns)
    }
    negated = {
        divisor: lowering.compute("neg.f32 $0, $1;", "f32", reciprocal) for divisor, reciprocal in reciprocals.items()
    }
    quotients = in_pairs(lowering, "mul", ["rn"], [(x, reciprocals[s]) for x, s in columns])
    # s * q - x, not x - s * q: their signs of zero make the quotient of -0 negative.
    errors = [
        lowering.compute("fma.rn.f32 $0, $1, $2, $3;", "f32", s, q, lowering.compute("neg.f32 $0, $1;", "f32", x))
        for (x, s), q in zip(columns, quotients, strict=True)
    ]
    corrections = [(error, negated[s], q) for (_, s), error, q in zip(columns, errors, quotients, strict=True)]
    return in_pairs(lowering, "fma", ["rn"], corrections)


# ---- of integers


@lowers(*_DIVISIONS)
def division(lowering: Lowering, operation: ir.Operation) -> None:
    name, signed = _DIVISIONS[operation.name]
    each_integer(lowering, operation, signed, lambda kind, a, b: _divided(lowering, kind, name, signed, a, b))


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
