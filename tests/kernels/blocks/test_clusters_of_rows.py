"""Row kernels with the hint num_ctas: the blocks of a cluster have parts of each row, and exchange their reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

SIZE = 4096


def check(kernel: Any, grid: tuple[int, ...], args: Sequence[Any], output: int, exact: np.ndarray, **run: Any) -> None:
    tolerance = run.pop("tolerance", 0.0)
    for (found,) in run_everywhere(kernel, grid, args, [output], **run):
        assert np.allclose(found, exact, rtol=tolerance, atol=tolerance)


@ct.kernel
def softmax(X, Y, size: ct.Constant[int]):
    x = ct.load(X, (ct.bid(0), 0), (1, size), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    powers = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, (ct.bid(0), 0), (powers / ct.sum(powers, axis=1, keepdims=True)).astype(Y.dtype))


@pytest.mark.parametrize("ctas", [2, 4, 8])
def test_softmax(random: np.random.Generator, target: str, ctas: int) -> None:
    """The last columns of the tile are outside of the row."""
    x = random.standard_normal((2, SIZE - 100)).astype(np.float32)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    exact = powers / powers.sum(1, keepdims=True)
    args, hints = (x, np.full_like(x, np.nan), SIZE), {"num_ctas": ctas}
    check(softmax, (2,), args, 1, exact, target=target, hints=hints, tolerance=1e-6)


def test_rows_for_which_a_block_lacks_registers(random: np.random.Generator, target: str) -> None:
    """Without a hint two blocks divide 65536 elements."""
    x = random.standard_normal((1, 65536)).astype(np.float32)
    powers = np.exp(x.astype(np.float64) - x.max())
    args = (x, np.full_like(x, np.nan), 65536)
    check(softmax, (1,), args, 1, powers / powers.sum(), target=target, hints={}, tolerance=1e-6)


@ct.kernel
def layer_norm(X, W, B, Y, eps, tiles: int, size: ct.Constant[int]):
    """The columns in several tiles, whose sums are reduced after the loop."""
    row, columns = ct.bid(0), X.shape[1]
    total, squares = ct.zeros((1, size), ct.float32), ct.zeros((1, size), ct.float32)
    for j in range(tiles):
        x = ct.load(X, (row, j), (1, size), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        total, squares = total + x, squares + x * x
    mean = ct.sum(total, axis=1, keepdims=True) / columns
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / columns - mean * mean + eps)
    for j in range(tiles):
        x = ct.load(X, (row, j), (1, size), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        w, b = ct.load(W, (j,), (size,)), ct.load(B, (j,), (size,))
        ct.store(Y, (row, j), (x - mean) * scale * w[None, :] + b[None, :])


def test_layer_norm(random: np.random.Generator, target: str) -> None:
    x, w, b = (random.standard_normal(shape).astype(np.float32) for shape in ((2, SIZE), (SIZE,), (SIZE,)))
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * w + b
    args = (x, w, b, np.full_like(x, np.nan), 1e-5, 2, SIZE // 2)
    check(layer_norm, (2,), args, 3, exact, target=target, hints={"num_ctas": 2}, tolerance=1e-4)


@ct.kernel
def extrema(X, Y, Index, blocks: int, rows: ct.Constant[int], size: ct.Constant[int]):
    """The least element of each row, its column and the sum of the row: stored by one block of the cluster."""
    for i in range(ct.bid(0), ct.num_tiles(X, 0, (rows, size)), blocks):
        x = ct.load(X, (i, 0), (rows, size))
        ct.store(Index, (i,), ct.argmin(x, axis=1))
        ct.store(Y, (i,), ct.min(x, axis=1) + ct.sum(x, axis=1))


def test_results_of_rows_in_a_loop(random: np.random.Generator, target: str) -> None:
    """Equal elements are least: the first column counts, in whichever block it is."""
    x = random.integers(-4, 5, (8, SIZE)).astype(np.int32)
    y, index = np.zeros(8, np.int32), np.full(8, -1, np.int32)
    args, exact = (x, y, index, 2, 2, SIZE), x.min(1) + x.sum(1)
    for found, columns in run_everywhere(extrema, (2,), args, [1, 2], target=target, hints={"num_ctas": 4}):
        assert np.array_equal(found, exact) and np.array_equal(columns, x.argmin(1))


@ct.kernel
def total(X, Y, size: ct.Constant[int]):
    """A tile of one dimension, whose sum is a scalar."""
    at = ct.arange(size, dtype=ct.int32)
    ct.scatter(Y, ct.bid(0), ct.sum(ct.gather(X, (ct.bid(0), at))))


def test_scalar_of_gathered_elements(random: np.random.Generator, target: str) -> None:
    x, y = random.integers(-99, 100, (3, SIZE)).astype(np.int32), np.zeros(3, np.int32)
    check(total, (3,), (x, y, SIZE), 1, x.sum(1), target=target, hints={"num_ctas": 2})


@ct.kernel
def copied_and_summed(X, Y, Z, size: ct.Constant[int]):
    x = ct.load(X, (ct.bid(0), 0), (1, size))
    ct.store(Z, (ct.bid(0), 0), x)
    ct.store(Y, (ct.bid(0), 0), ct.sum(x, axis=1, keepdims=True))


def test_tile_is_stored_as_it_is_loaded(random: np.random.Generator, target: str) -> None:
    x = random.integers(-99, 100, (2, SIZE)).astype(np.int32)
    args = (x, np.zeros((2, 1), np.int32), np.zeros_like(x), SIZE)
    hints = {"num_ctas": 2}
    for found, copy in run_everywhere(copied_and_summed, (2,), args, [1, 2], target=target, hints=hints):
        assert np.array_equal(found, x.sum(1, keepdims=True)) and np.array_equal(copy, x)
