"""Kernels that gather and scatter slices of arrays agree with numpy, in any order of the threads."""

from __future__ import annotations

import numpy as np
import pytest
import sparse_kernels
from compare import SEEDS, assert_within, matrix, product_tolerance, run_everywhere, sorted_pairs

import tilec


def everywhere(kernel, grid, args, outputs, target, seeds=SEEDS, **hints):
    return run_everywhere(kernel, grid, args, outputs, target=target, hints=hints, seeds=seeds)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f2", "f4", "f8"])
@pytest.mark.parametrize("index", ["i4", "i8", "u4"])
def test_embedding(target, random, dtype, index):
    W = random.integers(-100, 100, (50, 72)).astype(dtype)
    token = random.integers(0, 64, 40).astype(index)
    if index != "u4":
        token[::7] = -token[::7] - 1
    token[3] = token[5] = 49
    exact = np.where(((token >= 0) & (token < 50))[:, None], W[np.clip(token, 0, 49)], 0)
    args = (token, W, np.zeros((40, 72), dtype), 16, 32)
    for (found,) in everywhere(sparse_kernels.embedding, (3, 3), args, (2,), target):
        assert np.array_equal(found, exact)


@pytest.mark.parametrize(("index", "rows"), [("i1", 256), ("i2", 65536)])
def test_negative_narrow_indices_are_outside(target, index, rows):
    """Row 255 is not row -1 of int8, although both have the same eight bits."""
    W = np.ones((rows, 32), np.int8)
    token = np.where(np.arange(16) % 2, -1, np.arange(16)).astype(index)
    exact = np.repeat((token >= 0).astype(np.int8)[:, None], 32, 1)
    args = (token, W, np.zeros((16, 32), np.int8), 16, 32)
    for (found,) in everywhere(sparse_kernels.embedding, (1, 1), args, (2,), target, seeds=(0,)):
        assert np.array_equal(found, exact)


def test_permuted_columns(target, random):
    X, Y = matrix(random, (24, 60), "f4"), matrix(random, (24, 60), "f4")
    column = random.permutation(66).astype(np.int32)[:64]
    exact = Y.copy()
    for j, chosen in enumerate(column):
        if chosen < 60:
            exact[:, chosen] = X[:, chosen] + np.float32(j)
    args = (X, column, Y, 16, 32)
    for (found,) in everywhere(sparse_kernels.permuted_columns, (2, 2), args, (2,), target):
        assert np.array_equal(found, exact)


