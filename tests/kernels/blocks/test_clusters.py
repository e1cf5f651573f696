"""Kernels with the hint num_ctas: a cluster computes each tile, whose rows its blocks divide.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Input = Callable[[int, int], np.ndarray]


@pytest.fixture
def integers(random: np.random.Generator) -> Input:
    return lambda rows, columns: random.integers(-3, 4, (rows, columns)).astype(np.float16)


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (ct.bid(0), k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, ct.bid(1)), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, (ct.bid(0), ct.bid(1)), acc)


@pytest.mark.parametrize("column_major", [False, True], ids=["rows of B", "columns of B"])
def test_product(integers: Input, target: str, column_major: bool) -> None:
    """Two by two tiles with parts outside of the matrices, and a sum of three steps."""
    a, b = integers(300, 136), integers(136, 136)
    b = np.asfortranarray(b) if column_major else b
    c = np.full((300, 136), np.nan, np.float32)
    for (found,) in run_everywhere(matmul, (2, 2), (a, b, c, 256, 128, 64), [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def test_product_of_four_blocks(integers: Input, target: str) -> None:
    """On sm_100a two pairs have 128 rows per block, on sm_90a each block loads a quarter of B for all."""
    a, b, c = integers(512, 128), integers(128, 128), np.full((512, 128), np.nan, np.float32)
    for (found,) in run_everywhere(matmul, (1, 1), (a, b, c, 512, 128, 64), [2], target=target, hints={"num_ctas": 4}):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def test_product_with_one_role(integers: Input, target: str) -> None:
    a, b, c = integers(256, 128), integers(128, 128), np.full((256, 128), np.nan, np.float32)
    hints = {"num_ctas": 2, "roles": False, "pipeline": False}
    for (found,) in run_everywhere(matmul, (1, 1), (a, b, c, 256, 128, 64), [2], target=target, hints=hints):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def test_product_without_tma(integers: Input, target: str) -> None:
    """Each block stores all of B to its own memory."""
    a, b, c = integers(256, 64), integers(64, 128), np.full((256, 128), np.nan, np.float32)
    hints = {"num_ctas": 2, "tma": False}
    for (found,) in run_everywhere(matmul, (1, 1), (a, b, c, 256, 128, 64), [2], target=target, hints=hints):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@ct.kernel
def persistent(A, B, C, bias, blocks: int, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Tiles in groups of columns, with a row added to each row, a maximum of each row and the number of the row."""
    rows, columns = ct.num_tiles(C, 0, (tm, tn)), ct.num_tiles(C, 1, (tm, tn))
    for tile in range(ct.bid(0), rows * columns, blocks):
        i, j = tile // columns, tile % columns
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, 1, (tm, tk))):
            acc = ct.mma(ct.load(A, (i, k), (tm, tk)), ct.load(B, (k, j), (tk, tn)), acc)
        acc = ct.maximum(acc + ct.load(bias, (j,), (tn,)), 0)
        greatest = ct.max(acc, axis=1, keepdims=True)
        number = ct.reshape(ct.arange(tm, dtype=ct.int32), (tm, 1)).astype(ct.float32)
        ct.store(C, (i, j), acc - greatest + number)


