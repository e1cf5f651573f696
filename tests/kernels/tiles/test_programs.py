"""Kernels that cover every strategy of the lowering agree with numpy, with each compiler hint on and off."""

from __future__ import annotations

import batch_kernels
import matrix_kernels
import numpy as np
import programs
import pytest
import sparse_kernels
from compare import assert_within, matrix, product_tolerance, run_everywhere


def f64(*arrays: np.ndarray) -> list[np.ndarray]:
    return [array.astype(np.float64) for array in arrays]


def blocks(shape: tuple[int, int], tile: tuple[int, int]) -> tuple[int, int]:
    return -(-shape[0] // tile[0]), -(-shape[1] // tile[1])


def test_two_products_share_an_operand(target, switches, random):
    A, B, C = matrix(random, (136, 200), "f2"), matrix(random, (200, 72), "f2"), matrix(random, (200, 72), "f2")
    P, Q = np.zeros((136, 72), np.float16), np.zeros((136, 72), np.float16)
    args = (A, B, C, P, Q, 128, 64, 64)
    a, b, c = f64(A, B, C)
    for p, q in run_everywhere(
        matrix_kernels.two_products, blocks(P.shape, (128, 64)), args, (3, 4), target=target, hints=switches
    ):
        assert_within(p, a @ b, product_tolerance(a, b, a @ b, "f2"))
        assert_within(q, a @ c, product_tolerance(a, c, a @ c, "f2"))


@pytest.mark.covering
@pytest.mark.parametrize("tile", [(128, 64, 64), (32, 32, 32), (16, 64, 16)], ids=str)
@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_operand_is_also_reduced(target, switches, random, tile, dtype):
    tm, tn, tk = tile
    A, B = matrix(random, (2 * tm - 8, 3 * tk - 8), dtype), matrix(random, (3 * tk - 8, tn), dtype)
    C, R = np.zeros((2 * tm - 8, tn), np.float32), np.zeros(2 * tm - 8, np.float32)
    a, b = f64(A, B)
    args = (A, B, C, R, tm, tn, tk)
    for c, r in run_everywhere(matrix_kernels.product_and_row_sums, (2,), args, (2, 3), target=target, hints=switches):
        assert_within(c, a @ b, product_tolerance(a, b, a @ b, "f4"))
        assert_within(r, 3 * a.sum(axis=1), 3 * a.shape[1] * 2.0**-24 * 3 * np.abs(a).sum(axis=1))


@pytest.mark.covering
@pytest.mark.parametrize("times", [0, 3])
@pytest.mark.parametrize("tile", [(64, 32, 32), (128, 64, 64)], ids=str)
def test_accumulator_from_memory_is_carried_by_nested_loops(target, switches, random, tile, times):
    tm, tn, tk = tile
    A, B, C = matrix(random, (tm, 3 * tk), "f2"), matrix(random, (3 * tk, tn), "f2"), matrix(random, (tm, tn), "f4")
    a, b, c = f64(A, B, C)
    operands = np.hstack([a] * times + [c]), np.vstack([b] * times + [np.eye(tn)])
    for (found,) in run_everywhere(
        matrix_kernels.repeated_product, (1,), (A, B, C, times, *tile), (2,), target=target, hints=switches
    ):
        exact = times * (a @ b) + c
        assert_within(found, exact, product_tolerance(*operands, exact, "f4"))


@pytest.mark.covering
@pytest.mark.parametrize("wanted", [0, 1])
@pytest.mark.parametrize("size", [16, 32, 128])
def test_operand_of_a_conditional_multiply_is_also_stored(target, switches, random, size, wanted):
    A, B = matrix(random, (size, size), "f2"), matrix(random, (size, size), "f2")
    C, R = np.zeros((size, size), np.float32), np.zeros((size, size), np.float16)
    a, b = f64(A, B)
    args = (A, B, C, R, wanted, size)
    for c, r in run_everywhere(
        matrix_kernels.product_under_if_and_tile, (1,), args, (2, 3), target=target, hints=switches
    ):
        assert_within(c, wanted * a @ b, product_tolerance(a, b, a @ b, "f4"))
        assert_within(r, a, 0.0)


def test_result_is_an_operand_of_the_next_multiply(target, switches, random):
    A, B, C = matrix(random, (136, 200), "f2"), matrix(random, (200, 64), "f2"), matrix(random, (64, 56), "f2")
    D = np.zeros((136, 56), np.float16)
    a, b, c = f64(A, B, C)
    first = a @ b
    lost = product_tolerance(a, b, first, "f2")
    exact = first @ c
    tolerance = lost @ np.abs(c) + product_tolerance(np.abs(first) + lost, c, exact, "f2")
    for (d,) in run_everywhere(
        matrix_kernels.chained, (2,), (A, B, C, D, 128, 64, 64), (3,), target=target, hints=switches
    ):
        assert_within(d, exact, tolerance)


def test_multiply_outside_a_loop(target, switches, random):
    A, B, C = matrix(random, (136, 64), "f2"), matrix(random, (64, 72), "f2"), matrix(random, (136, 72), "f4")
    D = np.zeros((136, 72), np.float32)
    a, b, c = f64(A, B, C)
    tolerance = product_tolerance(np.hstack([a, np.abs(c)]), np.vstack([b, np.ones((72, 72))]), a @ b + c, "f4")
    args = (A, B, C, D, 128, 64, 64)
    for (d,) in run_everywhere(
        matrix_kernels.single, blocks(D.shape, (128, 64)), args, (3,), target=target, hints=switches
    ):
        assert_within(d, a @ b + c, tolerance)


def test_computed_operand(target, switches, random):
    A, B = matrix(random, (136, 200), "f2"), matrix(random, (200, 136), "f2")
    C = np.zeros((136, 136), np.float16)
    a, b = f64(A, B)
    args = (A, B, C, 128, 128, 64)
    for (c,) in run_everywhere(
        matrix_kernels.scaled_operand, blocks(C.shape, (128, 128)), args, (2,), target=target, hints=switches
    ):
        assert_within(c, 2 * a @ b, product_tolerance(2 * a, b, 2 * a @ b, "f2"))


# The number of times that the sum with the first block along K is halved, and once less for each later block.
@pytest.mark.parametrize(("kernel", "halvings"), [("rescaled", 3), ("rescaled_in_two_loops", 4)])
def test_accumulator_is_rescaled_in_loops(kernel, halvings, target, switches, random):
    A, B = matrix(random, (136, 200), "f2"), matrix(random, (200, 136), "f2")
    C = np.zeros((136, 136), np.float16)
    a, b = f64(A, B)
    weights = 0.5 ** (halvings - np.arange(200) // 64)
    exact = (a * weights) @ b
    args = (A, B, C, 128, 128, 64)
    program = getattr(matrix_kernels, kernel)
    for (c,) in run_everywhere(program, blocks(C.shape, (128, 128)), args, (2,), target=target, hints=switches):
        assert_within(c, exact, product_tolerance(a, b, exact, "f2"))


def test_persistent_block_computes_several_tiles(target, switches, random):
    A, B = matrix(random, (300, 200), "f2"), matrix(random, (200, 150), "f2")
    C = np.zeros((300, 152), np.float16)[:, :150]
    a, b = f64(A, B)
    for (c,) in run_everywhere(
        matrix_kernels.persistent, (2,), (A, B, C, 128, 64, 64), (2,), target=target, hints=switches
    ):
        assert_within(c, a @ b, product_tolerance(a, b, a @ b, "f2"))


def test_multiply_under_a_condition(target, switches, random):
    A, B = matrix(random, (136, 328), "f2"), matrix(random, (328, 72), "f2")
    C = np.zeros((136, 72), np.float16)
    a, b = f64(A, B)
    chosen = (np.arange(328) // 64 % 2 == 0).astype(np.float64)
    exact = (a * chosen) @ b
    args = (A, B, C, 128, 64, 64)
    for (c,) in run_everywhere(
        matrix_kernels.under_if, blocks(C.shape, (128, 64)), args, (2,), target=target, hints=switches
    ):
        assert_within(c, exact, product_tolerance(a * chosen, b, exact, "f2"))


# Rows of tiles by steps of K: all flags of a tile, some, none.
FLAGS = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 1]], np.int32)


