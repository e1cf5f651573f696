"""Arithmetic of tiles and scalars against numpy, and of constants against Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]
X = np.array([-7, -3, -1, 0, 1, 2, 6, 7], np.int32)
Y = np.array([2, -2, 3, 5, -4, 7, -3, 2], np.int32)


@ct.kernel
def integers(x, y, out):
    a, b = ct.load(x, (0,), (8,)), ct.load(y, (0,), (8,))
    ct.store(out, (0, 0), (a + b)[None, :])
    ct.store(out, (1, 0), (a - b)[None, :])
    ct.store(out, (2, 0), (a * b)[None, :])
    ct.store(out, (3, 0), (a // b)[None, :])
    ct.store(out, (4, 0), (a % b)[None, :])
    ct.store(out, (5, 0), min(a, b)[None, :])
    ct.store(out, (6, 0), ct.maximum(a, b)[None, :])
    ct.store(out, (7, 0), (a & b)[None, :])
    ct.store(out, (8, 0), (a | b)[None, :])
    ct.store(out, (9, 0), (a ^ b)[None, :])
    ct.store(out, (10, 0), (a << 3)[None, :])
    ct.store(out, (11, 0), (a >> 1)[None, :])
    ct.store(out, (12, 0), (-a)[None, :])
    ct.store(out, (13, 0), (~a)[None, :])
    ct.store(out, (14, 0), abs(a)[None, :])
    ct.store(out, (15, 0), ct.cdiv(a, b)[None, :])


def test_integer_arithmetic_matches_python(interpret: Interpret) -> None:
    out = np.zeros((16, 8), np.int32)
    interpret(integers, 1, X, Y, out)
    expected = [X + Y, X - Y, X * Y, X // Y, X % Y, np.minimum(X, Y), np.maximum(X, Y), X & Y, X | Y, X ^ Y]
    expected += [X << 3, X >> 1, -X, ~X, np.abs(X), -(-X // Y)]
    np.testing.assert_array_equal(out, expected)


@ct.kernel
def unsigned(x, y, out):
    a, b = ct.load(x, (0,), (8,)), ct.load(y, (0,), (8,))
    ct.store(out, (0, 0), (a // b)[None, :])
    ct.store(out, (1, 0), (a % b)[None, :])
    ct.store(out, (2, 0), max(a, b)[None, :])
    ct.store(out, (3, 0), (a >> 1)[None, :])
    ct.store(out, (4, 0), (a < b).astype(ct.uint32)[None, :])


def test_unsigned_arithmetic(interpret: Interpret) -> None:
    x, y, out = X.astype(np.uint32), Y.astype(np.uint32), np.zeros((5, 8), np.uint32)
    interpret(unsigned, 1, x, y, out)
    np.testing.assert_array_equal(out, [x // y, x % y, np.maximum(x, y), x >> 1, x < y])


@ct.kernel
def floats(x, y, out):
    a, b = ct.load(x, (0,), (8,)), ct.load(y, (0,), (8,))
    ct.store(out, (0, 0), (a + b)[None, :])
    ct.store(out, (1, 0), (a - 2)[None, :])
    ct.store(out, (2, 0), (0.5 * a)[None, :])
    ct.store(out, (3, 0), (a / b)[None, :])
    ct.store(out, (4, 0), (a // b)[None, :])
    ct.store(out, (5, 0), (-a)[None, :])
    ct.store(out, (6, 0), abs(a)[None, :])
    ct.store(out, (7, 0), ct.where(a > b, a, 1.0)[None, :])


def test_python_numbers_do_not_change_the_type_of_floats(interpret: Interpret) -> None:
    x, y, out = X.astype(np.float32) / 3, Y.astype(np.float32), np.zeros((8, 8), np.float32)
    interpret(floats, 1, x, y, out)
    expected = [x + y, x - 2, x / 2, x / y, np.floor(x / y), -x, abs(x), np.where(x > y, x, 1)]
    np.testing.assert_array_equal(out, np.array(expected, np.float32))


@ct.kernel
def remainder(x, y, out):
    ct.store(out, (0,), ct.load(x, (0,), (8,)) % ct.load(y, (0,), (8,)))


def test_remainder_of_floats_has_the_sign_of_the_divisor(interpret: Interpret) -> None:
    x, y, out = X.astype(np.float32), Y.astype(np.float32), np.zeros(8, np.float32)
    interpret(remainder, 1, x, y, out)
    np.testing.assert_array_equal(out, x % y)


@ct.kernel
def comparisons(x, y, out):
    a, b = ct.load(x, (0,), (4,)), ct.load(y, (0,), (4,))
    ct.store(out, (0, 0), (a == b)[None, :])
    ct.store(out, (1, 0), (a != b)[None, :])
    ct.store(out, (2, 0), (a < b)[None, :])
    ct.store(out, (3, 0), (a >= b)[None, :])
    ct.store(out, (4, 0), (-1 < a <= 1)[None, :])
    ct.store(out, (5, 0), ct.isnan(a)[None, :])


def test_comparisons_with_nan(interpret: Interpret) -> None:
    x = np.array([np.nan, 1, -1, 0.5], np.float32)
    y = np.array([np.nan, 1, 1, 0], np.float32)
    out = np.zeros((6, 4), np.bool_)
    interpret(comparisons, 1, x, y, out)
    np.testing.assert_array_equal(out, [x == y, x != y, x < y, x >= y, (-1 < x) & (x <= 1), np.isnan(x)])


@ct.kernel
def promoted(half, single, ints, out):
    h, s, i = ct.load(half, (0,), (4,)), ct.load(single, (0,), (4,)), ct.load(ints, (0,), (4,))
    ct.static_assert((h + s).dtype == ct.float32)
    ct.static_assert((h + i).dtype == ct.float16)
    ct.static_assert((h + 1.5).dtype == ct.float16)
    ct.static_assert((i + 1.5).dtype == ct.float32)
    ct.static_assert((i / i).dtype == ct.float32)
    ct.static_assert((i > 1).dtype == ct.bool_)
    ct.static_assert((i + ct.int64(1)).dtype == ct.int64)
    ct.store(out, (0,), h + s + i / 2)


def test_mixed_types_are_promoted_to_the_wider_type(interpret: Interpret) -> None:
    half, single, ints = np.arange(4, dtype=np.float16), np.ones(4, np.float32), np.arange(4, dtype=np.int32)
    out = np.zeros(4, np.float32)
    interpret(promoted, 1, half, single, ints, out)
    np.testing.assert_array_equal(out, [1, 2.5, 4, 5.5])


@ct.kernel
def broadcasting(x, out):
    row = ct.load(x, (0,), (4,))
    ct.store(out, (0, 0), row[:, None] * 10 + row)


def test_shapes_broadcast_as_in_numpy(interpret: Interpret) -> None:
    x, out = np.arange(4, dtype=np.int32), np.zeros((4, 4), np.int32)
    interpret(broadcasting, 1, x, out)
    np.testing.assert_array_equal(out, x[:, None] * 10 + x)


SCALE = np.float32(0.25)
TABLE = (3, 5, 7)


@ct.kernel
def constants(out, N: ct.Constant[int]):
    ct.static_assert(7 // -2 == -4 and 7 % -2 == -1 and 2**10 == 1024)
    ct.static_assert(math.ceil(N / 3) == 6 and ct.cdiv(N, 3) == 6 and min(N, 3) == 3)
    ct.static_assert(ct.int16(5) + 2 == 7)
    ct.static_assert((ct.int16(5) + ct.int32(7)).dtype == ct.int32)
    ct.static_assert(len(TABLE) == 3 and TABLE[-1] == 7 and TABLE[:2] == (3, 5))
    ct.static_assert(not (N < 3) and (N == 16 or undefined_name))  # noqa: F821  (never reached)
    ct.store(out, (0,), ct.full((4,), TABLE[1] * SCALE + N, ct.float32))


def test_constant_arithmetic_matches_python(interpret: Interpret) -> None:
    out = np.zeros(4, np.float32)
    interpret(constants, 1, out, 16)
    np.testing.assert_array_equal(out, np.full(4, 17.25))


@ct.kernel
def no_operations(out, N: ct.Constant[int]):
    ct.store(out, (N // 4 - 4,), ct.zeros((N * 2,), ct.float32))


def test_constant_arithmetic_emits_no_operations(tile_text: Callable[[Any, str], str]) -> None:
    text = tile_text(no_operations, "out: f32[?], N=16")
    assert not any(f"{name} %" in text for name in ("divi", "muli", "subi"))
    assert "tile<32xf32>" in text


@pytest.mark.parametrize("value", [300, -129])
def test_number_out_of_range_of_the_tile_type_is_rejected(error_message: Any, value: int) -> None:
    def kernel(x, N: ct.Constant[int]):
        ct.load(x, (0,), (4,)) + N

    assert f"the integer {value} is out of range of int8" in error_message(kernel, f"x: i8[?], N={value}")
