"""Masks of element numbers at the limits of int32: interpreted and on both targets as in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Constant = ct.Constant[int]
ROWS, COLUMNS, BLOCKS = 32, 64, 3
INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@ct.kernel
def window(x, y, first: int, length: int, before: int, start: int, rows: Constant, columns: Constant, count: Constant):
    """Element (i, j) if j < length and first + i - before < j <= first + i, where columns are numbered from `start`."""
    query = (first + ct.arange(rows, dtype=ct.int32))[:, None]
    for j in range(count):
        key = (j * columns + ct.arange(columns, dtype=ct.int32))[None, :]
        moved = (start + ct.arange(columns, dtype=ct.int32))[None, :]
        tile = ct.load(x, index=(0, j), shape=(rows, columns))
        visible = (key < length) & (key <= query) & (key > query - before)
        tile = ct.where(visible, tile, -1.0)
        ct.store(y, index=(0, j), tile=ct.where(moved >= length, tile, -2.0))


def wrapped(values: np.ndarray) -> np.ndarray:
    return ((values + 2**31) % 2**32 - 2**31).astype(np.int64)


def expected(x: np.ndarray, first: int, length: int, before: int, start: int) -> np.ndarray:
    query = wrapped(first + np.arange(ROWS, dtype=np.int64))[:, None]
    key = np.arange(BLOCKS * COLUMNS)[None, :]
    visible = (key < length) & (key <= query) & (key > wrapped(query - before))
    moved = wrapped(start + np.tile(np.arange(COLUMNS, dtype=np.int64), BLOCKS))[None, :]
    return np.where(moved >= length, np.where(visible, x, -1), -2).astype(np.float32)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("first", "length", "before", "start"), [
    (40, 150, 60, 0), (100, 1000, 7, 120), (-20, 70, 9, -5), (INT_MAX - 9, INT_MAX, 100, INT_MAX - 9),
    (INT_MAX - 9, INT_MIN, INT_MAX, INT_MIN), (INT_MIN, 100, 1, INT_MIN), (INT_MAX, INT_MAX, INT_MIN, INT_MAX - 63),
    (150, -1, INT_MIN, -64),
])  # fmt: skip
def test_windows(target: str, first: int, length: int, before: int, start: int) -> None:
    x = np.arange(ROWS * BLOCKS * COLUMNS, dtype=np.float32).reshape(ROWS, -1)
    args = [x, np.zeros_like(x), first, length, before, start, ROWS, COLUMNS, BLOCKS]
    for (result,) in run_everywhere(window, (1,), args, [1], target=target, hints={}):
        assert np.array_equal(result, expected(x, first, length, before, start))
