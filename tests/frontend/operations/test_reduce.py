"""Reductions agree with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]
# Small integers, whose sums and products are exact in every order.
X = np.array([[3, -1, 4, 1], [-5, 9, 2, -6]], np.float32)


@ct.kernel
def along_axes(x, rows, columns, everything, kept):
    tile = ct.load(x, (0, 0), (2, 4))
    ct.store(rows, (0,), ct.sum(tile, axis=1))
    ct.store(columns, (0,), ct.max(tile, 0))
    ct.store(everything, (0,), ct.min(tile).reshape((1,)))
    ct.store(kept, (0, 0), ct.prod(tile, axis=-1, keepdims=True))


def test_reductions_along_axes(interpret: Interpret) -> None:
    rows, columns, everything, kept = (np.zeros(shape, np.float32) for shape in (2, 4, 1, (2, 1)))
    interpret(along_axes, 1, X, rows, columns, everything, kept)
    np.testing.assert_array_equal(rows, X.sum(1))
    np.testing.assert_array_equal(columns, X.max(0))
    np.testing.assert_array_equal(everything, [X.min()])
    np.testing.assert_array_equal(kept, X.prod(1, keepdims=True))


@ct.kernel
def over_two_axes(x, out):
    ct.store(out, (0,), ct.sum(ct.load(x, (0, 0, 0), (2, 4, 8)), axis=(0, 2)))


def test_several_axes(interpret: Interpret) -> None:
    x, out = np.arange(64, dtype=np.int32).reshape(2, 4, 8), np.zeros(4, np.int32)
    interpret(over_two_axes, 1, x, out)
    np.testing.assert_array_equal(out, x.sum((0, 2)))


@ct.kernel
def count(x, out):
    ct.store(out, (0,), ct.sum(ct.load(x, (0,), (8,)) > 2).reshape((1,)))


def test_sum_of_booleans_is_a_count(interpret: Interpret) -> None:
    out = np.zeros(1, np.int32)
    interpret(count, 1, np.arange(8, dtype=np.float32), out)
    assert out[0] == 5


@ct.kernel
def positions(x, first, last, whole, nan_first):
    tile = ct.load(x, (0, 0), (2, 4))
    ct.store(first, (0,), ct.argmax(tile, axis=1))
    ct.store(last, (0,), ct.argmin(tile, axis=1))
    ct.store(whole, (0,), ct.argmax(tile).reshape((1,)))
    ct.store(nan_first, (0,), ct.argmax(tile, axis=1, propagate_nan=True))


@pytest.mark.parametrize(
    ("rows", "first", "last", "whole", "nan_first"),
    [
        # The first of equal elements.
        ([[1, 7, 7, 0], [2, 2, 2, 2]], [1, 0], [3, 0], 1, [1, 0]),
        # NaN is ignored, or the result if it propagates; a row of NaN has index 0.
        ([[np.nan, 1, 3, 2], [np.nan, np.nan, np.nan, np.nan]], [2, 0], [1, 0], 2, [0, 0]),
        ([[-np.inf, -np.inf, -np.inf, -np.inf], [np.inf, np.inf, 0, 1]], [0, 0], [0, 2], 4, [0, 0]),
    ],
)
def test_argmax_and_argmin(
    interpret: Interpret, rows: list[list[float]], first: list[int], last: list[int], whole: int, nan_first: list[int]
) -> None:
    outs = [np.full(shape, -1, np.int32) for shape in (2, 2, 1, 2)]
    interpret(positions, 1, np.array(rows, np.float32), *outs)
    for out, expected in zip(outs, (first, last, [whole], nan_first), strict=True):
        np.testing.assert_array_equal(out, expected)


@ct.kernel
def largest_with_index(x, y, largest, where):
    values, indices = ct.load(x, (0,), (8,)), ct.load(y, (0,), (8,))

    def better(a, i, b, j):
        wins = a > b
        return ct.where(wins, a, b), ct.where(wins, i, j)

    top, at = ct.reduce((values, indices), 0, better, (-1000.0, 0))
    ct.store(largest, (0,), top.reshape((1,)))
    ct.store(where, (0,), ct.reduce(indices, 0, lambda a, b: a | b, 0, keepdims=True) * 100 + at)


def test_reduction_with_a_user_function(interpret: Interpret) -> None:
    x = np.array([3, 9, -2, 8, 7, 1, 0, 4], np.float32)
    largest, where = np.zeros(1, np.float32), np.zeros(1, np.int32)
    interpret(largest_with_index, 1, x, np.arange(8, dtype=np.int32), largest, where)
    assert (largest[0], where[0]) == (9, 7 * 100 + 1)


def test_identities_of_reductions(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(x, y):
        tile = ct.load(x, (0,), (8,))
        ct.store(y, (0,), ct.argmax(tile) + ct.argmin(tile, propagate_nan=True))
        ct.store(y, (1,), ct.max(tile.astype(ct.int8)) + ct.min(tile.astype(ct.uint8)).astype(ct.int32))

    text = tile_text(kernel, "x: f32[?], y: i32[?]")
    # The identity of argmax is NaN unless NaN propagates; its index is larger than all others.
    assert "identities=[0x7FC00000 : f32, 2147483647 : i32]" in text
    assert "identities=[0x7F800000 : f32, 2147483647 : i32]" in text
    assert "identities=[-128 : i8]" in text and "identities=[-1 : i8]" in text
