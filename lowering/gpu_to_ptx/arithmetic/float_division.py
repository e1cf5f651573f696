"""Divisions of floats, also by divisors that elements share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import element
from tilec.lowering.gpu_to_ptx.registers.elementwise import Column, each, each_distinct, in_pairs, instruction, reduced
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.instruction_choice import LEAST_QUOTIENTS, rounded_to

# Divisors in [2^-20, 2^20] and dividends of magnitudes in [2^-100, 2^100] have quotients and, with 2^-46 of the
# dividend as last digit, remainders in the range of normal and exact numbers.
_LEAST_DIVISOR, _LARGEST_DIVISOR = "0f35800000", "0f49800000"
_LARGEST_DIVIDEND = "0f71800000"
# The exponents of the least dividends that are not zero, by the type to which quotients are rounded.
_LEAST_EXPONENTS = {None: -100, "bf16": -60}
_BIAS, _FRACTION_BITS = 127, 23
# By type, the last bits of a divisor that tell whether quotients may be close to a boundary of rounding.
_LAST_BITS = {"f16": 13, "bf16": 16}
# The least f32.
_LEAST = "0f00000001"
# The elements of a vector access of local memory.
_VECTOR = 4


@lowers("arith.divf")
def divf(lowering: Lowering, operation: ir.Operation) -> None:
    """Divides 16-bit floats in f32: 24 bits are at least 2 * 11 + 2, so the second rounding has no effect."""
    kind = element(operation.results[0])
    if kind.name == "f32" and _shares_divisors(lowering, operation):
        rounded = rounded_to(operation)
        each_distinct(lowering, operation, lambda columns: _divide_by_shared(lowering, columns, rounded))
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


def _divide_by_shared(lowering: Lowering, columns: Sequence[Column], rounded: str | None) -> list[ir.Value]:
    """The quotients of distinct pairs (dividend, divisor) of f32 registers, which may be only `rounded` to 16 bits.

    A warp with an operand outside of the safe range divides in f64, one element after another.
    """
    dividends, divisors = (list(dict.fromkeys(values)) for values in zip(*columns, strict=True))
    # Before the branches, so that divisions of other operations by the same divisor use the same reciprocal.
    reciprocals = {divisor: lowering.compute("rcp.rn.f32 $0, $1;", "f32", divisor) for divisor in divisors}
    safe = _are_safe_divisors(lowering, divisors)
    halves = dict[ir.Value, tuple[ir.Value, ir.Value]]()
    if rounded is None:
        safe = _are_not_too_large(lowering, dividends, safe)
    else:
        for divisor, reciprocal in reciprocals.items():
            high, low, safe = _halves_of_reciprocal(lowering, divisor, reciprocal, _LAST_BITS[rounded], safe)
            halves[divisor] = high, low
    if rounded in _LEAST_EXPONENTS:
        safe = _are_not_too_small(lowering, dividends, _LEAST_EXPONENTS[rounded], safe)
    # The predicate is the same in all threads of the warp.
    safe = lowering.b.execute("vote.sync.all.pred $0, $1, 0xffffffff;", lowering.type("i1"), safe)
    fast, slow = lowering.b.block(label="divide_by_reciprocal"), lowering.b.block(label="divide")
    done = lowering.b.block([lowering.type("f32")] * len(columns), "divided")
    lowering.b.cond_branch(safe, fast, [], slow, [], uniform=True)
    lowering.at(fast)
    if rounded is None:
        quotients = _by_remainders(lowering, [(x, s, reciprocals[s]) for x, s in columns])
    else:
        quotients = _by_halves(lowering, [(x, *halves[s]) for x, s in columns])
    lowering.b.branch(done, *quotients)
    lowering.at(slow)
    lowering.b.branch(done, *_divided_in_turn(lowering, columns))
    lowering.at(done)
    return list(done.arguments)


def _are_safe_divisors(lowering: Lowering, divisors: list[ir.Value]) -> ir.Value:
    """Whether all divisors are in the safe range; a NaN is not."""
    safe: list[ir.Value] = []
    for divisor in divisors:
        for comparison, limit in (("ge", _LEAST_DIVISOR), ("le", _LARGEST_DIVISOR)):
            form, operand = (f"{comparison}.and", ", $2") if safe else (comparison, "")
            safe = [lowering.compute(f"setp.{form}.f32 $0, $1, {limit}{operand};", "i1", divisor, *safe)]
    return safe[0]


def _are_not_too_large(lowering: Lowering, dividends: list[ir.Value], safe: ir.Value) -> ir.Value:
    """Whether `safe` holds, and no magnitude of a dividend is above the safe range or a NaN."""
    magnitudes = [lowering.compute("abs.f32 $0, $1;", "f32", dividend) for dividend in dividends]
    largest = reduced(lowering, "max.NaN.f32", "f32", magnitudes, 2 + lowering.target.compares_three)
    return lowering.compute(f"setp.le.and.f32 $0, $1, {_LARGEST_DIVIDEND}, $2;", "i1", largest, safe)


def _are_not_too_small(lowering: Lowering, dividends: list[ir.Value], exponent: int, safe: ir.Value) -> ir.Value:
    """Whether `safe` holds, and each dividend is zero or has a magnitude of 2^exponent at least."""
    # Twice the bits, less one: without the sign, and zero is the largest number.
    codes = [
        lowering.compute("mad.lo.s32 $0, $1, 2, -1;", "i32", lowering.compute("mov.b32 $0, $1;", "i32", dividend))
        for dividend in dividends
    ]
    least = 2 * (_BIAS + exponent << _FRACTION_BITS) - 1
    return lowering.compute(
        f"setp.ge.and.u32 $0, $1, {least}, $2;", "i1", reduced(lowering, "min.u32", "i32", codes), safe
    )


def _by_remainders(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """The quotients of operands (dividend, divisor, reciprocal of the divisor) in the safe range.

    For y = RN(1 / s) and q = RN(x * y), the quotient RN(x / s) is RN(q + y * (x - s * q)), if nothing overflows or
    underflows (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor
    is known in advance", IEEE Transactions on Computers 53, 2004). The three operations are packed.
    """
    quotients = in_pairs(lowering, "mul", ["rn"], [(x, y) for x, _, y in columns])
    # s * q - x, not x - s * q: their signs of zero make the quotient of -0 negative.
    remainders = [
        (s, q, lowering.compute("neg.f32 $0, $1;", "f32", x)) for (x, s, _), q in zip(columns, quotients, strict=True)
    ]
    errors = in_pairs(lowering, "fma", ["rn"], remainders)
    negated = {y: lowering.compute("neg.f32 $0, $1;", "f32", y) for y in dict.fromkeys(y for _, _, y in columns)}
    corrections = [(e, negated[y], q) for (_, _, y), e, q in zip(columns, errors, quotients, strict=True)]
    return in_pairs(lowering, "fma", ["rn"], corrections)


def _halves_of_reciprocal(
    lowering: Lowering, divisor: ir.Value, reciprocal: ir.Value, last_bits: int, safe: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """h = RD(1 / s), l = RN(1 / s - h), and whether RN(x * h + RN(x * l)) rounds to 16 bits as RN(x / s) does.

    Both halves have the sign of s, so zeros and infinities have theirs. The rounding depends on whether RN(x / s) is
    below, at or above a number m halfway between two of 16 bits: on x / s beside m - u / 2 and m + u / 2, where u is
    the last place of m in f32. In units of the last place of their product, with x and s integers of 24 bits, x differs
    from the boundary times s by an integer k whose last bits, 13 with f16 and 16 with bf16, are those of s or -s,
    because the others of the boundary, 2 * m / u +- 1, are zeros. The sum is on the wrong side for |k| <= 3 at most,
    and only where RN(1 / s) is above 1 / s: exact integers of all quotients with |k| <= 16 show it, and more distant
    ones exceed the error, which is below 2^-45 of the quotient.
    """
    negated = lowering.compute("neg.f32 $0, $1;", "f32", divisor)
    one = lowering.compute("mov.b32 $0, 0f3F800000;", "f32")

    def rest(product: ir.Value, of: ir.Value) -> ir.Value:
        return lowering.compute("fma.rn.f32 $0, $1, $2, $3;", "f32", negated, product, of)

    bits = lowering.compute("mov.b32 $0, $1;", "i32", rest(reciprocal, one))
    # -1 if the reciprocal is above 1 / s.
    step = lowering.compute("shr.s32 $0, $1, 31;", "i32", bits)
    high = lowering.compute("mov.b32 $0, $1;", "i32", reciprocal)
    high = lowering.compute("mov.b32 $0, $1;", "f32", lowering.compute("add.s32 $0, $1, $2;", "i32", high, step))
    error = rest(high, one)
    low = lowering.compute("mul.rn.f32 $0, $1, $2;", "f32", error, reciprocal)
    low = lowering.compute("fma.rn.f32 $0, $1, $2, $3;", "f32", rest(low, error), reciprocal, low)
    # Infinities times zero are not numbers.
    low = lowering.compute(f"max.f32 $0, $1, {_LEAST};", "f32", low)
    unit, last = 32 - last_bits, lowering.compute("mov.b32 $0, $1;", "i32", divisor)
    for text in (f"shl.b32 $0, $1, {unit};", "abs.s32 $0, $1;", "sub.s32 $0, $1, 1;"):
        last = lowering.compute(text, "i32", last)
    last = lowering.compute("or.b32 $0, $1, $2;", "i32", last, lowering.compute("not.b32 $0, $1;", "i32", step))
    return high, low, lowering.compute(f"setp.ge.and.u32 $0, $1, {3 << unit}, $2;", "i1", last, safe)


def _by_halves(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """x * h + x * l for each (x, h, l)."""
    rests = in_pairs(lowering, "mul", ["rn"], [(x, low) for x, _, low in columns])
    return in_pairs(lowering, "fma", ["rn"], [(x, high, r) for (x, high, _), r in zip(columns, rests, strict=True)])


def _divided_in_turn(lowering: Lowering, columns: Sequence[Column]) -> list[ir.Value]:
    """The quotients in a loop over local memory, because a division has many instructions.

    A row of the memory has as many dividends as another, of which the last may repeat, and their divisor if there are
    several: one divisor stays in a register. The quotient of f64 is rounded correctly, so that the second rounding has
    no effect: 53 bits are at least 2 * 24 + 2. Such a division is shorter than `div.rn.f32`, which needs a function of
    80 instructions beside the loop (ptxas 13.0).
    """
    rows = dict[ir.Value, list[Column]]()
    for column in columns:
        rows.setdefault(column[1], []).append(column)
    length = max(map(len, rows.values()))
    divisor = length + -length % _VECTOR
    several = len(rows) > 1
    pitch = divisor + _VECTOR * several
    values, stores, loads, ordered = list[ir.Value](), list[str](), list[str](), list[Column]()
    for row, own in enumerate(rows.values()):
        dividends = [dividend for dividend, _ in own]
        first = len(columns) + len(values)
        values += [*dividends, *dividends[-1:] * (length - len(own)), own[0][1]]
        stores += _vectors("st.local", row * pitch, first, length, stores=True)
        if several:
            stores.append(f"st.local.f32 [operands+{4 * (row * pitch + divisor)}], ${first + length};")
        loads += _vectors("ld.local", row * pitch, len(ordered), len(own), stores=False)
        ordered += own
    start, end = [f"mov.b32 %single, ${len(columns) + length};"], list[str]()
    if several:
        start = [f"mov.b32 %rows, {len(rows)};", "$divide_row:", '.pragma "nounroll";']
        start.append(f"ld.local.f32 %single, [%at+{4 * divisor}];")
        end = [f"add.s64 %at, %at, {4 * (pitch - length)};", "sub.s32 %rows, %rows, 1;"]
        end += ["setp.ne.s32 %more, %rows, 0;", "@%more bra.uni $divide_row;"]
    lines = [
        f".local .align 16 .b8 operands[{4 * pitch * len(rows)}];",
        ".reg .b64 %at;",
        ".reg .b32 %left, %rows;",
        ".reg .f32 %single;",
        ".reg .f64 %dividend, %divisor, %first, %reciprocal, %quotient, %error;",
        ".reg .pred %more;",
        *stores,
        "mov.b64 %at, operands;",
        *start,
        "cvt.f64.f32 %divisor, %single;",
        "rcp.approx.ftz.f64 %first, %divisor;",
        "neg.f64 %error, %divisor;",
        "fma.rn.f64 %error, %error, %first, 0d3FF0000000000000;",
        "fma.rn.f64 %reciprocal, %error, %error, %error;",
        "fma.rn.f64 %reciprocal, %first, %reciprocal, %first;",
        # The reciprocals of zeros and infinities are exact.
        "setp.nan.f64 %more, %error, %error;",
        "@%more mov.b64 %reciprocal, %first;",
        f"mov.b32 %left, {length};",
        "$divide_next:",
        '.pragma "nounroll";',
        "ld.local.f32 %single, [%at];",
        "cvt.f64.f32 %dividend, %single;",
        "mul.rn.f64 %quotient, %dividend, %reciprocal;",
        "neg.f64 %dividend, %dividend;",
        "fma.rn.f64 %error, %divisor, %quotient, %dividend;",
        "abs.f64 %dividend, %error;",
        # False where the error is zero or not a number: such quotients are exact.
        "setp.gt.f64 %more, %dividend, 0d0000000000000000;",
        "neg.f64 %error, %error;",
        "@%more fma.rn.f64 %quotient, %error, %reciprocal, %quotient;",
        "cvt.rn.f32.f64 %single, %quotient;",
        "st.local.f32 [%at], %single;",
        "add.s64 %at, %at, 4;",
        "sub.s32 %left, %left, 1;",
        "setp.ne.s32 %more, %left, 0;",
        "@%more bra.uni $divide_next;",
        *end,
        *loads,
    ]
    quotients = lowering.b.execute("\n".join(["{", *lines, "}"]), [lowering.type("f32")] * len(columns), *values)
    done = dict(zip(ordered, quotients, strict=True))
    return [done[column] for column in columns]


def _vectors(name: str, offset: int, first: int, count: int, *, stores: bool) -> list[str]:
    """The loads or stores of a row of local memory, whose elements are operands `$first` and those that follow."""
    lines = []
    for start in range(0, count, _VECTOR):
        own = [f"${first + number}" for number in range(start, min(start + _VECTOR, count))]
        vectors = [own] if len(own) == _VECTOR else [[register] for register in own]
        for number, vector in enumerate(vectors):
            width, registers = (f".v{_VECTOR}", f"{{{', '.join(vector)}}}") if len(vector) > 1 else ("", vector[0])
            address = f"[operands+{4 * (offset + start + number)}]"
            values = (address, registers) if stores else (registers, address)
            lines.append(f"{name}{width}.f32 {', '.join(values)};")
    return lines
