"""Kernels with atomics agree with numpy in any order of the blocks, bit by bit where the sums are of integers."""

from __future__ import annotations

import atomic_kernels
import numpy as np
import pytest
from compare import SEEDS, assert_within, run_everywhere, sorted_pairs


def whole(random: np.random.Generator, shape, dtype, high: int = 4) -> np.ndarray:
    """Small integers of both signs, whose sums are exact in every float type."""
    return random.integers(-high, high + 1, shape).astype(dtype)


def everywhere(kernel, grid, args, outputs, target):
    return run_everywhere(kernel, grid, args, outputs, target=target, hints={}, seeds=SEEDS)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "i8"])
def test_scatter_add(target, random, dtype):
    index, value = random.integers(-2, 40, 500).astype(np.int32), whole(random, 500, dtype)
    total = whole(random, 37, dtype)
    exact = total.copy()
    inside = (index >= 0) & (index < 37)
    np.add.at(exact, index[inside], value[inside])
    args = (index, value, total, 128)
    # Elements after the last have index 0 and value 0.
    for (found,) in everywhere(atomic_kernels.scatter_add, (4,), args, (2,), target):
        assert np.array_equal(found, exact)


def test_histogram(target, random):
    values = random.integers(0, 12, 1000).astype(np.int32)
    for (found,) in everywhere(atomic_kernels.histogram, (4,), (values, np.zeros(12, np.int32), 256), (1,), target):
        assert np.array_equal(found, np.bincount(values, minlength=12))


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_embedding_gradient(target, random, dtype):
    token, dy = random.integers(0, 6, 32).astype(np.int32), whole(random, (32, 64), dtype)
    dw = np.zeros((6, 64), dtype)
    exact = np.zeros((6, 64))
    np.add.at(exact, token, dy.astype(np.float64))
    for (found,) in everywhere(atomic_kernels.embedding_gradient, (2, 2), (token, dy, dw, 16, 32), (2,), target):
        assert np.array_equal(found, exact)


def test_message_is_passed_along(target):
    exact = np.arange(300, dtype=np.int64)
    for block in range(5):
        exact[:256] = exact[:256] * 2 + block
    args = (np.arange(300, dtype=np.int64), np.zeros(1, np.int32), 256)
    for value, flag in everywhere(atomic_kernels.passed_along, (5,), args, (0, 1), target):
        assert np.array_equal(value, exact) and flag[0] == 5


SPLIT_K = [atomic_kernels.split_k, atomic_kernels.split_k_by_view, atomic_kernels.split_k_in_turn]


@pytest.mark.parametrize("rows", [40, 72])
@pytest.mark.parametrize("kernel", SPLIT_K)
def test_split_k(target, random, kernel, rows):
    """Of 40 rows there is one tile, so that the blocks that wait for each other run at the same time."""
    A, B, C = whole(random, (rows, 168), "f2"), whole(random, (168, 24), "f2"), whole(random, (rows, 24), "f4")
    exact = A.astype(np.float64) @ B.astype(np.float64) + C
    turn = [np.zeros((2, 1), np.int32)] * (kernel is atomic_kernels.split_k_in_turn)
    args = (A, B, C, *turn, 3, 64, 32, 32)
    for found, *_ in everywhere(kernel, (-(-rows // 64), 1, 3), args, (2, 3) if turn else (2,), target):
        assert np.array_equal(found, exact)


@pytest.mark.parametrize("each", [1, 4, 5, 100])
def test_stream_k(target, random, each):
    A, B, C = whole(random, (72, 168), "f2"), whole(random, (168, 40), "f2"), whole(random, (72, 40), "f4")
    exact = A.astype(np.float64) @ B.astype(np.float64) + C
    total = 2 * 2 * 6
    args = (A, B, C, each, 64, 32, 32)
    for (found,) in everywhere(atomic_kernels.stream_k, (-(-total // each),), args, (2,), target):
        assert np.array_equal(found, exact)


@pytest.mark.parametrize("tile", [(64, 32, 32), (128, 64, 64)], ids=str)
def test_experts_added(target, random, tile):
    """Each token goes to two of three experts, whose weighted results are added to its row."""
    tokens, count, depth, width = 50, 3, 72, 40
    X, W, Y = whole(random, (tokens, depth), "f2"), whole(random, (count, depth, width), "f2"), np.ones((tokens, width))
    chosen = np.stack([random.choice(count, 2, replace=False) for _ in range(tokens)])
    weight = random.integers(1, 4, (tokens, 2)).astype("f4")
    exact = Y + np.einsum("td,tcdn,tc->tn", X.astype("f8"), W.astype("f8")[chosen], weight)
    pairs, expert = sorted_pairs(chosen, count, tile[0])
    args = (X, W, pairs, expert, weight.reshape(-1), Y.astype("f4"), 2, *tile)
    grid = (len(expert), -(-width // tile[1]))
    for (found,) in everywhere(atomic_kernels.experts_added, grid, args, (5,), target):
        assert np.array_equal(found, exact)


def test_layer_norm_backward(target, random):
    """The gradient of a row is a product with the Jacobian of its normalization."""
    rows, width = 40, 120
    X, DY = (random.standard_normal((rows, width)).astype("f4") for _ in range(2))
    W = random.standard_normal(width).astype("f4")
    mean, scale = X.mean(axis=1), 1 / X.std(axis=1)
    normal = (X.astype("f8") - mean[:, None]) * scale[:, None]
    weighted, dy = DY * W.astype("f8"), DY.astype("f8")
    jacobian = np.eye(width) - 1 / width - np.einsum("ri,rj->rij", normal, normal) / width
    exact = np.einsum("rij,rj->ri", jacobian, weighted) * scale[:, None]
    magnitude = np.abs(weighted) + np.abs(weighted).mean(axis=1, keepdims=True)
    magnitude += np.abs(normal) * np.abs(normal * weighted).mean(axis=1, keepdims=True)
    # A sum of n terms in any order loses n - 1 units of 2^-24 of their magnitudes; a term has at most 13 roundings.
    tolerance = (width + 12) * 2.0**-24 * magnitude * scale[:, None]
    sums, lost = (dy * normal, dy), (rows + 12) * 2.0**-24
    args = (X, W, mean, scale, DY, np.zeros_like(X), np.zeros(width, "f4"), np.zeros(width, "f4"), 16, 128)
    for dx, *gradients in everywhere(atomic_kernels.layer_norm_backward, (3,), args, (5, 6, 7), target):
        assert_within(dx, exact, tolerance)
        for gradient, terms in zip(gradients, sums, strict=True):
            assert_within(gradient, terms.sum(axis=0), lost * np.abs(terms).sum(axis=0))


@pytest.mark.parametrize("locked", [False, True])
def test_layer_norm_gradient(target, random, locked):
    dy, normal = whole(random, (40, 120), "f4"), whole(random, (40, 120), "f4")
    dw, db = whole(random, 120, "f4"), whole(random, 120, "f4")
    lock = [np.zeros(2, np.int32)] * locked
    kernel = atomic_kernels.layer_norm_gradient_locked if locked else atomic_kernels.layer_norm_gradient
    exact = dw + (dy * normal).sum(axis=0), db + dy.sum(axis=0)
    for found in everywhere(kernel, (3, 2), (dy, normal, dw, db, *lock, 16, 64), (2, 3), target):
        assert all(np.array_equal(one, sums) for one, sums in zip(found, exact, strict=True))
