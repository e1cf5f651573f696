"""Vectors of math: mpmath at 400 bits, rounded once.

f16, bf16 and f32 must be the nearest value. f64 may be off by 4 units in the last place, which is what the vector
loops that numpy takes from Intel's SVML are built for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
from float_vectors import NAMES, flushed, value
from rational import FORMATS, INFINITE, NAN, Format, Number, decode, encode
from sample import floats
from vector import tile, vector

mpmath.mp.prec = 400
UNITS_F64 = 4

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "atan2": mpmath.atan2,
    "cos": mpmath.cos,
    "cosh": mpmath.cosh,
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "fpowf": mpmath.power,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sin": mpmath.sin,
    "sinh": mpmath.sinh,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
}
POSITIVE = ("log", "log2", "rsqrt", "fpowf")
FLUSHING = ("exp2", "rsqrt")
# The result of an exponential of a larger number is out of range of every format, and mpmath is slow for it.
_LARGEST = Fraction(2**12)


def real(number: Number) -> Any:
    exact = value(number)
    return mpmath.mpf(exact.numerator) / exact.denominator


def rational(x: Any) -> Fraction:
    sign, mantissa, exponent, _ = mpmath.mpf(x)._mpf_
    return (-1 if sign else 1) * int(mantissa) * Fraction(2) ** exponent


def usable(name: str, form: Format, code: int) -> bool:
    sign, magnitude = decode(form, code)
    if magnitude in (NAN, INFINITE) or magnitude == 0 or magnitude > _LARGEST:
        return False
    return not (sign and name in POSITIVE)


def function(name: str, element: str, flush: bool) -> dict[str, Any]:
    form, meaning = FORMATS[element], FUNCTIONS[name]
    arity = 2 if name in ("atan2", "fpowf") else 1
    columns = []
    for index in range(arity):
        codes = [c for c in floats(form, f"{name}{element}{index}", 400) if usable(name, form, c)]
        subnormal = [3, 1 << form.fraction_bits - 1] if flush else []
        columns.append((subnormal + codes)[:16])
    result = []
    for row in zip(*columns, strict=True):
        numbers = [flushed(form, decode(form, code)) if flush else decode(form, code) for code in row]
        result.append(encode(form, _meaning(meaning, numbers, form, flush)))
    attributes = {"flush_to_zero": True} if flush else {}
    operands = [tile(element, column) for column in columns]
    units = UNITS_F64 if element == "f64" else 0
    return vector(name, operands, [tile(element, result)], attributes, units=units)


def _meaning(meaning: Callable[..., Any], numbers: list[Number], form: Format, flush: bool) -> Number:
    if flush and numbers[0][1] == 0 and meaning is FUNCTIONS["rsqrt"]:
        return numbers[0][0], INFINITE
    exact = rational(meaning(*map(real, numbers)))
    rounded = decode(form, encode(form, (int(exact < 0), abs(exact))))
    return flushed(form, rounded) if flush else (int(exact < 0), abs(exact))


def integral(name: str, element: str) -> dict[str, Any]:
    form = FORMATS[element]
    codes = [code for code in floats(form, f"{name}{element}", 48) if decode(form, code)[1] != NAN][:32]
    result = []
    for code in codes:
        number = decode(form, code)
        if number[1] == INFINITE:
            result.append(code)
            continue
        exact = value(number)
        whole = exact.__floor__() if name == "floor" else exact.__ceil__()
        result.append(encode(form, (number[0], Fraction(abs(whole)))))
    return vector(name, [tile(element, codes)], [tile(element, result)])


# Relative errors of the fast forms of f32, in units in the last place: tanh.approx.f32 2^-11 (PTX ISA); __expf
# 2 + floor(|1.173 x|) (CUDA C++ programming guide, intrinsic functions), here for |x| below 8.
FAST_UNITS = {"tanh": 2**13, "exp": 11}


def fast(name: str) -> dict[str, Any]:
    form = FORMATS["f32"]
    codes = [code for code in floats(form, f"fast{name}", 400) if usable(name, form, code)]
    codes = [code for code in codes if Fraction(1, 2**10) < decode(form, code)[1] < 8][:16]
    numbers = [rational(FUNCTIONS[name](real(decode(form, code)))) for code in codes]
    result = [encode(form, (int(number < 0), abs(number))) for number in numbers]
    attributes = {"rounding_mode": "approx"}
    return vector(name, [tile("f32", codes)], [tile("f32", result)], attributes, units=FAST_UNITS[name])


def product(form: Format, a: Number, b: Number) -> Number:
    return decode(form, encode(form, (a[0] ^ b[0], a[1] * b[1])))


def reciprocal(form: Format, number: Number) -> Number:
    sign, magnitude = number
    return (sign, INFINITE) if magnitude == 0 else decode(form, encode(form, (sign, 1 / magnitude)))


def power(form: Format, base: Number, exponent: int) -> Number:
    """By squaring, each product rounded, from the lowest bit of the exponent on; then one over it for a negative one.

    So LLVM's powi does it, and so NVIDIA's tools compile it.
    """
    result = base if exponent & 1 else (0, Fraction(1))
    rest = abs(exponent) >> 1
    while rest:
        base = product(form, base, base)
        if rest & 1:
            result = product(form, result, base)
        rest >>= 1
    return reciprocal(form, result) if exponent < 0 else result


def integer_power(element: str, width: int) -> dict[str, Any]:
    """The exponent is signed, also an exponent of one bit; types of 16 bits are computed in f32 and then rounded."""
    form = FORMATS[element]
    wide = form if element in ("f32", "f64") else FORMATS["f32"]
    pool = [code for code in floats(form, f"fpowi{element}", 200) if usable("exp", form, code)][:16]
    exponents = [0, 1, 2, 3, 5, -1, -2, -3, 7, 10, -10, 4, 6, -5, 8, 9]
    if width == 1:
        exponents = [-(exponent % 2) for exponent in exponents]
    result = [encode(form, power(wide, decode(form, code), n)) for code, n in zip(pool, exponents, strict=True)]
    operands = [tile(element, pool), tile(f"i{width}", [exponent % (1 << width) for exponent in exponents])]
    return vector("fpowi", operands, [tile(element, result)], units=0)


def vectors() -> Iterator[dict[str, Any]]:
    for element in NAMES:
        for name in FUNCTIONS:
            yield function(name, element, flush=False)
            if element == "f32" and name in FLUSHING:
                yield function(name, element, flush=True)
        for name in ("floor", "ceil"):
            yield integral(name, element)
        for width in (1, 8, 16, 32):
            yield integer_power(element, width)
    for name in FAST_UNITS:
        yield fast(name)
