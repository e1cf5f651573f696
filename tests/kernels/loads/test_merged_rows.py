"""Operands of multiplies whose rows are those of several dimensions of a loaded tile, such as windows of images."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
SEEDS = range(2)
HEIGHT, WIDTH = 13, 11
Extent = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def pixels(X, W, R, ty: Extent, tx: Extent, tn: Extent, tk: Extent):
    """R[y, x] = X[y, x] @ W of an image; a block has ty x tx pixels."""
    total = ct.zeros((ty * tx, tn), ct.float32)
    for k in range(ct.num_tiles(X, 2, (ty, tx, tk))):
        x = ct.load(X, (ct.bid(0), ct.bid(1), k), (ty, tx, tk), padding_mode=ZERO).reshape((ty * tx, tk))
        total = ct.mma(x, ct.load(W, (k, 0), (tk, tn), padding_mode=ZERO), total)
    ct.store(R, (ct.bid(0), ct.bid(1), 0), total.reshape((ty, tx, tn)))


@ct.kernel
def columns_first(X, W, R, ty: Extent, tx: Extent, tn: Extent, tk: Extent):
    """R[x, y] = X[y, x] @ W: the rows of the operand are in another order than those in memory."""
    total = ct.zeros((ty * tx, tn), ct.float32)
    for k in range(ct.num_tiles(X, 2, (ty, tx, tk))):
        x = ct.load(X, (ct.bid(0), ct.bid(1), k), (ty, tx, tk), padding_mode=ZERO)
        x = ct.permute(x, (1, 0, 2)).reshape((ty * tx, tk))
        total = ct.mma(x, ct.load(W, (k, 0), (tk, tn), padding_mode=ZERO), total)
    ct.store(R, (ct.bid(1), ct.bid(0), 0), total.reshape((tx, ty, tn)))


@ct.kernel
def merged_depth(X, W, R, tm: Extent, tn: Extent, heads: Extent, tk: Extent):
    """R = X @ W, with the depth of X in two dimensions, the last of which is contiguous in memory."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(X, 1, (tm, heads, tk))):
        x = ct.load(X, (ct.bid(0), k, 0), (tm, heads, tk), padding_mode=ZERO).reshape((tm, heads * tk))
        total = ct.mma(x, ct.load(W, (k, 0), (heads * tk, tn), padding_mode=ZERO), total)
    ct.store(R, (ct.bid(0), 0), total)


@ct.kernel
def windows(Q, K, V, R, ty: Extent, tx: Extent, ky: Extent, kx: Extent, width: Extent):
    """R = (Q @ transpose(K)) @ V, with queries and keys that are pixels of two images."""
    rows, keys = ty * tx, ky * kx
    q = ct.load(Q, (ct.bid(0), ct.bid(1), 0), (ty, tx, width), padding_mode=ZERO).reshape((rows, width))
    total = ct.zeros((rows, width), ct.float32)
    for y in range(ct.num_tiles(K, 0, (ky, kx, width))):
        for x in range(ct.num_tiles(K, 1, (ky, kx, width))):
            k = ct.load(K, (y, x, 0), (ky, kx, width), padding_mode=ZERO).reshape((keys, width))
            v = ct.load(V, (y, x, 0), (ky, kx, width), padding_mode=ZERO).reshape((keys, width))
            scores = ct.mma(q, ct.transpose(k), ct.zeros((rows, keys), ct.float32))
            total = ct.mma(scores.astype(V.dtype), v, total)
    ct.store(R, (ct.bid(0), ct.bid(1), 0), total.reshape((ty, tx, width)))


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Small enough that all sums of the tests are exact."""
    return random.integers(-2, 3, shape).astype(np.float16)


def blocks(extent: int, tile: int) -> int:
    return -(-extent // tile)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "tile", "hints"),
    [
        (pixels, (8, 16, 64, 64), {}),
        (pixels, (16, 4, 128, 32), {}),
        (pixels, (16, 16, 64, 64), {"num_ctas": 2}),
        (pixels, (2, 4, 64, 64), {}),
        (columns_first, (8, 8, 64, 64), {}),
    ],
)
def test_pixels(target, kernel, tile, hints):
    random, (ty, tx, tn, _) = np.random.default_rng(0), tile
    x, w = integers(random, HEIGHT, WIDTH, 128), integers(random, 128, tn)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    exact = exact if kernel is pixels else exact.swapaxes(0, 1)
    args = [x, w, np.zeros(exact.shape, np.float32), *tile]
    grid = blocks(HEIGHT, ty), blocks(WIDTH, tx)
    for (result,) in run_everywhere(kernel, grid, args, (2,), target=target, hints=hints, seeds=SEEDS):
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("target", TARGETS)
def test_depth_of_several_dimensions(target):
    random = np.random.default_rng(1)
    x, w = integers(random, 100, 4, 32), integers(random, 128, 64)
    exact = x.reshape((100, 128)).astype(np.float64) @ w.astype(np.float64)
    args = [x, w, np.zeros(exact.shape, np.float32), 64, 64, 2, 32]
    for (result,) in run_everywhere(merged_depth, (2,), args, (2,), target=target, hints={}, seeds=SEEDS):
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tile", [(8, 8, 4, 16, 64), (8, 16, 8, 8, 128), (2, 32, 16, 4, 32)])
def test_windows(target, tile):
    random, (ty, tx, *_, width) = np.random.default_rng(2), tile
    q = integers(random, HEIGHT, WIDTH, width)
    k, v = (integers(random, 9, 20, width) for _ in range(2))
    scores = q.reshape((-1, width)).astype(np.float64) @ k.reshape((-1, width)).T.astype(np.float64)
    exact = (scores @ v.reshape((-1, width)).astype(np.float64)).reshape(q.shape)
    args = [q, k, v, np.zeros(q.shape, np.float32), *tile]
    grid = blocks(HEIGHT, ty), blocks(WIDTH, tx)
    for (result,) in run_everywhere(windows, grid, args, (3,), target=target, hints={}, seeds=SEEDS):
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "tile", "loads"),
    [(pixels, (8, 8, 64, 64), 2), (columns_first, (8, 8, 64, 64), 1), (merged_depth, (64, 64, 2, 64), 1)],
)
def test_tma_loads_rows_in_the_order_of_memory_alone(target, kernel, tile, loads):
    x, w = np.zeros((16, 16, 128), np.float16), np.zeros((128, 64), np.float16)
    args = [x, w, np.zeros((16, 64) if kernel is merged_depth else (16, 16, 64), np.float32), *tile]
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="gpu-raw")
    assert compiled.stages[-1].text.count("tile_gpu.load_tile") == loads
