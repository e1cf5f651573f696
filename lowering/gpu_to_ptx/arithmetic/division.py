"""Divisions: of floats, also by divisors that elements share, and of integers, also by constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.emitter import number_of_all
from tilec.lowering.gpu_to_ptx.arithmetic.arith import each_integer
from tilec.lowering.gpu_to_ptx.arithmetic.bit_fields import record_divided
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, each, each_distinct, in_pairs, instruction, reduced
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.instruction_choice import LEAST_QUOTIENTS, is_rounded_to_f16

# Divisors in [2^-20, 2^20] and dividends of magnitudes in [2^-100, 2^100] have quotients and, with 2^-46 of the
# dividend as last digit, remainders in the range of normal and exact numbers.
_LEAST_DIVISOR, _LARGEST_DIVISOR = "0f35800000", "0f49800000"
_LARGEST_DIVIDEND = "0f71800000"
# Twice the bits of 2^-100, less one: without the sign, and zero is the largest number.
_LEAST_DIVIDEND_CODE = 2 * (27 << 23) - 1
# The elements of a vector access of local memory.
_VECTOR = 4
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


@lowers("arith.divf")
def divf(lowering: Lowering, operation: ir.Operation) -> None:
    """Divides 16-bit floats in f32: 24 bits are at least 2 * 11 + 2, so the second rounding has no effect."""
    kind = element(operation.results[0])
    if kind.name == "f32" and _shares_divisors(lowering, operation):
        to_f16 = is_rounded_to_f16(operation)
        each_distinct(lowering, operation, lambda columns: _divide_by_shared(lowering, columns, to_f16))
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


def _divide_by_shared(lowering: Lowering, columns: Sequence[Column], to_f16: bool) -> list[ir.Value]:
    """The quotients of distinct pairs (dividend, divisor) of f32 registers, which may be only rounded `to_f16`.

    For y = RN(1 / s) and q = RN(x * y), the quotient RN(x / s) is RN(q + y * (x - s * q)), if nothing overflows or
    underflows (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor
    is known in advance", IEEE Transactions on Computers 53, 2004). The three operations are packed; `div.rn.f32` has
    about twelve instructions, one of MUFU. A warp with an operand outside of the safe range divides by `div.rn.f32`.

    The remainder of a dividend below 2^-100 may be wrong by 2^-150, which is at most half of the dividend, so that
    q + y * (x - s * q) is about x * y / 2 at least, and below 2^-78: rounded to f16 it is a zero of the right sign.
    """
    divisors = list(dict.fromkeys(divisor for _, divisor in columns))
    # Before the branches, so that divisions of other operations by the same divisor use the same reciprocal.
    reciprocals = {divisor: lowering.compute("rcp.rn.f32 $0, $1;", "f32", divisor) for divisor in divisors}
    safe = _is_safe(lowering, list(dict.fromkeys(dividend for dividend, _ in columns)), divisors, to_f16)
    fast, slow = lowering.b.block(label="divide_by_reciprocal"), lowering.b.block(label="divide")
    done = lowering.b.block([lowering.type("f32")] * len(columns), "divided")
    lowering.b.cond_branch(safe, fast, [], slow, [], uniform=True)
    lowering.at(fast)
    lowering.b.branch(done, *_by_reciprocals(lowering, [(x, s, reciprocals[s]) for x, s in columns]))
    lowering.at(slow)
    lowering.b.branch(done, *_divided_in_turn(lowering, columns))
    lowering.at(done)
    return list(done.arguments)


def _is_safe(lowering: Lowering, dividends: list[ir.Value], divisors: list[ir.Value], to_f16: bool) -> ir.Value:
    """Whether all operands of the warp are in the safe range: the predicate is the same in all of its threads."""
    magnitudes = [lowering.compute("abs.f32 $0, $1;", "f32", dividend) for dividend in dividends]
    largest = reduced(lowering, "max.NaN.f32", "f32", magnitudes, 2 + lowering.target.compares_three)
    safe = lowering.compute(f"setp.le.f32 $0, $1, {_LARGEST_DIVIDEND};", "i1", largest)
    for divisor in divisors:
        safe = lowering.compute(f"setp.ge.and.f32 $0, $1, {_LEAST_DIVISOR}, $2;", "i1", divisor, safe)
        safe = lowering.compute(f"setp.le.and.f32 $0, $1, {_LARGEST_DIVISOR}, $2;", "i1", divisor, safe)
    if not to_f16:
        codes = [
            lowering.compute("mad.lo.s32 $0, $1, 2, -1;", "i32", lowering.compute("mov.b32 $0, $1;", "i32", dividend))
            for dividend in dividends
        ]
        least = reduced(lowering, "min.u32", "i32", codes)
        safe = lowering.compute(f"setp.ge.and.u32 $0, $1, {_LEAST_DIVIDEND_CODE}, $2;", "i1", least, safe)
    return lowering.b.execute("vote.sync.all.pred $0, $1, 0xffffffff;", lowering.type("i1"), safe)


def _by_reciprocals(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """The quotients of operands (dividend, divisor, reciprocal of the divisor) in the safe range."""
    quotients = in_pairs(lowering, "mul", ["rn"], [(x, y) for x, _, y in columns])
    # s * q - x, not x - s * q: their signs of zero make the quotient of -0 negative.
    remainders = [
        (s, q, lowering.compute("neg.f32 $0, $1;", "f32", x)) for (x, s, _), q in zip(columns, quotients, strict=True)
    ]
    errors = in_pairs(lowering, "fma", ["rn"], remainders)
    negated = {y: lowering.compute("neg.f32 $0, $1;", "f32", y) for y in dict.fromkeys(y for _, _, y in columns)}
    corrections = [(e, negated[y], q) for (_, _, y), e, q in zip(columns, errors, quotients, strict=True)]
    return in_pairs(lowering, "fma", ["rn"], corrections)


def _divided_in_turn(lowering: Lowering, columns: Sequence[Column]) -> tuple[ir.Value, ...]:
    """The quotients by `div.rn.f32` in a loop over local memory, because ptxas inlines it as about 15 instructions."""
    count, divisors = len(columns), list(dict.fromkeys(divisor for _, divisor in columns))
    values = [dividend for dividend, _ in columns]
    # One divisor stays in a register; several are an array beside the dividends.
    values += [divisor for _, divisor in columns] if len(divisors) > 1 else divisors
    arrays, size_bytes = len(values) // count, 4 * (count + -count % _VECTOR)
    divisor = "%divisor" if arrays > 1 else f"${2 * count}"
    loads = [f"ld.local.f32 %divisor, [%at+{size_bytes}];"] if arrays > 1 else []
    lines = [
        f".local .align 16 .b8 operands[{arrays * size_bytes}];",
        ".reg .b64 %at;",
        ".reg .b32 %left;",
        ".reg .f32 %dividend, %divisor;",
        ".reg .pred %more;",
        *(
            line
            for array in range(arrays)
            for line in _vectors("st.local", size_bytes * array, count * (1 + array), count, stores=True)
        ),
        "mov.b64 %at, operands;",
        f"mov.b32 %left, {count};",
        "$divide_next:",
        '.pragma "nounroll";',
        "ld.local.f32 %dividend, [%at];",
        *loads,
        f"div.rn.f32 %dividend, %dividend, {divisor};",
        "st.local.f32 [%at], %dividend;",
        "add.s64 %at, %at, 4;",
        "sub.s32 %left, %left, 1;",
        "setp.ne.s32 %more, %left, 0;",
        "@%more bra.uni $divide_next;",
        *_vectors("ld.local", 0, 0, count, stores=False),
    ]
    types = [lowering.type("f32")] * count
    return lowering.b.execute("\n".join(["{", *lines, "}"]), types, *values)


def _vectors(name: str, offset: int, first: int, count: int, *, stores: bool) -> list[str]:
    """The loads or stores of an array in local memory, whose elements are operands `$first` and those that follow."""
    lines = []
    for start in range(0, count, _VECTOR):
        own = [f"${first + number}" for number in range(start, min(start + _VECTOR, count))]
        vectors = [own] if len(own) == _VECTOR else [[register] for register in own]
        for number, vector in enumerate(vectors):
            width, registers = (f".v{_VECTOR}", f"{{{', '.join(vector)}}}") if len(vector) > 1 else ("", vector[0])
            address = f"[operands+{offset + 4 * (start + number)}]"
            values = (address, registers) if stores else (registers, address)
            lines.append(f"{name}{width}.f32 {', '.join(values)};")
    return lines


# ---- of integers


@lowers(*_DIVISIONS)
def division(lowering: Lowering, operation: ir.Operation) -> None:
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