def test_persistent_kernel_with_epilogue(integers: Input, target: str) -> None:
    a, b, bias = integers(512, 128), integers(128, 256), integers(1, 256)[0].astype(np.float32)
    c = np.full((512, 256), np.nan, np.float32)
    args = (a, b, c, bias, 3, 256, 128, 64)
    acc = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0).reshape(2, 256, 2, 128)
    exact = acc - acc.max(axis=3, keepdims=True) + np.arange(256)[None, :, None, None]
    for (found,) in run_everywhere(persistent, (3,), args, [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, exact.reshape(512, 256))


@ct.kernel
def two_products(Q, K, V, Out, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    """Out = (Q K^T)^2 V, as attention without its softmax: the sums of one multiply are an operand of the next one."""
    acc = ct.zeros((tm, d), ct.float32)
    q = ct.load(Q, (ct.bid(0), 0), (tm, d))
    for j in range(ct.num_tiles(K, 0, (tn, d))):
        k = ct.transpose(ct.load(K, (j, 0), (tn, d)))
        s = ct.mma(q, k, ct.zeros((tm, tn), ct.float32))
        p = (s * s).astype(ct.float16)
        acc = ct.mma(p, ct.load(V, (j, 0), (tn, d)), acc)
    ct.store(Out, (ct.bid(0), 0), acc)


def test_two_products(random: np.random.Generator, target: str) -> None:
    q, k, v = (
        (random.integers(-1, 2, shape) * 0.25).astype(np.float16) for shape in ((256, 128), (256, 128), (256, 128))
    )
    q = np.where(random.random(q.shape) < 0.1, q * 4, 0).astype(np.float16)
    o = np.full((256, 128), np.nan, np.float32)
    s = q.astype(np.float32) @ k.astype(np.float32).T
    exact = (s * s).astype(np.float16).astype(np.float32) @ v.astype(np.float32)
    for (found,) in run_everywhere(
        two_products, (1,), (q, k, v, o, 256, 128, 128), [3], target=target, hints={"num_ctas": 2}
    ):
        assert np.array_equal(found, exact)


@ct.kernel
def added(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """C += A B."""
    i, j = ct.bid(0), ct.bid(1)
    c = ct.load(C, (i, j), (tm, tn))
    ct.store(C, (i, j), ct.mma(ct.load(A, (i, 0), (tm, tk)), ct.load(B, (0, j), (tk, tn)), c))


def test_sum_in_place(integers: Input, target: str) -> None:
    a, b, c = integers(256, 64), integers(64, 128), integers(256, 128).astype(np.float32)
    for (found,) in run_everywhere(added, (1, 1), (a, b, c, 256, 128, 64), [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, c + a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("columns", [128, 256])
def test_product_without_a_hint(integers: Input, target: str, columns: int) -> None:
    """On sm_100a the model chooses pairs; parts of the tiles are outside of the matrices."""
    a, b, c = integers(300, 136), integers(136, columns + 8), np.full((300, columns + 8), np.nan, np.float32)
    args = (a, b, c, 256, columns, 64)
    for (found,) in run_everywhere(matmul, (2, 2), args, [2], target=target, hints={}):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@ct.kernel
def two_products_with_one_operand(Q, K, Out, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    """Out = Q K^T K: one tile is the right operand of both multiplies, with columns along different dimensions."""
    acc = ct.zeros((tm, d), ct.float32)
    q = ct.load(Q, (ct.bid(0), 0), (tm, d))
    for j in range(ct.num_tiles(K, 0, (tn, d))):
        k = ct.load(K, (j, 0), (tn, d))
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), ct.float32))
        acc = ct.mma(s.astype(ct.float16), k, acc)
    ct.store(Out, (ct.bid(0), 0), acc)


def test_two_products_with_one_operand(random: np.random.Generator, target: str) -> None:
    q, k = ((random.random((256, 128)) < 0.1).astype(np.float16) for _ in range(2))
    o = np.full((256, 128), np.nan, np.float32)
    exact = (q.astype(np.float32) @ k.astype(np.float32).T) @ k.astype(np.float32)
    args, hints = (q, k, o, 256, 128, 128), {"num_ctas": 2}
    for (found,) in run_everywhere(two_products_with_one_operand, (1,), args, [2], target=target, hints=hints):
        assert np.array_equal(found, exact)


@ct.kernel
def gated(A, B, D, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Two accumulators, which have one left operand."""
    i, j = ct.bid(0), ct.bid(1)
    gate, up = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (i, k), (tm, tk))
        gate = ct.mma(a, ct.load(B, (k, j), (tk, tn)), gate)
        up = ct.mma(a, ct.load(D, (k, j), (tk, tn)), up)
    ct.store(C, (i, j), gate * up)


def test_two_accumulators_without_a_hint(integers: Input, target: str) -> None:
    a, b, d = integers(256, 128), integers(128, 128), integers(128, 128)
    c = np.full((256, 128), np.nan, np.float32)
    exact = (a.astype(np.float32) @ b.astype(np.float32)) * (a.astype(np.float32) @ d.astype(np.float32))
    for (found,) in run_everywhere(gated, (1, 1), (a, b, d, c, 256, 128, 64), [3], target=target, hints={}):
        assert np.array_equal(found, exact)


@ct.kernel
def some_steps(A, B, C, rows: int, steps: int, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Tiles of the first rows, and the first steps of their sums: both blocks of a pair return and branch alike."""
    i, j = ct.bid(0), ct.bid(1)
    if i >= rows:
        return
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        if k < steps:
            acc = ct.mma(ct.load(A, (i, k), (tm, tk)), ct.load(B, (k, j), (tk, tn)), acc)
    ct.store(C, (i, j), acc)


def test_early_return_and_branch_without_a_hint(integers: Input, target: str) -> None:
    a, b, c = integers(512, 192), integers(192, 128), np.full((512, 128), 7, np.float32)
    exact = c.copy()
    exact[:256] = a[:256, :128].astype(np.float32) @ b[:128].astype(np.float32)
    args = (a, b, c, 1, 2, 256, 128, 64)
    for (found,) in run_everywhere(some_steps, (2, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, exact)