def test_memory_decides_what_is_stored(target, switches, random):
    A, B = matrix(random, (4 * 128 - 8, 4 * 64 - 8), "f2"), matrix(random, (4 * 64 - 8, 64), "f2")
    C, R = np.zeros((len(A), 64), np.float16), np.zeros((4, 12), np.int32)
    a, b = f64(A, B)
    stored = np.repeat(FLAGS[:, :1], 128, axis=0)[: len(A)]
    chosen = FLAGS @ np.arange(1, 5)
    steps = np.where(np.arange(12) < chosen[:, None], np.arange(1, 13), 0)
    args = (A, B, C, FLAGS, R, 128, 64, 64)
    for c, r in run_everywhere(
        matrix_kernels.stores_under_flags, (2,), args, (2, 4), target=target, hints=switches, seeds=(0, 1, 2)
    ):
        assert_within(c, stored * (a @ b), product_tolerance(a, b, a @ b, "f2"))
        assert_within(r, steps, 0.0)


def test_memory_decides_what_is_rescaled(target, switches, random):
    A, B = matrix(random, (4 * 128 - 8, 4 * 64 - 8), "f2"), matrix(random, (4 * 64 - 8, 64), "f2")
    C = np.zeros((len(A), 64), np.float16)
    a, b = f64(A, B)
    # The product of step k is halved by the flags of this step and those after it.
    weights = 0.5 ** np.cumsum(FLAGS[:, ::-1], axis=1)[:, ::-1]
    weighted = a * np.repeat(np.repeat(weights, 128, axis=0), 64, axis=1)[: a.shape[0], : a.shape[1]]
    args = (A, B, C, FLAGS, 128, 64, 64)
    for (c,) in run_everywhere(
        matrix_kernels.rescaled_under_flags, (4,), args, (2,), target=target, hints=switches, seeds=(0, 1, 2)
    ):
        assert_within(c, weighted @ b, product_tolerance(a, b, weighted @ b, "f2"))


