"""add, subtract, multiply, divide, fma and sqrt round exact rational results in every rounding mode."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, floor, inf, isinf, isnan, isqrt, nan

import ml_dtypes
import numpy as np
import pytest

from tilec.runtime.interpret.numbers.directed import operate
from tilec.runtime.interpret.numbers.float_format import FORMATS

MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")
PRECISION_AND_MAX_EXPONENT = {"f16": (11, 15), "bf16": (8, 127), "f32": (24, 127), "f64": (53, 1023)}
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def round_rational(exact: Fraction, name: str, mode: str) -> float:
    """Rounds a nonzero rational number as IEEE 754 specifies, in integer arithmetic."""
    precision, max_exponent = PRECISION_AND_MAX_EXPONENT[name]
    sign = 1.0 if exact > 0 else -1.0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent = max(exponent - (Fraction(2) ** exponent > abs(exact)), 1 - max_exponent)
    quantum = Fraction(2) ** (exponent - precision + 1)
    steps = exact / quantum
    below = floor(steps)
    if mode == "nearest_even":
        chosen = round(steps)
    else:
        up = mode == "positive_inf" or (mode == "zero" and exact < 0)
        chosen = below + (up and below != steps)
    value = chosen * quantum
    if abs(value) >= Fraction(2) ** (max_exponent + 1):
        toward = {"nearest_even": False, "zero": True, "negative_inf": exact > 0, "positive_inf": exact < 0}[mode]
        largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** max_exponent
        return copysign(float(largest) if toward else inf, sign)
    return copysign(float(abs(value)), sign)


def zero_sum(terms: list[float], mode: str) -> float:
    signs = {copysign(1.0, term) for term in terms}
    return copysign(0.0, signs.pop()) if len(signs) == 1 else (-0.0 if mode == "negative_inf" else 0.0)


def expected_sum(product: tuple[float, float], addend: float, name: str, mode: str) -> float:
    x, y = product
    if any(map(isnan, (x, y, addend))) or (isinf(x) and y == 0) or (isinf(y) and x == 0):
        return nan
    sign = copysign(1.0, x) * copysign(1.0, y)
    if isinf(x) or isinf(y):
        return nan if addend == -sign * inf else sign * inf
    if isinf(addend):
        return addend
    exact = Fraction(x) * Fraction(y) + Fraction(addend)
    return round_rational(exact, name, mode) if exact else zero_sum([sign, copysign(1.0, addend)], mode)


def expected_product(x: float, y: float, name: str, mode: str) -> float:
    if isnan(x) or isnan(y) or (isinf(x) and y == 0) or (isinf(y) and x == 0):
        return nan
    sign = copysign(1.0, x) * copysign(1.0, y)
    if isinf(x) or isinf(y) or x == 0 or y == 0:
        return copysign(inf if isinf(x) or isinf(y) else 0.0, sign)
    return round_rational(Fraction(x) * Fraction(y), name, mode)


def expected_quotient(x: float, y: float, name: str, mode: str) -> float:
    if isnan(x) or isnan(y) or (isinf(x) and isinf(y)) or (x == 0 and y == 0):
        return nan
    sign = copysign(1.0, x) * copysign(1.0, y)
    if isinf(x) or y == 0:
        return sign * inf
    if isinf(y) or x == 0:
        return copysign(0.0, sign)
    return round_rational(Fraction(x) / Fraction(y), name, mode)


def expected_root(x: float, name: str, mode: str) -> float:
    if isnan(x) or x < 0:
        return nan
    if isinf(x) or x == 0:
        return x
    exact, scale = Fraction(x), 1400
    scaled = exact * 4**scale
    root = isqrt(scaled.numerator)
    # A root that is not exact is strictly between its floor and the next integer, so half a step replaces it.
    return round_rational(Fraction(2 * root + (root * root != scaled), 2 * 2**scale), name, mode)


def samples(name: str, count: int, seed: int) -> np.ndarray:
    """Random values of every exponent, values near 1, subnormal numbers and special values."""
    dtype = np.dtype(DTYPES[name])
    unsigned = np.dtype(f"u{dtype.itemsize}")
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=unsigned)
    near = generator.normal(size=count).astype(dtype)
    tiny = generator.integers(0, 64, count).astype(unsigned)
    edge = np.array([0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 3.0, float(ml_dtypes.finfo(dtype).max)]).astype(dtype)
    pool = np.concatenate([bits.view(dtype), near, tiny.view(dtype), edge])
    return generator.permutation(pool)[:count]


def same(got: np.ndarray, values: list[float]) -> bool:
    got, expected = got.astype(np.float64), np.array(values, np.float64)
    return np.array_equal(got, expected, equal_nan=True) and np.array_equal(
        np.signbit(got)[~np.isnan(expected)], np.signbit(expected)[~np.isnan(expected)]
    )


EXPECTED = {
    "add": lambda x, y, *how: expected_sum((x, 1.0), y, *how),
    "subtract": lambda x, y, *how: expected_sum((x, 1.0), -y, *how),
    "multiply": expected_product,
    "divide": expected_quotient,
    "sqrt": expected_root,
    "fma": lambda x, y, z, *how: expected_sum((x, y), z, *how),
}
ARITY = {"sqrt": 1, "fma": 3}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("operation", EXPECTED)
def test_rounds_once(operation: str, name: str, mode: str) -> None:
    tiles = tuple(samples(name, 300, seed) for seed in range(ARITY.get(operation, 2)))
    with np.errstate(all="ignore"):
        got = operate(operation, tiles, FORMATS[name], mode)
    expected = [EXPECTED[operation](*map(float, row), name, mode) for row in zip(*tiles, strict=True)]
    assert got.dtype == DTYPES[name]
    assert same(got, expected)


@pytest.mark.parametrize("mode", MODES)
def test_fma_does_not_round_the_product(mode: str) -> None:
    # (1 + 2^-23)^2 - 1 = 2^-22 + 2^-46; rounding the product first would drop 2^-46.
    x, one = np.float32(1 + 2.0**-23), np.float32(-1)
    expected = round_rational(Fraction(2) ** -22 + Fraction(2) ** -46, "f32", mode)
    assert float(operate("fma", (x, x, one), FORMATS["f32"], mode)) == expected


def test_flush_replaces_subnormal_operands_and_results_by_signed_zero() -> None:
    a = np.array([1e-40, -1e-40, 2.0**-126, -(2.0**-126)], np.float32)
    b = np.array([0.0, -0.0, -(2.0**-127), 1.5 * 2.0**-126], np.float32)
    got = operate("add", (a, b), FORMATS["f32"], "nearest_even", flush=True)
    assert got.tolist() == [0.0, -0.0, 2.0**-126, 0.0]
    assert np.signbit(got).tolist() == [False, True, False, False]
