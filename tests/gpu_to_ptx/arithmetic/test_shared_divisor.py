"""Quotients by a divisor that many elements of a thread share are those of IEEE 754 division, bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout

ROWS, COLUMNS = 8, 512
LAYOUT = blocked((ROWS, COLUMNS), 4, 1, 4)
THIN = LAYOUT.project(1)
TARGETS = ("sm_100a", "sm_90a")
NEAR_POWERS = np.array([1.0, 1.0 + 2.0**-23, 2.0 - 2.0**-23, 2.0 - 2.0**-22, 1.5, 4 / 3], np.float32)


def divided(target: str) -> str:
    """%y = %x0 / %x1, the divisor of a row."""
    body = f"""%wide = "tile_gpu.broadcast"(%x1) : ({tile("f32", THIN)}) -> {tile("f32", LAYOUT)}
        %y = arith.divf %x0, %wide : {tile("f32", LAYOUT)}"""
    return ptx_of(elementwise(body, [("f32", LAYOUT), ("f32", THIN)], ("f32", LAYOUT), target=target))


def check(ptx: str, dividends: np.ndarray, divisors: np.ndarray, element: type = np.float32) -> None:
    """Compares bits with numpy, which divides in f32 and rounds the quotients to the element."""
    x, s = dividends.astype(np.float32), divisors.astype(np.float32).reshape(-1, 1)
    result = np.empty(x.shape, element)
    run_ptx(ptx, [x, s, result])
    with np.errstate(all="ignore"):
        expected = (x / s).astype(element)
    numbers = ~np.isnan(expected)
    bits = f"u{result.itemsize}"
    assert np.array_equal(numbers, ~np.isnan(result))
    assert np.array_equal(result.view(bits)[numbers], expected.view(bits)[numbers])


def mantissas(random: np.random.Generator, count: int) -> np.ndarray:
    """Numbers in [1, 2), many of them near its ends, where reciprocals have their largest relative errors."""
    found = 1 + random.integers(0, 2**23, count) * 2.0**-23
    near = random.integers(0, 2, count).astype(bool)
    return np.where(near, NEAR_POWERS[random.integers(0, NEAR_POWERS.size, count)], found)


@pytest.mark.parametrize("target", TARGETS)
def test_quotients_are_rounded_once(target: str) -> None:
    """Divisors from 2^-20 to 2^20, dividends from 2^-100 to 2^100 and both zeros."""
    random, ptx = np.random.default_rng(7), divided(target)
    assert "rcp.rn.f32" in ptx and "bra.uni $divide" in ptx
    for _ in range(8):
        x = mantissas(random, ROWS * COLUMNS) * 2.0 ** random.integers(-100, 100, ROWS * COLUMNS)
        x *= random.choice([-1.0, 1.0, 1.0, 0.0], x.size)
        check(ptx, x.reshape(ROWS, COLUMNS), mantissas(random, ROWS) * 2.0 ** random.integers(-20, 20, ROWS))


OUTSIDE = {
    "subnormal dividend": (2.0**-140, 3.0),
    "remainder too small": (2.0**-122, 1.9999999),
    "subnormal quotient": (2.0**-111, 2.0**19 * 1.7),
    "overflow": (1e38, 2.0**-3),
    "infinity": (np.inf, 3.0),
    "not a number": (np.nan, 3.0),
    "negative divisor": (0.0, -3.0),
    "zero divisor": (0.0, 0.0),
    "subnormal divisor": (1.0, 2.0**-140),
    "divisor whose reciprocal is subnormal": (1.0, 2.0**127 * 1.5),
    "infinite divisor": (1.0, np.inf),
    "divisor not a number": (1.0, np.nan),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_operands_outside_of_the_safe_range(name: str) -> None:
    """A row of such operands among others in the range."""
    x, s = np.full((ROWS, COLUMNS), 1.7), np.linspace(1, 9, ROWS)
    dividend, s[5] = OUTSIDE[name]
    x[5] = dividend * mantissas(np.random.default_rng(9), COLUMNS)
    for target in TARGETS:
        check(divided(target), x, s)


def test_divisors_of_few_elements_have_no_reciprocal() -> None:
    body = f"%y = arith.divf %x0, %x1 : {tile('f32', LAYOUT)}"
    assert "rcp" not in ptx_of(elementwise(body, [("f32", LAYOUT)] * 2, ("f32", LAYOUT)))


def test_a_constant_divisor_has_a_reciprocal() -> None:
    own = tile("f32", LAYOUT)
    body = f"%s = arith.constant dense<7.0> : {own}\n%y = arith.divf %x0, %s : {own}"
    x = np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    for target in TARGETS:
        ptx, result = ptx_of(elementwise(body, [("f32", LAYOUT)], ("f32", LAYOUT), target=target)), np.empty_like(x)
        assert "rcp.rn.f32" in ptx
        run_ptx(ptx, [x, result])
        assert np.array_equal(result, x / np.float32(7))


WIDE = blocked((ROWS, 2 * COLUMNS), 4, 1, 4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("outside", [None, *OUTSIDE])
def test_divisions_of_many_unsafe_operands_are_loops(target: str, outside: str | None) -> None:
    """A thread has 64 quotients of two divisors: one test of all, two reciprocals, and one loop that divides."""
    thin = WIDE.project(1)
    body = f"""%wide = "tile_gpu.broadcast"(%x1) : ({tile("f32", thin)}) -> {tile("f32", WIDE)}
        %y = arith.divf %x0, %wide : {tile("f32", WIDE)}"""
    ptx = ptx_of(elementwise(body, [("f32", WIDE), ("f32", thin)], ("f32", WIDE), target=target))
    assert ptx.count("rcp.rn.f32") == 2 and ptx.count("rcp.approx.ftz.f64") == ptx.count("vote.sync.all") == 1
    assert "div.rn" not in ptx
    x = np.random.default_rng(3).standard_normal((ROWS, 2 * COLUMNS)).astype(np.float32)
    s = np.linspace(1, 9, ROWS).astype(np.float32).reshape(ROWS, 1)
    if outside is not None:
        dividend, s[5] = OUTSIDE[outside]
        x[5, :700] = dividend * mantissas(np.random.default_rng(9), 700)
    check(ptx, x, s)


def rounded(target: str, element: str, layout: LinearLayout = LAYOUT) -> str:
    """%y = element(%x0 / %x1), the divisor of a row."""
    thin = layout.project(1)
    body = f"""%wide = "tile_gpu.broadcast"(%x1) : ({tile("f32", thin)}) -> {tile("f32", layout)}
        %q = arith.divf %x0, %wide : {tile("f32", layout)}
        %y = arith.truncf %q : {tile("f32", layout)} to {tile(element, layout)}"""
    return ptx_of(elementwise(body, [("f32", layout), ("f32", thin)], (element, layout), target=target))


TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("target", TARGETS)
def test_quotients_in_f16_have_no_test_of_dividends(target: str) -> None:
    """All dividends have quotients of f16 by halves of the reciprocal."""
    random, ptx = np.random.default_rng(7), rounded(target, "f16")
    assert "rcp.rn.f32" in ptx and "min.u32" not in ptx and "max.NaN" not in ptx and "min.u32" in divided(target)
    for low, high in ((-30, 20), (-149, -90), (-100, 100), (90, 128)):
        x = mantissas(random, ROWS * COLUMNS) * 2.0 ** random.integers(low, high, ROWS * COLUMNS)
        x *= random.choice([-1.0, 1.0, 1.0, 0.0], x.size)
        s = mantissas(random, ROWS) * 2.0 ** random.integers(-20, 20, ROWS)
        check(ptx, x.reshape(ROWS, COLUMNS), s, np.float16)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", TYPES)
def test_the_smallest_dividends_in_16_bits_keep_their_sign(target: str, element: str) -> None:
    """Both zeros and the least subnormal numbers, whose products are rounded, by divisors of all exponents."""
    ptx, random = rounded(target, element), np.random.default_rng(5)
    x = np.resize(np.concatenate([np.arange(256.0), -np.arange(256.0)]) * 2.0**-149, (ROWS, COLUMNS))
    for exponent in range(-20, 20, 3):
        check(ptx, x, mantissas(random, ROWS) * 2.0**exponent, TYPES[element])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("divisor", [2.0, 3.0, 3.0 + 2.0**-22, 7.0, 2.0 - 2.0**-23])
def test_zeros_infinities_and_nan_in_16_bits_are_not_rare(target: str, divisor: float) -> None:
    """They are divided by halves of the reciprocal like other numbers, also where the second half is zero."""
    x = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3e38, 3.4028235e38], (ROWS, COLUMNS))
    for element, numpy_type in TYPES.items():
        check(rounded(target, element), x, np.full(ROWS, divisor), numpy_type)


def hard_quotients(halfway_bits: int, distance: int) -> np.ndarray:
    """Pairs (x, s) of 24 bits whose quotients are beside boundaries of numbers halfway between two of 16 bits.

    x * 2**shift - s * boundary is not zero, and at most `distance`; a boundary is half a last place of f32 from a
    number of `halfway_bits` bits.
    """
    pairs = []
    for halfway in range(1 << halfway_bits - 1, (1 << halfway_bits) + 1):
        for side in (-1, 1):
            boundary = (halfway << 25 - halfway_bits) + side
            if not 2**24 <= boundary < 2**25:
                continue
            for shift in (24, 25):
                inverse = pow(boundary, -1, 1 << shift)
                for k in (k for k in range(-distance, distance + 1) if k):
                    s = -k * inverse % (1 << shift)
                    x = (s * boundary + k) >> shift
                    if 2**23 <= s < 2**24 and 2**23 <= x < 2**24:
                        pairs.append((x, s))
    return np.array(pairs)


MANY = 128


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("element", "halfway_bits", "count"), [("f16", 12, 8501), ("bf16", 9, 1061)])
def test_quotients_beside_boundaries_are_rounded_twice(
    target: str, element: str, halfway_bits: int, count: int
) -> None:
    """All quotients at most three units from a boundary, by divisors whose halves of the reciprocal suffice or not.

    A row has one of them, with several signs and exponents. One divisor is enough for a warp to divide in another way,
    so warps have divisors of one kind, by their last bits, or one. The least dividends of bf16 have subnormal products.
    """
    layout = blocked((MANY, 8), 4, 1, 8)
    x, s = hard_quotients(halfway_bits, 3).T
    assert len(x) == count
    last = 1 << 24 - halfway_bits
    order = np.lexsort((s // (2 * last) % 4, (s + last) % (2 * last)))
    x, s = x[order], s[order]
    reciprocals = np.float32(1) / s.astype(np.float32)
    # The products of 24 bits are exact in f64.
    above = reciprocals.astype(np.float64) * s > 1
    ptx = rounded(target, element, layout)
    scales = 2.0 ** np.array([-23, -24, -20, -28, -23, -21, -25, -26]) * [1, -1, 1, -1, -1, 1, 1, 1]
    for chosen in (above, ~above):
        repeats = 32 if element == "bf16" else 1
        dividends, divisors = (np.repeat(numbers[chosen], repeats) for numbers in (x, s))
        for first in range(0, len(dividends), MANY):
            own = np.resize(np.arange(first, min(first + MANY, len(dividends))), MANY)
            rows = dividends[own][:, None] * scales
            check(ptx, rows, divisors[own] * 2.0**-23, TYPES[element])
            check(ptx, rows * 2.0**-88, divisors[own] * 2.0**-4, TYPES[element])


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("element", TYPES)
def test_operands_outside_of_the_safe_range_in_16_bits(name: str, element: str) -> None:
    x, s = np.full((ROWS, COLUMNS), 1.7), np.linspace(1, 9, ROWS)
    dividend, s[5] = OUTSIDE[name]
    x[5] = dividend * mantissas(np.random.default_rng(9), COLUMNS)
    for target in TARGETS:
        check(rounded(target, element), x, s, TYPES[element])


@pytest.mark.parametrize("other", ["bf16", "f32"])
def test_quotients_that_are_not_only_f16_test_small_dividends(other: str) -> None:
    """A second reader of the quotients, or bf16, has numbers near zero."""
    own, narrow = tile("f32", LAYOUT), tile("bf16" if other == "bf16" else "f16", LAYOUT)
    reader = "" if other == "bf16" else f"%z = arith.addf %q, %q : {own}\n%w = arith.truncf %z : {own} to {narrow}\n"
    sum = "%t" if other == "bf16" else "%w"
    body = f"""%wide = "tile_gpu.broadcast"(%x1) : ({tile("f32", THIN)}) -> {own}
        %q = arith.divf %x0, %wide : {own}
        %t = arith.truncf %q : {own} to {narrow}
        {reader}%y = arith.addf %t, {sum} : {narrow}"""
    element = "bf16" if other == "bf16" else "f16"
    assert "min.u32" in ptx_of(elementwise(body, [("f32", LAYOUT), ("f32", THIN)], (element, LAYOUT)))


@pytest.mark.parametrize("target", TARGETS)
def test_divisions_of_a_block_share_a_reciprocal(target: str) -> None:
    own = tile("f32", LAYOUT)
    body = f"""%wide = "tile_gpu.broadcast"(%x2) : ({tile("f32", THIN)}) -> {own}
        %a = arith.divf %x0, %wide : {own}
        %b = arith.divf %x1, %wide : {own}
        %y = arith.subf %a, %b : {own}"""
    ptx = ptx_of(elementwise(body, [("f32", LAYOUT)] * 2 + [("f32", THIN)], ("f32", LAYOUT), target=target))
    # A thread has elements of two rows.
    assert ptx.count("rcp.rn.f32") == ptx.count("vote.sync.all") == 2
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((ROWS, COLUMNS)).astype(np.float32) for _ in range(2))
    s, result = np.linspace(1, 9, ROWS).astype(np.float32).reshape(ROWS, 1), np.empty_like(a)
    run_ptx(ptx, [a, b, s, result])
    assert np.array_equal(result, a / s - b / s)
