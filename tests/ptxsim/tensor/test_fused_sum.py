"""Tensor core sums align terms to the largest exponent, truncate them to 25 fraction bits, add, and convert once.

The reference computes this in exact rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from truncated_sums import exponent_of, to_f32, toward_zero

from tilec.runtime.ptxsim import _native as ptxsim

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
SMALLEST_EXPONENT = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}


def reference(format_name, a, b, c, fraction_bits, result_bits):
    result = np.empty_like(c)
    for m, n in np.ndindex(c.shape):
        terms = [(Fraction(float(c[m, n])), exponent_of(Fraction(float(c[m, n])), -126))]
        for x, y in zip(a[m], b[:, n], strict=True):
            x, y = Fraction(float(x)), Fraction(float(y))
            smallest = SMALLEST_EXPONENT[format_name]
            terms.append((x * y, exponent_of(x, smallest) + exponent_of(y, smallest)))
        largest = max((exponent for value, exponent in terms if value), default=0)
        unit = Fraction(2) ** (largest - fraction_bits)
        result[m, n] = to_f32(sum(toward_zero(value, unit) for value, _ in terms), result_bits)
    return result


def bits(array) -> list[int]:
    return array.view(BITS[array.dtype.itemsize]).ravel().tolist()


def simulate(format_name, a, b, c, **rule):
    (rows, depth), columns = a.shape, b.shape[1]
    result = ptxsim.matrix_multiply_add(format_name, "f32", bits(a), bits(b), bits(c), rows, columns, depth, **rule)
    return np.array(result, np.uint32).view(np.float32).reshape(rows, columns)


def spread(rng, shape, dtype, span):
    """Random numbers with exponents of about -span to span, and some zeros."""
    values = rng.standard_normal(shape) * np.exp2(rng.uniform(-span, span, shape)) * (rng.random(shape) > 0.1)
    return values.astype(dtype)


@pytest.mark.parametrize("span", [0, 6, 14])
@pytest.mark.parametrize("format_name", ["f16", "bf16"])
def test_sixteen_bit_formats(format_name, span):
    rng = np.random.default_rng(span)
    a = spread(rng, (3, 16), DTYPES[format_name], span)
    b = spread(rng, (16, 18), DTYPES[format_name], span)
    c = spread(rng, (3, 18), np.float32, span)
    if format_name == "f16":
        a, b = np.clip(a, -60000, 60000), np.clip(b, -60000, 60000)
    np.testing.assert_array_equal(simulate(format_name, a, b, c), reference(format_name, a, b, c, 25, 23))


def test_tf32_drops_the_low_13_bits():
    rng = np.random.default_rng(1)
    a, b = spread(rng, (2, 8), np.float32, 8), spread(rng, (8, 17), np.float32, 8)
    c = spread(rng, (2, 17), np.float32, 8)
    truncated = [(x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in (a, b)]
    np.testing.assert_array_equal(simulate("tf32", a, b, c), reference("tf32", *truncated, c, 25, 23))


@pytest.mark.parametrize("format_name", ["e4m3", "e5m2"])
@pytest.mark.parametrize(("kept", "result"), [(25, 23), (13, 13)])
def test_eight_bit_formats(format_name, kept, result):
    rng = np.random.default_rng(kept)
    a, b = (spread(rng, shape, DTYPES[format_name], 3) for shape in [(2, 32), (32, 17)])
    c = spread(rng, (2, 17), np.float32, 3)
    got = simulate(format_name, a, b, c, fraction_bits=kept, result_fraction_bits=result)
    np.testing.assert_array_equal(got, reference(format_name, a, b, c, kept, result))


def one_sum(a, b, c):
    a, b = np.array([a], np.float16), np.array([b], np.float16).T
    return simulate("f16", a, b, np.array([[c]], np.float32))[0, 0]


def test_small_terms_are_truncated_to_25_fraction_bits():
    # 2**-25 is kept and 2**-26 is truncated; then the sum is truncated to f32.
    assert one_sum([1, 2**-12, 2**-12], [1, 2**-13, 2**-14], 0) == 1
    assert one_sum([1, 2**-12, 2**-12], [1, 2**-13, 2**-13], -1) == 2**-24
    assert one_sum([1, 2**-12, 2**-12], [1, 2**-14, 2**-14], -1) == 0


def test_f32_result_is_truncated():
    # 1 + 2**-24 + 2**-25 is nearer to 1 + 2**-23 than to 1.
    assert one_sum([1, 2**-12, 2**-12], [1, 2**-12, 2**-13], 0) == 1


def test_sum_of_the_largest_products_does_not_overflow():
    a = np.full((1, 16), 65504, np.float16)
    expected = reference("f16", a, a.T, np.zeros((1, 1), np.float32), 25, 23)
    assert simulate("f16", a, a.T, np.zeros((1, 1), np.float32)) == expected


@pytest.mark.parametrize(
    ("a", "c", "expected"),
    [
        (np.inf, 0, 0x7F800000),
        (-np.inf, 0, 0xFF800000),
        (np.inf, -np.inf, 0x7FFFFFFF),
        (np.nan, 0, 0x7FFFFFFF),
        (1, np.inf, 0x7F800000),
    ],
)
def test_infinities_and_nan(a, c, expected):
    got = simulate("f16", np.array([[a, 1]], np.float16), np.ones((2, 2), np.float16), np.array([[c, c]], np.float32))
    assert got.view(np.uint32).tolist() == [[expected, expected]]


def test_f16_result_is_rounded_to_nearest_even():
    ones = bits(np.array([1, 1], np.float16))

    def add(x, y):
        return ptxsim.matrix_multiply_add("f16", "f16", bits(np.array([x, y], np.float16)), ones, [0], 1, 1, 2)[0]

    assert add(1, 2**-11) == np.float16(1).view(np.uint16)  # a tie, to even
    assert add(1 + 2**-10, 2**-11) == np.float16(1 + 2**-9).view(np.uint16)
    assert add(65504, 16) == 0x7C00
    assert add(65504, 15) == 0x7BFF
