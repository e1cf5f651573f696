"""Quotients by a divisor that many elements of a thread share are those of IEEE 754 division, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.blocked import blocked

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
    x, s = dividends.astype(np.float32), divisors.astype(np.float32).reshape(ROWS, 1)
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
    assert ptx.count("rcp.rn.f32") == 2 and ptx.count("div.rn.f32") == ptx.count("vote.sync.all") == 1
    x = np.random.default_rng(3).standard_normal((ROWS, 2 * COLUMNS)).astype(np.float32)
    s = np.linspace(1, 9, ROWS).astype(np.float32).reshape(ROWS, 1)
    if outside is not None:
        dividend, s[5] = OUTSIDE[outside]
        x[5, :700] = dividend * mantissas(np.random.default_rng(9), 700)
    check(ptx, x, s)


def divided_to_f16(target: str) -> str:
    """%h = f16(%x0 / %x1), the divisor of a row."""
    body = f"""%wide = "tile_gpu.broadcast"(%x1) : ({tile("f32", THIN)}) -> {tile("f32", LAYOUT)}
        %q = arith.divf %x0, %wide : {tile("f32", LAYOUT)}
        %y = arith.truncf %q : {tile("f32", LAYOUT)} to {tile("f16", LAYOUT)}"""
    return ptx_of(elementwise(body, [("f32", LAYOUT), ("f32", THIN)], ("f16", LAYOUT), target=target))


@pytest.mark.parametrize("target", TARGETS)
def test_quotients_in_f16_have_no_test_of_small_dividends(target: str) -> None:
    """Dividends below 2^-100 have wrong remainders, but their quotients are zeros of f16, of the right sign."""
    random, ptx = np.random.default_rng(7), divided_to_f16(target)
    assert "rcp.rn.f32" in ptx and "min.u32" not in ptx and "min.u32" in divided(target)
    for low, high in ((-30, 20), (-149, -90), (-100, 100)):
        x = mantissas(random, ROWS * COLUMNS) * 2.0 ** random.integers(low, high, ROWS * COLUMNS)
        x *= random.choice([-1.0, 1.0, 1.0, 0.0], x.size)
        s = mantissas(random, ROWS) * 2.0 ** random.integers(-20, 20, ROWS)
        check(ptx, x.reshape(ROWS, COLUMNS), s, np.float16)


@pytest.mark.parametrize("target", TARGETS)
def test_the_smallest_dividends_in_f16_keep_their_sign(target: str) -> None:
    """Both zeros and the least subnormal numbers, whose remainders are rounded, by divisors of all exponents."""
    ptx, random = divided_to_f16(target), np.random.default_rng(5)
    x = np.resize(np.concatenate([np.arange(256.0), -np.arange(256.0)]) * 2.0**-149, (ROWS, COLUMNS))
    for exponent in range(-20, 20, 3):
        check(ptx, x, mantissas(random, ROWS) * 2.0**exponent, np.float16)


@pytest.mark.parametrize("name", OUTSIDE)
def test_operands_outside_of_the_safe_range_in_f16(name: str) -> None:
    x, s = np.full((ROWS, COLUMNS), 1.7), np.linspace(1, 9, ROWS)
    dividend, s[5] = OUTSIDE[name]
    x[5] = dividend * mantissas(np.random.default_rng(9), COLUMNS)
    for target in TARGETS:
        check(divided_to_f16(target), x, s, np.float16)


@pytest.mark.parametrize("other", ["bf16", "f32"])
def test_quotients_that_are_not_only_f16_test_small_dividends(other: str) -> None:
    """A second reader of the quotients, or another type, has numbers near zero."""
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
