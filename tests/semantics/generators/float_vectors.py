"""Vectors of float: exact rational results, rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt
from typing import Any

from integer_vectors import COMPARED
from rational import FORMATS, INFINITE, NAN, Format, Number, decode, encode
from sample import floats
from vector import tile, vector

NAMES = ("f16", "bf16", "f32", "f64")
MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")
NOT_A_NUMBER: Number = (0, NAN)


def value(number: Number) -> Fraction:
    """The signed value of a finite number."""
    sign, magnitude = number
    assert isinstance(magnitude, Fraction)
    return -magnitude if sign else magnitude


def number(exact: Fraction, zero_sign: int) -> Number:
    return (int(exact < 0), abs(exact)) if exact else (zero_sign, Fraction(0))


def add(a: Number, b: Number, mode: str) -> Number:
    if NAN in (a[1], b[1]):
        return NOT_A_NUMBER
    if INFINITE in (a[1], b[1]):
        infinite = [x for x in (a, b) if x[1] == INFINITE]
        return NOT_A_NUMBER if len(infinite) == 2 and a[0] != b[0] else infinite[0]
    zero_sign = a[0] if a[0] == b[0] else int(mode == "negative_inf")
    return number(value(a) + value(b), zero_sign)


def negated(a: Number) -> Number:
    return 1 - a[0], a[1]


def multiply(a: Number, b: Number) -> Number:
    sign = a[0] ^ b[0]
    if NAN in (a[1], b[1]) or (INFINITE in (a[1], b[1]) and 0 in (a[1], b[1])):
        return NOT_A_NUMBER
    return (sign, INFINITE) if INFINITE in (a[1], b[1]) else (sign, a[1] * b[1])


def divide(a: Number, b: Number) -> Number:
    sign = a[0] ^ b[0]
    if NAN in (a[1], b[1]) or a[1] == b[1] == INFINITE or a[1] == b[1] == 0:
        return NOT_A_NUMBER
    if a[1] == INFINITE or b[1] == 0:
        return sign, INFINITE
    return sign, Fraction(0) if b[1] == INFINITE else a[1] / b[1]


def root(a: Number) -> Number:
    """A square root to 1200 fraction bits; an inexact root has an additional last bit, which decides the rounding."""
    sign, magnitude = a
    if magnitude == NAN or (sign and magnitude != 0):
        return NOT_A_NUMBER
    if magnitude == INFINITE or magnitude == 0:
        return a
    scaled = magnitude * 4**1200
    whole = isqrt(scaled.numerator // scaled.denominator)
    return 0, Fraction(2 * whole + (whole * whole != scaled), 2 * 2**1200)


def remainder(a: Number, b: Number) -> Number:
    if NAN in (a[1], b[1]) or a[1] == INFINITE or b[1] == 0:
        return NOT_A_NUMBER
    if b[1] == INFINITE:
        return a
    return a[0], a[1] - a[1] // b[1] * b[1]


def extreme(a: Number, b: Number, largest: bool, propagate: bool) -> Number:
    if NAN in (a[1], b[1]):
        return NOT_A_NUMBER if propagate or a[1] == b[1] else (b if a[1] == NAN else a)

    def key(x: Number) -> tuple[Fraction, int]:
        magnitude = Fraction(10) ** 400 if x[1] == INFINITE else x[1]
        return (-magnitude if x[0] else magnitude, -x[0])

    return (max if largest else min)(a, b, key=key)


def flushed(form: Format, x: Number) -> Number:
    smallest = Fraction(2) ** (1 - form.bias)
    return (x[0], Fraction(0)) if isinstance(x[1], Fraction) and x[1] < smallest else x


RESULTS = {
    "addf": lambda mode, a, b: add(a, b, mode),
    "subf": lambda mode, a, b: add(a, negated(b), mode),
    "mulf": lambda mode, a, b: multiply(a, b),
    "divf": lambda mode, a, b: divide(a, b),
    "sqrt": lambda mode, a: root(a),
    "fma": lambda mode, a, b, c: add(multiply(a, b), c, mode),
}
ARITY = {"sqrt": 1, "fma": 3}


def rounded(operation: str, name: str, mode: str, flush: bool) -> dict[str, Any]:
    form = FORMATS[name]
    columns = [floats(form, f"{operation}{name}{index}") for index in range(ARITY.get(operation, 2))]
    result = []
    for row in zip(*columns, strict=True):
        numbers = [flushed(form, decode(form, code)) if flush else decode(form, code) for code in row]
        code = encode(form, RESULTS[operation](mode, *numbers), mode)
        result.append(encode(form, flushed(form, decode(form, code))) if flush else code)
    attributes = {"rounding_mode": mode, **({"flush_to_zero": True} if flush else {})}
    return vector(operation, [tile(name, column) for column in columns], [tile(name, result)], attributes)


def arithmetic() -> Iterator[dict[str, Any]]:
    for operation in RESULTS:
        for name in NAMES:
            for mode in MODES:
                yield rounded(operation, name, mode, flush=False)
                if name == "f32":
                    yield rounded(operation, name, mode, flush=True)


# Maximum error of the fast forms in units in the last place (PTX ISA: div.approx and div.full 2; sqrt.approx has a
# relative error of at most 2^-23).
FAST = (("divf", "approx"), ("divf", "full"), ("sqrt", "approx"))
FAST_UNITS = 2


def fast(operation: str, mode: str, flush: bool) -> dict[str, Any]:
    """Operands within the range of the error bounds; with `flush` some are subnormal."""
    form = FORMATS["f32"]
    columns = []
    for index in range(ARITY.get(operation, 2)):
        normal = [
            code for code in floats(form, f"{operation}{mode}{index}", 400) if within_fast_range(form, code, operation)
        ]
        subnormal = [3, 1 << form.fraction_bits - 1] if flush and not index else []
        columns.append((subnormal + normal)[:32])
    result = []
    for row in zip(*columns, strict=True):
        numbers = [flushed(form, decode(form, code)) if flush else decode(form, code) for code in row]
        result.append(encode(form, RESULTS[operation]("nearest_even", *numbers)))
    attributes = {"rounding_mode": mode, **({"flush_to_zero": True} if flush else {})}
    operands = [tile("f32", column) for column in columns]
    return vector(operation, operands, [tile("f32", result)], attributes, units=FAST_UNITS)


def within_fast_range(form: Format, code: int, operation: str) -> bool:
    sign, magnitude = decode(form, code)
    if not isinstance(magnitude, Fraction) or sign and operation == "sqrt":
        return False
    return Fraction(2) ** -40 < magnitude < Fraction(2) ** 40


def ties() -> Iterator[dict[str, Any]]:
    """(1 + k ulp) * 1.5 + (+-1, 0) * 2^-shift: products at or next to the midpoint of two values; sums that cancel."""
    for name in NAMES:
        form = FORMATS[name]
        ulp = Fraction(2) ** -form.fraction_bits
        rows = [
            ((0, 1 + k * ulp), (sign, Fraction(3, 2)), (int(tip < 0), Fraction(abs(tip), 2**shift)))
            for k in (1, 3)
            for sign in (0, 1)
            for tip in (-1, 0, 1)
            for shift in (form.fraction_bits + 1, min(form.bias - 2, 400))
        ]
        rows += [((0, Fraction(1)), (sign, Fraction(3, 2)), (1 - sign, Fraction(3, 2))) for sign in (0, 1)]
        rows = (rows * 2)[:32]
        columns = [tile(name, [encode(form, number) for number in column]) for column in zip(*rows, strict=True)]
        for mode in MODES:
            result = [encode(form, add(multiply(a, b), c, mode), mode) for a, b, c in rows]
            yield vector("fma", columns, [tile(name, result)], {"rounding_mode": mode})


def pairs(name: str, seed: str) -> tuple[list[int], list[int], list[tuple[Number, Number]]]:
    form = FORMATS[name]
    a, b = floats(form, f"{seed}{name}0"), floats(form, f"{seed}{name}1")
    # Every fourth pair is equal, every fourth differs only in the sign.
    flip = 1 << form.bits - 1
    b = [x if at % 4 == 0 else x ^ flip if at % 4 == 1 else y for at, (x, y) in enumerate(zip(a, b, strict=True))]
    return a, b, [(decode(form, x), decode(form, y)) for x, y in zip(a, b, strict=True)]


def extremes(name: str) -> Iterator[dict[str, Any]]:
    form = FORMATS[name]
    a, b, numbers = pairs(name, "chosen")
    operands = [tile(name, a), tile(name, b)]
    yield vector("remf", operands, [tile(name, [encode(form, remainder(x, y)) for x, y in numbers])])
    for operation in ("maxf", "minf"):
        for propagate in (False, True):
            for flush in (False, True) if name == "f32" else (False,):
                read = [tuple(flushed(form, x) if flush else x for x in pair) for pair in numbers]
                codes = [encode(form, extreme(x, y, operation == "maxf", propagate)) for x, y in read]
                flags = {**({"propagate_nan": True} if propagate else {}), **({"flush_to_zero": True} if flush else {})}
                yield vector(operation, operands, [tile(name, codes)], flags)


def compared(name: str) -> Iterator[dict[str, Any]]:
    a, b, numbers = pairs(name, "compared")
    far = Fraction(10) ** 400

    def key(x: Number) -> Fraction:
        magnitude = far if x[1] == INFINITE else x[1]
        return -magnitude if x[0] else magnitude

    for predicate, compare in COMPARED.items():
        for ordering in ("ordered", "unordered"):
            with_nan = int(ordering == "unordered")
            bits = [with_nan if NAN in (x[1], y[1]) else int(compare(key(x), key(y))) for x, y in numbers]
            attributes = {"comparison_predicate": predicate, "comparison_ordering": ordering}
            yield vector("cmpf", [tile(name, a), tile(name, b)], [tile("i1", bits)], attributes)


def signs(name: str) -> Iterator[dict[str, Any]]:
    form = FORMATS[name]
    a = [code for code in floats(form, f"signs{name}", 40) if decode(form, code)[1] != NAN][:16]
    flip = 1 << form.bits - 1
    yield vector("negf", [tile(name, a)], [tile(name, [code ^ flip for code in a])])
    yield vector("absf", [tile(name, a)], [tile(name, [code & ~flip for code in a])])


def vectors() -> Iterator[dict[str, Any]]:
    yield from arithmetic()
    yield from ties()
    for operation, mode in FAST:
        for flush in (False, True):
            yield fast(operation, mode, flush)
    for name in NAMES:
        yield from extremes(name)
        yield from compared(name)
        yield from signs(name)
