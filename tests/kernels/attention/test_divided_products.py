"""Attention whose scores are sums of two products, or whose values are two tiles, as that with a latent of keys has."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attention_kernels import softmax_step
from compare import run_everywhere

import tilec as ct

D, PART = 128, 64
# The queries and the keys of a tile.
ROWS = KEYS = 128
ARGUMENTS = ("Q", "K", "R", "P", "V", "out")


@ct.kernel
def attention(Q, K, R, P, V, out, DEPTH: ct.Constant[int], COLUMNS: ct.Constant[int]):
    """Q K^T, with R P^T beside it if DEPTH is 2; V in COLUMNS parts."""
    query = ct.load(Q, (ct.bid(0), 0), (ROWS, D))
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    width = D // COLUMNS
    left, right = ct.zeros((ROWS, width), ct.float32), ct.zeros((ROWS, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (KEYS, D))):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (KEYS, D))), ct.zeros((ROWS, KEYS), ct.float32))
        if DEPTH == 2:
            keys = ct.transpose(ct.load(P, (j, 0), (KEYS, PART)))
            scores = ct.mma(ct.load(R, (ct.bid(0), 0), (ROWS, PART)), keys, scores)
        powers, factor, largest, total = softmax_step(scores, largest, total)
        weights = ct.astype(powers, V.dtype)
        left = ct.mma(weights, ct.load(V, (j, 0), (KEYS, width)), left * factor)
        if COLUMNS == 2:
            right = ct.mma(weights, ct.load(V, (j, 1), (KEYS, width)), right * factor)
    ct.store(out, (ct.bid(0), 0), ct.astype(left / total, out.dtype))
    if COLUMNS == 2:
        ct.store(out, (ct.bid(0), 1), ct.astype(right / total, out.dtype))


def signs(random: np.random.Generator, width: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a single 1, and rows of 0 and -1024, so that all products are 0 or -1024."""
    rows = np.zeros((ROWS, width), np.float16)
    rows[np.arange(ROWS), np.arange(ROWS) % width] = 1
    return rows, -1024 * random.integers(0, 2, (length, width)).astype(np.float16)


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize(("depth", "columns"), [(2, 1), (1, 2), (2, 2)])
def test_results(depth: int, columns: int, blocks: int, target: str, random: np.random.Generator) -> None:
    """A weight is 1 or 0, and the values are integers."""
    length = blocks * KEYS
    q, k = signs(random, D, length)
    r, p = signs(random, PART, length)
    v = random.integers(-8, 9, (length, D)).astype(np.float16)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    if depth == 2:
        scores += r.astype(np.float64) @ p.astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    sums = (weights @ v.astype(np.float64)).astype(np.float32)
    expected = (sums / weights.sum(axis=1, keepdims=True).astype(np.float32)).astype(np.float16)
    arguments = [q, k, r, p, v, np.zeros((ROWS, D), np.float16), depth, columns]
    for (found,) in run_everywhere(attention, (1,), arguments, [5], target=target, hints={}):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("depth", "columns"), [(1, 1), (2, 1), (1, 2)])
def test_products_of_weights_are_in_flight_while_threads_compute(depth: int, columns: int) -> None:
    """On sm_90a the last wait before the maximum leaves all products of the weights in flight."""
    arrays = ", ".join(f"{name}: f16[?,?]" for name in ARGUMENTS)
    signature = f"{arrays}, DEPTH={depth}, COLUMNS={columns}"
    text = ct.compile(attention, target="sm_90a", signature=signature, stop="gpu").gpu
    loop = text[text.index("scf.for") :]
    waits = [line for line in loop[: loop.index("tile_gpu.reduce")].splitlines() if "wgmma_wait" in line]
    assert f"pending {columns}" in waits[-1]