@pytest.mark.parametrize(
    ("dtype", "tile"), [("f2", (128, 64, 64)), ("f2", (64, 32, 32)), ("f4", (32, 32, 32))], ids=str
)
def test_experts(target, switches, random, dtype, tile):
    tokens, count, depth, width = 100, 3, 136, 72
    X = matrix(random, (tokens, depth), dtype)
    W = random.standard_normal((count, depth, width)).astype(dtype)
    chosen = np.stack([random.choice(count, 2, replace=False) for _ in range(tokens)])
    pairs, expert = sorted_pairs(chosen, count, tile[0])
    Y = np.zeros((2 * tokens, width), dtype)
    args = (X, W, pairs, expert, Y, 2, *tile)
    x, w = X.astype(np.float64), W.astype(np.float64)
    grid = (len(expert), -(-width // tile[1]))
    for (found,) in everywhere(sparse_kernels.experts, grid, args, (4,), target, seeds=(0, 1), **switches):
        for token in range(tokens):
            for choice in range(2):
                exact = x[token : token + 1] @ w[chosen[token, choice]]
                bound = product_tolerance(x[token : token + 1], w[chosen[token, choice]], exact, dtype)
                assert_within(found[2 * token + choice][None], exact, bound)


def test_experts_in_any_order(target, random):
    """Small integers, whose sums are exact: equal bits with every seed."""
    X, W = random.integers(-3, 4, (40, 64)).astype("f2"), random.integers(-3, 4, (2, 64, 64)).astype("f2")
    chosen = random.integers(0, 2, 40)
    pairs, expert = sorted_pairs(chosen, 2, 64)
    exact = np.einsum("tk,tkn->tn", X.astype("f8"), W.astype("f8")[chosen])
    args = (X, W, pairs, expert, np.zeros((40, 64), "f2"), 1, 64, 64, 32)
    for (found,) in everywhere(sparse_kernels.experts, (len(expert), 1), args, (4,), target):
        assert np.array_equal(found, exact)


@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("tile", [(128, 64, 64), (64, 32, 128), (128, 64, 16)], ids=str)
def test_gathered_product(target, switches, random, tile, index):
    """Rows repeat, and some are outside of the matrix on either side."""
    X, W = random.integers(-3, 4, (60, 136)).astype("f2"), random.integers(-3, 4, (136, tile[1])).astype("f2")
    row = random.integers(-20, 80, 300).astype(index)
    chosen = np.where(((row >= 0) & (row < 60))[:, None], X.astype("f8")[np.clip(row, 0, 59)], 0)
    exact = chosen @ W.astype("f8")
    args = (X, row, W, np.zeros((300, tile[1]), "f2"), *tile)
    for (found,) in everywhere(sparse_kernels.gathered_product, (2,), args, (3,), target, seeds=(0, 1), **switches):
        assert np.array_equal(found, exact)


def test_gathered_product_in_tf32(target, switches, random):
    X, W = random.integers(-9, 10, (60, 96)).astype("f4"), random.integers(-9, 10, (96, 64)).astype("f4")
    row = random.integers(0, 60, 128).astype(np.int32)
    args = (X, row, W, np.zeros((128, 64), "f4"))
    for (found,) in everywhere(
        sparse_kernels.gathered_product_in_tf32, (1,), args, (3,), target, seeds=(0,), **switches
    ):
        assert np.array_equal(found, X[row] @ W)


def test_gathered_product_in_any_order(target, random):
    X, W = random.integers(-3, 4, (60, 136)).astype("f2"), random.integers(-3, 4, (136, 64)).astype("f2")
    row = random.integers(0, 60, 300).astype(np.int32)
    exact = X.astype("f8")[row] @ W.astype("f8")
    args = (X, row, W, np.zeros((300, 64), "f2"), 128, 64, 64)
    for (found,) in everywhere(sparse_kernels.gathered_product, (1,), args, (3,), target):
        assert np.array_equal(found, exact)


def test_weighted_choices(target, random):
    Y, weight = matrix(random, (74, 80), "f2"), random.random((37, 2), np.float32)
    exact = np.einsum("tc,tcn->tn", weight.astype("f8"), Y.astype("f8").reshape(37, 2, 80))
    args = (Y, weight, np.zeros((37, 80), np.float32), 2, 16, 64)
    for (found,) in everywhere(sparse_kernels.weighted_choices, (3, 2), args, (2,), target):
        assert_within(found, exact, 3 * 2.0**-24 * (np.abs(weight).sum(axis=1, keepdims=True) * np.abs(Y).max()))


@pytest.mark.parametrize("length", [64, 150])
def test_paged_attention(target, random, length):
    width, page = 64, 32
    Q, K, V = (
        matrix(random, (64, width), "f2"),
        matrix(random, (8 * page, width), "f2"),
        matrix(random, (256, width), "f2"),
    )
    pages = random.permutation(8).astype(np.int32)
    rows = (pages[:, None] * page + np.arange(page)).ravel()[:length]
    scores = Q.astype("f8") @ K.astype("f8")[rows].T * width**-0.5
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    exact = p @ V.astype("f8")[rows] / p.sum(axis=1, keepdims=True)
    args = (Q, K, V, pages, np.zeros((64, width), "f2"), length, width**-0.5, 64, page, width)
    for (found,) in everywhere(sparse_kernels.paged_attention, (1,), args, (4,), target, seeds=(0, 1)):
        # Probabilities and the result are rounded to f16; both are at most the largest value.
        assert_within(found, exact, 4 * 2.0**-11 * np.abs(V.astype("f8")).max())


@pytest.mark.parametrize(("dtype", "shape"), [("f4", (16, 64)), ("f2", (4, 256)), ("f4", (1, 32))], ids=str)
def test_largest_elements(target, random, dtype, shape):
    """Equal elements have the order of their columns, as in a stable sort."""
    rows, columns = shape
    X = random.integers(-40, 41, (2 * rows + 1, columns - 5)).astype(dtype)
    order = np.argsort(-X.astype("f8"), axis=1, kind="stable")[:, :6]
    args = (X, np.zeros((len(X), 6), dtype), np.zeros((len(X), 6), np.int32), 6, rows, columns)
    for value, index in everywhere(sparse_kernels.largest, (3,), args, (1, 2), target):
        assert np.array_equal(index, order)
        assert np.array_equal(value, np.take_along_axis(X, order, axis=1))


OUTSIDE = """
!V = tensor_view<64x64xf32, strides=[64,1]>
!G = gather_scatter_view<tile=(4x8), !V, sparse_dim=0>
!O = tensor_view<4x8xf32, strides=[8,1]>
!T = partition_view<tile=(4x8), !O>
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %o: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %rows = constant <i32: [0, 1, 900, 3]> : tile<4xi32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : !V
  %g = make_gather_scatter_view %v : !G
  %w = make_tensor_view %o, shape = [4, 8], strides = [8, 1] : !O
  %t = make_partition_view %w : !T
  %x, %u = load_view_tko weak %g[%rows, %z] inbounds = [true, false]
    : !G, tile<4xi32>, tile<i32> -> tile<4x8xf32>, token
  store_view_tko weak %x, %t[%z, %z] : tile<4x8xf32>, !T, tile<i32> -> token
  return
} }
"""


def test_index_outside_that_is_marked_inside_is_reported_at_its_line(target):
    arrays = [np.zeros((64, 64), np.float32), np.zeros((4, 8), np.float32)]
    marked = "index 0 is marked as within bounds of 64 elements, got 900"
    with pytest.raises(tilec.TileError, match=marked) as interpreted:
        tilec.run(tilec.Module.parse(OUTSIDE), (1,), arrays, backend="interpret", check=True)
    with pytest.raises(tilec.TileError, match="bounds: read of 4 bytes") as simulated:
        tilec.run(tilec.Module.parse(OUTSIDE), (1,), arrays, backend="simulate", target=target)
    assert interpreted.value.location.line == simulated.value.location.line == 13
