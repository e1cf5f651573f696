"""Each arith operation on every element type agrees with numpy, including the limits of the integer types."""

from __future__ import annotations

import random
import re

import ml_dtypes
import numpy as np
import pytest
from simulated import elementwise, ptx_of, run, tile

from tilec.errors import UnsupportedError
from tilec.lowering.layout.blocked import blocked

LAYOUT = blocked((256,), 4, 0, 2)
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def integers(dtype, seed: int) -> np.ndarray:
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, -1, -2, -7, info.min, info.min + 1, info.max, info.max - 1]
    rest = np.random.default_rng(seed).integers(info.min, info.max, 256 - len(edges), dtype=dtype, endpoint=True)
    return np.random.default_rng(seed + 1).permutation(np.concatenate([np.array(edges, dtype), rest]))


def floats(dtype, seed: int) -> np.ndarray:
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, 1e-4])
    rest = np.random.default_rng(seed).normal(0, 10, 256 - len(edges))
    return np.random.default_rng(seed + 1).permutation(np.concatenate([edges, rest])).astype(dtype)


def binary(
    operation: str, element: str, a: np.ndarray, b: np.ndarray, result: str | None = None, suffix: str = ""
) -> np.ndarray:
    own, out = tile(element, LAYOUT), result or element
    body = f"%y = {operation} %x0, %x1 : {own}{suffix}"
    y = np.zeros(256, np.bool_ if out == "i1" else a.dtype)
    run(elementwise(body, [(element, LAYOUT)] * 2, (out, LAYOUT)), [a, b, y])
    return y


def unsigned(a: np.ndarray) -> np.ndarray:
    return a.view(a.dtype.str.replace("i", "u"))


def exact(a: np.ndarray) -> list[int]:
    return [int(x) for x in a]


def wrapped(values: list[int], dtype) -> np.ndarray:
    bits = np.iinfo(dtype).bits
    return np.array([(v + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for v in values], dtype)


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


WRAPPING = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.maxsi": max,
    "arith.minsi": min,
}
DIVIDING = {
    "arith.divsi": toward_zero,
    "arith.remsi": lambda a, b: a - b * toward_zero(a, b),
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
}
UNSIGNED = {
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.maxui": max,
    "arith.minui": min,
}


@pytest.mark.parametrize("operation", [*WRAPPING, *DIVIDING])
@pytest.mark.parametrize("element", INTEGERS)
def test_signed_integers(operation, element):
    dtype = INTEGERS[element]
    a, b = integers(dtype, 1), integers(dtype, 3)
    if operation in DIVIDING:
        b[b == 0] = 3
        # The quotient min / -1 overflows, which is undefined.
        a[(a == np.iinfo(dtype).min) & (b == -1)] = 5
    expected = [{**WRAPPING, **DIVIDING}[operation](x, y) for x, y in zip(exact(a), exact(b), strict=True)]
    assert np.array_equal(binary(operation, element, a, b), wrapped(expected, dtype))


@pytest.mark.parametrize("operation", UNSIGNED)
@pytest.mark.parametrize("element", INTEGERS)
def test_unsigned_integers(operation, element):
    dtype = INTEGERS[element]
    a, b = integers(dtype, 5), integers(dtype, 7)
    b[b == 0] = 3
    expected = [UNSIGNED[operation](x, y) for x, y in zip(exact(unsigned(a)), exact(unsigned(b)), strict=True)]
    assert np.array_equal(binary(operation, element, a, b), wrapped(expected, dtype))


@pytest.mark.parametrize("operation", ["shli", "shrsi", "shrui"])
@pytest.mark.parametrize("element", INTEGERS)
def test_shifts(operation, element):
    dtype = INTEGERS[element]
    bits = np.iinfo(dtype).bits
    a, b = integers(dtype, 9), (np.arange(256) % bits).astype(dtype)
    source = exact(unsigned(a) if operation == "shrui" else a)
    expected = [x << y if operation == "shli" else x >> y for x, y in zip(source, exact(b), strict=True)]
    assert np.array_equal(binary(f"arith.{operation}", element, a, b), wrapped(expected, dtype))