@pytest.mark.parametrize("steps", [(48, 32), (32, 96), (16, 64)], ids=["gaps-overlap", "gaps", "overlap"])
def test_strided_views(target, switches, random, steps):
    X = matrix(random, (144, 200), "f2")
    rows, columns = (-(-144 // steps[0]), -(-200 // steps[1]))
    Y = np.zeros((rows * 32, columns * 64), np.float16)
    exact = np.zeros(Y.shape)
    for i in range(rows):
        for j in range(columns):
            tile = X[i * steps[0] : i * steps[0] + 32, j * steps[1] : j * steps[1] + 64]
            padded = np.pad(tile, ((0, 32 - tile.shape[0]), (0, 64 - tile.shape[1])))
            exact[i * 32 : i * 32 + 32, j * 64 : j * 64 + 64] = padded + np.float16(1)
    args = (X, Y, 32, 64, *steps)
    for (y,) in run_everywhere(programs.strided, (rows, columns), args, (1,), target=target, hints=switches):
        assert_within(y, exact, 0.0)


@pytest.mark.parametrize("step", [48, 96], ids=["overlap", "gaps"])
def test_tile_of_a_strided_view_is_an_operand(target, switches, random, step):
    A, B = matrix(random, (136, 400), "f2"), matrix(random, (200, 72), "f2")
    C = np.zeros((136, 72), np.float16)
    a, b = f64(A, B)
    gathered = np.zeros((136, 256))
    for k in range(4):
        part = a[:, k * step : k * step + 64]
        gathered[:, k * 64 : k * 64 + part.shape[1]] = part
    b = np.pad(b, ((0, 56), (0, 0)))
    args = (A, B, C, 128, 64, 64, step)
    for (c,) in run_everywhere(
        matrix_kernels.strided_matmul, blocks(C.shape, (128, 64)), args, (2,), target=target, hints=switches
    ):
        assert_within(c, gathered @ b, product_tolerance(gathered, b, gathered @ b, "f2"))


# Each element takes four float32 operations, an exp within 2 units in the last place, and a sum of 256 in any order.
SOFTMAX_RELATIVE = (4 + 2 + 256) * 2.0**-24


@pytest.mark.parametrize("shape", [(128, 256), (100, 200)], ids=["whole", "ragged"])
def test_row_softmax(target, switches, random, shape):
    X = matrix(random, shape, "f4") * 4
    Y = np.zeros(shape, np.float32)
    x = X.astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    exact = e / e.sum(axis=1, keepdims=True)
    for (y,) in run_everywhere(programs.softmax, (1,), (X, Y, 128, 256), (1,), target=target, hints=switches):
        assert_within(y, exact, SOFTMAX_RELATIVE * exact * (1 + np.abs(x - x.max(axis=1, keepdims=True))) + 1e-38)


def test_sums_over_either_axis(target, switches, random):
    X = matrix(random, (128, 64), "f4")
    R, C = np.zeros(128, np.float32), np.zeros(64, np.float32)
    x = X.astype(np.float64)
    for r, c in run_everywhere(programs.sums, (1,), (X, R, C, 128, 64), (1, 2), target=target, hints=switches):
        assert_within(r, x.sum(axis=1), 64 * 2.0**-24 * np.abs(x).sum(axis=1))
        assert_within(c, x.sum(axis=0), 128 * 2.0**-24 * np.abs(x).sum(axis=0))


# The weights are rounded to float16 before the second multiply; everything else of attention is float32.
ATTENTION_RELATIVE = 2 * 2.0**-11


def test_attention(target, switches, random):
    Q, K, V = matrix(random, (200, 64), "f2"), matrix(random, (192, 64), "f2"), matrix(random, (192, 64), "f2")
    result = np.zeros((200, 64), np.float16)
    q, k, v = f64(Q, K, V)
    s = q @ k.T * 0.125
    weights = np.exp(s - s.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    exact = weights @ v
    tolerance = ATTENTION_RELATIVE * (weights @ np.abs(v)) + product_tolerance(weights, v, exact, "f2")
    args = (Q, K, V, result, 0.125, 128, 64, 64)
    for (found,) in run_everywhere(programs.attention, (2,), args, (3,), target=target, hints=switches):
        assert_within(found, exact, tolerance)


def test_in_place_updates_are_ordered(target, switches, random):
    X = matrix(random, (128, 64), "f4")
    exact = X.astype(np.float64).reshape(2, 64, 64).transpose(0, 2, 1).copy()
    exact[:, 32:] += exact[:, :32]
    for (x,) in run_everywhere(programs.in_place, (2,), (X, 64, 64), (0,), target=target, hints=switches):
        assert_within(x, exact.reshape(128, 64), 2.0**-24 * np.abs(exact.reshape(128, 64)))


def test_last_store_of_a_tile_determines_the_result(target, switches, random):
    X, Y = matrix(random, (256, 64), "f4"), np.zeros((64, 64), np.float32)
    parts = X.astype(np.float64).reshape(4, 64, 64)
    for (y,) in run_everywhere(programs.running_sum, (1,), (X, Y, 64, 64), (1,), target=target, hints=switches):
        assert_within(y, parts.sum(axis=0), 4 * 2.0**-24 * np.abs(parts).sum(axis=0))


@pytest.mark.parametrize("limit", [0, 3000, 10**6], ids=["first iteration", "later iteration", "never"])
def test_break_continue_and_return(target, switches, limit):
    X, Y = np.arange(10 * 64, dtype=np.int32) % 50, np.zeros(64, np.int32)
    total = np.zeros(64, np.int32)
    for i, tile in enumerate(X.reshape(10, 64), 1):
        if i % 3:
            total += tile
            if total.sum() > limit:
                break
    for (y,) in run_everywhere(programs.early_exits, (2,), (X, Y, 64, limit), (1,), target=target, hints=switches):
        assert_within(y, total, 0.0)


def test_gather(target, switches, random):
    X, picked = random.standard_normal(50).astype(np.float32), random.integers(0, 50, 128).astype(np.int32)
    Y = np.zeros(128, np.float32)
    for (y,) in run_everywhere(sparse_kernels.gathered, (2,), (X, picked, Y, 64), (2,), target=target, hints=switches):
        assert_within(y, X[picked].astype(np.float64), 0.0)


def test_batched_multiply(target, switches, random):
    A = random.standard_normal((3, 130, 72), np.float32).astype(np.float16)
    B = random.standard_normal((3, 72, 136), np.float32).astype(np.float16)
    C = np.zeros((3, 130, 136), np.float16)
    args = (A, B, C, 128, 128, 64)
    for (c,) in run_everywhere(batch_kernels.batched, (2, 2, 3), args, (2,), target=target, hints=switches):
        for found, a, b in zip(c, *f64(A, B), strict=True):
            assert_within(found, a @ b, product_tolerance(a, b, a @ b, "f2"))


def test_layer_norm(target, switches, random):
    X, W, B = (random.standard_normal(shape).astype(np.float32) for shape in ((5, 300), 300, 300))
    Y = np.zeros_like(X)
    x, w, b = f64(X, W, B)
    normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    # A sum of 300 in any order is off by 300 * 2^-24 of its magnitude; mean, variance and rsqrt share that error.
    tolerance = 3 * 300 * 2.0**-24 * (np.abs(normal) + 1) * np.abs(w) + 2.0**-22 * np.abs(b)
    args = (X, W, B, Y, 1e-5, 512)
    for (y,) in run_everywhere(programs.layer_norm, (5,), args, (3,), target=target, hints=switches):
        assert_within(y, normal * w + b, tolerance)