DIVISORS = [1, 2, 3, 7, 10, 64, 641, 2**32 - 1, 2**32 + 1, 2**62 + 1, 2**63 - 1]
WIDE_DIVISORS = {
    **dict.fromkeys(("divui", "remui", "ceildivui"), [*DIVISORS, 2**63, 2**63 + 1, 2**64 - 1]),
    **dict.fromkeys(("divsi", "remsi", "floordivsi", "ceildivsi"), [*DIVISORS, -1, -2, -7, -(2**31), -(2**63)]),
}


@pytest.mark.parametrize(
    ("operation", "divisor"), [(name, divisor) for name, divisors in WIDE_DIVISORS.items() for divisor in divisors]
)
def test_division_of_64_bits_by_a_constant(operation, divisor):
    """Dividends at multiples of the divisor and beside them, at the ends of the range, and random ones."""
    low, high = (-(2**63), 2**63 - 1) if operation.endswith("si") else (0, 2**64 - 1)
    values = {low, low + 1, -1, 0, 1, 63, 64, 2**32, high - 1, high}
    values |= {times * divisor + step for times in (1, 2, 1000, high // divisor, low // divisor) for step in (-1, 0, 1)}
    # The quotient min / -1 overflows, which is undefined.
    values = [value for value in values if low <= value <= high and not (value == low < 0 and divisor == -1)]
    generator = random.Random(divisor)
    values += [generator.randint(low + 1, high) for _ in range(256 - len(values))]
    a, y, own = wrapped(values, np.int64), np.zeros(256, np.int64), tile("i64", LAYOUT)
    (signed,) = wrapped([divisor], np.int64)
    body = f"%d = arith.constant dense<{signed}> : {own}\n%y = arith.{operation} %x0, %d : {own}"
    text = elementwise(body, [("i64", LAYOUT)], ("i64", LAYOUT))
    run(text, [a, y])
    expected = [{**UNSIGNED, **DIVIDING}[f"arith.{operation}"](value, divisor) for value in values]
    assert np.array_equal(y, wrapped(expected, np.int64))
    # ptxas calls a function for a division in 64 bits.
    assert not re.search(r"(div|rem)\.[us]64", ptx_of(text))


@pytest.mark.parametrize("operation", ["floordivsi", "ceildivsi"])
@pytest.mark.parametrize("element", ["i16", "i32", "i64"])
@pytest.mark.parametrize("divisor", [1, 2, 64, 100, -8])
def test_division_by_a_constant(operation, element, divisor):
    dtype = INTEGERS[element]
    a = integers(dtype, 33)
    own = tile(element, LAYOUT)
    body = f"%d = arith.constant dense<{divisor}> : {own}\n%y = arith.{operation} %x0, %d : {own}"
    y = np.zeros(256, dtype)
    text = elementwise(body, [(element, LAYOUT)], (element, LAYOUT))
    run(text, [a, y])
    expected = [x // divisor if operation == "floordivsi" else -(-x // divisor) for x in exact(a)]
    assert np.array_equal(y, wrapped(expected, dtype))
    assert element == "i16" or ("div.s" in ptx_of(text)) == (element == "i32" and divisor in (100, -8))


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("predicate", ["eq", "ne", *(s + c for s in "su" for c in ("lt", "le", "gt", "ge"))])
@pytest.mark.parametrize("element", INTEGERS)
def test_integer_comparisons(predicate, element):
    a, b = integers(INTEGERS[element], 11), integers(INTEGERS[element], 13)
    b[::5] = a[::5]
    compare = COMPARISONS[predicate[-2:]]
    expected = compare(unsigned(a), unsigned(b)) if predicate[0] == "u" else compare(a, b)
    assert np.array_equal(binary(f"arith.cmpi {predicate},", element, a, b, "i1"), expected)


@pytest.mark.parametrize(
    "predicate", ["false", "true", "ord", "uno", *(o + c for o in "ou" for c in ("eq", "gt", "ge", "lt", "le", "ne"))]
)
@pytest.mark.parametrize("element", FLOATS)
def test_float_comparisons(predicate, element):
    a, b = floats(FLOATS[element], 15), floats(FLOATS[element], 17)
    b[::5] = a[::5]
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("false", "true"):
        expected = np.full(256, predicate == "true")
    elif predicate in ("ord", "uno"):
        expected = unordered if predicate == "uno" else ~unordered
    else:
        ordered = COMPARISONS[predicate[1:]](a.astype(np.float64), b.astype(np.float64)) & ~unordered
        expected = ordered | unordered if predicate[0] == "u" else ordered
    assert np.array_equal(binary(f"arith.cmpf {predicate},", element, a, b, "i1"), expected)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "ult", "sge", "uge"])
def test_predicate_comparisons(predicate):
    a, b = np.arange(256) % 2 == 1, np.arange(256) % 4 >= 2
    ordered = [(-1 if x else 0) if predicate[0] == "s" else int(x) for x in (False, True)]
    values = [np.array(ordered)[x.astype(int)] for x in (a, b)]
    assert np.array_equal(binary(f"arith.cmpi {predicate},", "i1", a, b, "i1"), COMPARISONS[predicate[-2:]](*values))


@pytest.mark.parametrize("operation", ["addi", "subi", "muli", "andi", "ori", "xori"])
def test_predicate_arithmetic(operation):
    a, b = np.arange(256) % 2 == 1, np.arange(256) % 4 >= 2
    expected = {"muli": a & b, "andi": a & b, "ori": a | b}.get(operation, a ^ b)
    assert np.array_equal(binary(f"arith.{operation}", "i1", a, b), expected)


ONE_BIT = {
    "maxsi": max,
    "minsi": min,
    "divsi": toward_zero,
    "remsi": lambda a, b: 0,
    "floordivsi": lambda a, b: a // b,
    "maxui": max,
    "divui": lambda a, b: a // b,
    "shli": lambda a, b: a << b,
    "shrui": lambda a, b: a >> b,
}


@pytest.mark.parametrize("operation", ONE_BIT)
def test_one_bit_integers(operation):
    """True is -1 if signed and 1 if unsigned; division by false is undefined, so all divisors are true."""
    a, b = np.arange(256) % 2 == 1, np.arange(256) % 4 >= 2
    if "div" in operation or "rem" in operation:
        b[:] = True
    truth = -1 if operation.endswith("si") else 1
    pairs = [(truth * int(x), truth * int(y)) for x, y in zip(a, b, strict=True)]
    expected = [ONE_BIT[operation](x, abs(y) if "sh" in operation else y) & 1 for x, y in pairs]
    assert np.array_equal(binary(f"arith.{operation}", "i1", a, b), np.array(expected, bool))


FLOAT_OPERATIONS = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}


@pytest.mark.parametrize("operation", FLOAT_OPERATIONS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float_arithmetic_rounds_once(operation, element):
    dtype = FLOATS[element]
    a, b = floats(dtype, 19), floats(dtype, 21)
    # Rounding first to f64 and then to a narrower type equals rounding once (2 p + 2 <= 53).
    expected = FLOAT_OPERATIONS[operation](a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    assert np.array_equal(binary(f"arith.{operation}", element, a, b), expected, equal_nan=True)


EXTREMES = {"maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin}


@pytest.mark.parametrize("operation", EXTREMES)
@pytest.mark.parametrize("element", FLOATS)
def test_minimum_and_maximum_with_nan(operation, element):
    dtype = FLOATS[element]
    a, b = floats(dtype, 23), floats(dtype, 25)
    expected = EXTREMES[operation](a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    assert np.array_equal(binary(f"arith.{operation}", element, a, b), expected, equal_nan=True)


@pytest.mark.parametrize("element", FLOATS)
def test_negation_flips_the_sign_of_every_number(element):
    a = floats(FLOATS[element], 27)
    y = np.zeros_like(a)
    run(elementwise(f"%y = arith.negf %x0 : {tile(element, LAYOUT)}", [(element, LAYOUT)], (element, LAYOUT)), [a, y])
    number = ~np.isnan(a)
    assert np.array_equal(y, -a, equal_nan=True) and np.array_equal(np.signbit(y[number]), ~np.signbit(a[number]))


@pytest.mark.parametrize("element", ["i1", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("scalar", [False, True])
def test_select(element, scalar):
    dtype = {"i1": np.bool_, **INTEGERS, **FLOATS}[element]
    a, b = np.arange(256).astype(dtype), (np.arange(256) % 3).astype(dtype)
    own, choice = tile(element, LAYOUT), tile("i1", LAYOUT)
    c = np.arange(256) % 5 < 2
    if scalar:
        c[:] = True
        body = f"%t = arith.constant true\n%y = arith.select %t, %x0, %x1 : {own}"
    else:
        body = f"%y = arith.select %x2, %x0, %x1 : {choice}, {own}"
    y = np.zeros(256, dtype)
    inputs = [(element, LAYOUT), (element, LAYOUT), ("i1", LAYOUT)]
    run(elementwise(body, inputs, (element, LAYOUT)), [a, b, c, y])
    assert np.array_equal(y, np.where(c, a, b))


def test_products_and_sums_are_not_contracted():
    """ptxas may contract mul and add without a rounding modifier into fma, but not mul.rn and add.rn."""
    own = tile("f32", LAYOUT)
    body = f"%p = arith.mulf %x0, %x0 : {own}\n%y = arith.addf %p, %x1 : {own}"
    text = ptx_of(elementwise(body, [("f32", LAYOUT)] * 2, ("f32", LAYOUT)))
    assert "mul.rn.f32" in text and "add.rn.f32" in text


def test_constants_become_immediates():
    own = tile("i32", LAYOUT)
    body = f"%c = arith.constant dense<-5> : {own}\n%y = arith.addi %x0, %c : {own}"
    assert "-5;" in ptx_of(elementwise(body, [("i32", LAYOUT)], ("i32", LAYOUT)))


def test_error_names_an_operation_without_lowering():
    own = tile("f32", LAYOUT)
    with pytest.raises(UnsupportedError, match="'math.erf' has no lowering to PTX"):
        ptx_of(elementwise(f"%y = math.erf %x0 : {own}", [("f32", LAYOUT)], ("f32", LAYOUT)))


@pytest.mark.parametrize("element", INTEGERS)
def test_extended_multiply_returns_both_halves(element):
    dtype = INTEGERS[element]
    bits = np.iinfo(dtype).bits
    a, b = integers(dtype, 29), integers(dtype, 31)
    own = tile(element, LAYOUT)
    products = [x * y for x, y in zip(exact(unsigned(a)), exact(unsigned(b)), strict=True)]
    for half, expected in enumerate([products, [product >> bits for product in products]]):
        body = f"%p:2 = arith.mului_extended %x0, %x1 : {own}\n%y = arith.addi %p#{half}, %p#{half} : {own}"
        y = np.zeros(256, dtype)
        run(elementwise(body, [(element, LAYOUT)] * 2, (element, LAYOUT)), [a, b, y])
        assert np.array_equal(y, wrapped([2 * value for value in expected], dtype))


EXTENDED = [
    ("arith.extsi", "arith.extsi", "mul.wide.s32"),
    ("arith.extui", "arith.extui", "mul.wide.u32"),
    ("arith.extsi", "arith.extui", "mul.lo.s64"),
]


@pytest.mark.parametrize(("left", "right", "instruction"), EXTENDED)
def test_product_of_extended_numbers_is_one_instruction(left, right, instruction):
    narrow, own = tile("i32", LAYOUT), tile("i64", LAYOUT)
    body = f"%a = {left} %x0 : {narrow} to {own}\n%b = {right} %x1 : {narrow} to {own}\n%y = arith.muli %a, %b : {own}"
    text = elementwise(body, [("i32", LAYOUT)] * 2, ("i64", LAYOUT))
    a, b, y = integers(np.int32, 41), integers(np.int32, 43), np.zeros(256, np.int64)
    run(text, [a, b, y])
    factors = [exact(x if name == "arith.extsi" else unsigned(x)) for x, name in ((a, left), (b, right))]
    assert np.array_equal(y, wrapped([p * q for p, q in zip(*factors, strict=True)], np.int64))
    assert set(re.findall(r"mul\S*64|mul.wide\S*", ptx_of(text))) == {instruction}


@pytest.mark.parametrize("extension", ["arith.extsi", "arith.extui"])
@pytest.mark.parametrize("number", [1, 3, 4, -4, 2**31 - 1, 2**31, 2**32 - 1, 2**32, -(2**31), 2**62, -(2**63)])
def test_product_of_an_extended_number_and_a_constant(extension, number):
    own = tile("i64", LAYOUT)
    body = (
        f"%a = {extension} %x0 : {tile('i32', LAYOUT)} to {own}\n"
        f"%c = arith.constant dense<{number}> : {own}\n%y = arith.muli %a, %c : {own}"
    )
    a, y = integers(np.int32, 47), np.zeros(256, np.int64)
    run(elementwise(body, [("i32", LAYOUT)], ("i64", LAYOUT)), [a, y])
    values = exact(a if extension == "arith.extsi" else unsigned(a))
    assert np.array_equal(y, wrapped([value * number for value in values], np.int64))


@pytest.mark.parametrize("number", [1, 2, 8, 12, -8, 2**40, -(2**63)])
def test_product_of_64_bits_and_a_constant(number):
    own = tile("i64", LAYOUT)
    body = f"%c = arith.constant dense<{number}> : {own}\n%y = arith.muli %x0, %c : {own}"
    a, y = integers(np.int64, 53), np.zeros(256, np.int64)
    text = elementwise(body, [("i64", LAYOUT)], ("i64", LAYOUT))
    run(text, [a, y])
    assert np.array_equal(y, wrapped([value * number for value in exact(a)], np.int64))
    assert ("mul.lo.s64" in ptx_of(text)) == (number in (12, -8, -(2**63)))


# A median, and an extreme of an extreme that is selected.
MEDIAN = """%low = arith.min{s}i %x0, %x1 : {t}
    %high = arith.max{s}i %x0, %x1 : {t}
    %middle = arith.min{s}i %high, %x2 : {t}
    %y = arith.max{s}i %low, %middle : {t}"""
SELECTED = """%low = arith.min{s}i %x0, %x1 : {t}
    %high = arith.max{s}i %x0, %x1 : {t}
    %p = arith.cmpi {s}lt, %x2, %x0 : {t}
    %chosen = arith.select %p, %low, %high : {m}, {t}
    %y = arith.max{s}i %chosen, %x2 : {t}"""


def median(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.sort([a, b, c], axis=0)[1]


def selected(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.maximum(np.where(c < a, np.minimum(a, b), np.maximum(a, b)), c)


@pytest.mark.parametrize(("body", "exact_values"), [(MEDIAN, median), (SELECTED, selected)])
@pytest.mark.parametrize(("sign", "dtype", "extension"), [("s", np.int8, "cvt.s16.s8"), ("u", np.uint8, "and.b16")])
def test_extremes_of_extended_bytes_are_extended(body, exact_values, sign, dtype, extension):
    """The three bytes of each of a thread's two elements are extended; no extreme of them is extended again."""
    own, mask = tile("i8", LAYOUT), tile("i1", LAYOUT)
    text = elementwise(body.format(s=sign, t=own, m=mask), [("i8", LAYOUT)] * 3, ("i8", LAYOUT))
    given = [integers(np.int8, seed).view(dtype) for seed in (50, 51, 52)]
    result = np.zeros(256, dtype)
    run(text, [*given, result])
    assert np.array_equal(result, exact_values(*given))
    sources = {source for _, source in re.findall(rf"{re.escape(extension)} (%h\d+), (%h\d+)", ptx_of(text))}
    assert len(sources) == 6


def test_sums_of_extended_bytes_are_extended_again():
    own = tile("i8", LAYOUT)
    body = f"""%a = arith.maxui %x0, %x1 : {own}
    %b = arith.addi %a, %x1 : {own}
    %y = arith.minui %b, %a : {own}"""
    a, b = integers(np.int8, 53).view(np.uint8), integers(np.int8, 54).view(np.uint8)
    result = np.zeros(256, np.uint8)
    run(elementwise(body, [("i8", LAYOUT)] * 2, ("i8", LAYOUT)), [a, b, result])
    largest = np.maximum(a, b)
    assert np.array_equal(result, np.minimum(largest + b, largest))
