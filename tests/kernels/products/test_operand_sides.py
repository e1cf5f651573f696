"""Products that are only read transposed are computed transposed (plan/operand_sides.py), in any wording."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Integer = ct.Constant[int]
STEPS = 3
# Rows of queries, columns of keys, depth.
SHAPES = [(16, 64, 64), (32, 64, 64), (32, 128, 64), (64, 32, 64), (64, 64, 64), (128, 64, 64), (128, 128, 64)]


@ct.kernel
def gradients(Q, K, V, G, L, DK, DV, M: Integer, N: Integer, D: Integer):
    """The sums of a backward pass of attention, with a threshold in the place of the exponential."""
    k, v = ct.load(K, (ct.bid(0), 0), (N, D)), ct.load(V, (ct.bid(0), 0), (N, D))
    dk, dv = ct.zeros((N, D), ct.float32), ct.zeros((N, D), ct.float32)
    for i in range(ct.num_tiles(Q, 0, (M, D))):
        q, g = ct.load(Q, (i, 0), (M, D)), ct.load(G, (i, 0), (M, D))
        limit = ct.load(L, (i,), (M,)).reshape((M, 1))
        p = ct.where(ct.mma(q, ct.transpose(k), ct.zeros((M, N), ct.float32)) > limit, 1.0, 0.0)
        dv = ct.mma(ct.transpose(p.astype(Q.dtype)), g, dv)
        ds = p * (ct.mma(g, ct.transpose(v), ct.zeros((M, N), ct.float32)) - limit)
        dk = ct.mma(ct.transpose(ds.astype(Q.dtype)), q, dk)
    ct.store(DK, (ct.bid(0), 0), dk)
    ct.store(DV, (ct.bid(0), 0), dv)


@ct.kernel
def gradients_by_keys(Q, K, V, G, L, DK, DV, M: Integer, N: Integer, D: Integer):
    """The same computation, in which rows are keys from the start."""
    k, v = ct.load(K, (ct.bid(0), 0), (N, D)), ct.load(V, (ct.bid(0), 0), (N, D))
    dk, dv = ct.zeros((N, D), ct.float32), ct.zeros((N, D), ct.float32)
    for i in range(ct.num_tiles(Q, 0, (M, D))):
        q, g = ct.load(Q, (i, 0), (M, D)), ct.load(G, (i, 0), (M, D))
        limit = ct.load(L, (i,), (M,)).reshape((1, M))
        p = ct.where(ct.mma(k, ct.transpose(q), ct.zeros((N, M), ct.float32)) > limit, 1.0, 0.0)
        dv = ct.mma(p.astype(Q.dtype), g, dv)
        ds = p * (ct.mma(v, ct.transpose(g), ct.zeros((N, M), ct.float32)) - limit)
        dk = ct.mma(ds.astype(Q.dtype), q, dk)
    ct.store(DK, (ct.bid(0), 0), dk)
    ct.store(DV, (ct.bid(0), 0), dv)


@ct.kernel
def beside_an_equal_sum(A, B, X, R, S, M: Integer, N: Integer, K: Integer):
    """A loop carries two sums of one type, of which a multiply after it reads one transposed."""
    first, second = ct.zeros((M, N), ct.float32), ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(A, 1, (M, K))):
        a = ct.load(A, (0, k), (M, K))
        first = ct.mma(a, ct.load(B, (k, 0), (K, N)), first)
        second = ct.mma(a, ct.load(B, (k, 1), (K, N)), second)
    result = ct.zeros((N, N), ct.float32)
    for j in range(ct.num_tiles(X, 1, (M, N))):
        result = ct.mma((second * 0.5).astype(A.dtype).transpose(), ct.load(X, (0, j), (M, N)), result)
    ct.store(R, (0, 0), result)
    ct.store(S, (0, 0), first)


@ct.kernel
def masked_gradients(Q, K, V, G, L, DK, DV, DQ, M: Integer, N: Integer, D: Integer, WITH_DQ: Integer):
    """A branch masks some of the products. With dq one multiply reads ds transposed, and another as it is."""
    k, v = ct.load(K, (ct.bid(0), 0), (N, D)), ct.load(V, (ct.bid(0), 0), (N, D))
    dk, dv = ct.zeros((N, D), ct.float32), ct.zeros((N, D), ct.float32)
    for i in range(ct.num_tiles(Q, 0, (M, D))):
        q, g = ct.load(Q, (i, 0), (M, D)), ct.load(G, (i, 0), (M, D))
        limit = ct.load(L, (i,), (M,)).reshape((M, 1))
        s = ct.mma(q, ct.transpose(k), ct.zeros((M, N), ct.float32))
        if i == 1:
            columns = ct.arange(N, dtype=ct.int32)[None, :] + ct.zeros((M, 1), ct.int32)
            s = ct.where(columns < ct.arange(M, dtype=ct.int32)[:, None], s, -1000.0)
        p = ct.where(s > limit, 1.0, 0.0)
        dv = ct.mma(ct.transpose(p.astype(Q.dtype)), g, dv)
        ds = (p * (ct.mma(g, ct.transpose(v), ct.zeros((M, N), ct.float32)) - limit)).astype(Q.dtype)
        dk = ct.mma(ct.transpose(ds), q, dk)
        if WITH_DQ:
            ct.store(DQ, (i, 0), ct.mma(ds, k, ct.zeros((M, D), ct.float32)))
    ct.store(DK, (ct.bid(0), 0), dk)
    ct.store(DV, (ct.bid(0), 0), dv)


@ct.kernel
def of_parts(Q, K, V, OUT, M: Integer, N: Integer, D: Integer):
    """A product is summed over the parts of the depth, in a loop and by a chain of two multiplies."""
    v = ct.load(V, (0, 0), (M, D))
    for j in range(ct.num_tiles(K, 0, (N, D))):
        s = ct.zeros((M, N), ct.float32)
        for part in range(2):
            q, k = ct.load(Q, (0, part), (M, D)), ct.load(K, (j, part), (N, D))
            s = ct.mma(q, ct.transpose(k), s)
            q, k = ct.load(Q, (0, part + 2), (M, D)), ct.load(K, (j, part + 2), (N, D))
            s = ct.mma(q, ct.transpose(k), s)
        ct.store(OUT, (j, 0), ct.mma(ct.transpose(s.astype(Q.dtype)), v, ct.zeros((N, D), ct.float32)))


@ct.kernel
def of_unrolled_parts(Q, K, V, OUT, M: Integer, N: Integer, D: Integer):
    """The parts in order, two in an iteration: a loop of four, which starts from the zeros of the other product."""
    v = ct.load(V, (0, 0), (M, D))
    for j in range(ct.num_tiles(K, 0, (N, D))):
        s = ct.zeros((M, N), ct.float32)
        for part in range(0, 4, 2):
            q, k = ct.load(Q, (0, part), (M, D)), ct.load(K, (j, part), (N, D))
            s = ct.mma(q, ct.transpose(k), s)
            q, k = ct.load(Q, (0, part + 1), (M, D)), ct.load(K, (j, part + 1), (N, D))
            s = ct.mma(q, ct.transpose(k), s)
        ct.store(OUT, (j, 0), ct.mma(ct.transpose(s.astype(Q.dtype)), v, ct.zeros((N, D), ct.float32)))


@ct.kernel
def of_softmax(Q, K, V, OUT, M: Integer, N: Integer, D: Integer):
    """The greatest product of a row is subtracted, so that rows would be exchanged between all threads."""
    v = ct.load(V, (0, 0), (M, D))
    q = ct.load(Q, (0, 0), (M, D))
    for j in range(ct.num_tiles(K, 0, (N, D))):
        s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (N, D))), ct.zeros((M, N), ct.float32))
        p = (s - ct.max(s, axis=1, keepdims=True)).astype(Q.dtype)
        ct.store(OUT, (j, 0), ct.mma(ct.transpose(p), v, ct.zeros((N, D), ct.float32)))


@ct.kernel
def rows_of_softmax(Q, K, V, OUT, M: Integer, N: Integer, D: Integer, transposed: ct.Constant[bool]):
    """Threads reduce the rows of a product, which the program may transpose; both multiplies start from zeros."""
    q = ct.load(Q, (0, 0), (M, D))
    total = ct.zeros((M, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (N, D))):
        k = ct.load(K, (j, 0), (N, D))
        if transposed:
            s = ct.transpose(ct.mma(k, ct.transpose(q), ct.zeros((N, M), ct.float32)) * 2.0)
        else:
            s = ct.mma(q, ct.transpose(k), ct.zeros((M, N), ct.float32)) * 2.0
        p = (s - ct.max(s, axis=1, keepdims=True)).astype(Q.dtype)
        total = ct.mma(p, ct.load(V, (j, 0), (N, D)), total)
    ct.store(OUT, (0, 0), total)


@ct.kernel
def stored_transposed(A, B, C, M: Integer, N: Integer, K: Integer, transposed: ct.Constant[bool]):
    """A sum that is transposed after the loop, and the same sum without a transposition."""
    if transposed:
        total = ct.zeros((N, M), ct.float32)
        for k in range(ct.num_tiles(A, 1, (M, K))):
            b = ct.transpose(ct.load(B, (k, 0), (K, N)))
            total = ct.mma(b, ct.transpose(ct.load(A, (0, k), (M, K))), total)
        ct.store(C, (0, 0), ct.transpose(total))
    else:
        total = ct.zeros((M, N), ct.float32)
        for k in range(ct.num_tiles(A, 1, (M, K))):
            total = ct.mma(ct.load(A, (0, k), (M, K)), ct.load(B, (k, 0), (K, N)), total)
        ct.store(C, (0, 0), total)


def inputs(random: np.random.Generator, m: int, n: int, d: int) -> tuple[np.ndarray, ...]:
    """Integers whose sums of products are exact in f16 and f32."""
    q, g = (random.integers(-1, 2, (STEPS * m, d)).astype(np.float16) for _ in range(2))
    k, v = (random.integers(-1, 2, (2 * n, d)).astype(np.float16) for _ in range(2))
    return q, k, v, g, random.integers(-3, 4, STEPS * m).astype(np.float32)


def expected_gradients(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, limit: np.ndarray, mask: np.ndarray | bool = True
) -> tuple[np.ndarray, ...]:
    """dk, dv and the factors ds of f32."""
    q, k, v, g = (array.astype(np.float32) for array in (q, k, v, g))
    p = ((q @ k.T > limit[:, None]) & mask).astype(np.float32)
    ds = p * (g @ v.T - limit[:, None])
    return ds.T @ q, p.T @ g, ds


def ptx_of(kernel: object, args: tuple[object, ...], target: str) -> str:
    return ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="ptx").ptx


def instructions(kernel: object, args: tuple[object, ...], target: str) -> Counter[str]:
    """How often each instruction is in the PTX of a kernel."""
    return Counter(re.findall(r"^\s*(?:@\S+ )?([a-z][\w.:]*) ", ptx_of(kernel, args, target), re.M))


def turned(kernel: object, args: tuple[object, ...], target: str) -> int:
    """The multiplies whose operands change sides."""
    signature = Signature.from_arguments(kernel, args)
    return ct.compile(kernel, target=target, signature=signature).stage("tile-opt").text.count("tilec.turned")


def gradient_args(random: np.random.Generator, m: int, n: int, d: int) -> tuple[object, ...]:
    results = (np.full((2 * n, d), np.nan, np.float32) for _ in range(2))
    return *inputs(random, m, n, d), *results, m, n, d


@pytest.mark.parametrize(("m", "n", "d"), SHAPES)
def test_gradients(random: np.random.Generator, target: str, m: int, n: int, d: int) -> None:
    """Products, their limits and comparisons are turned as a whole, and results are exact."""
    args = gradient_args(random, m, n, d)
    dk, dv, _ = expected_gradients(*args[:5])
    for of_keys, of_values in run_everywhere(gradients, (2,), args, [5, 6], target=target, hints={}):
        assert np.array_equal(of_keys, dk)
        assert np.array_equal(of_values, dv)


@pytest.mark.parametrize(("m", "n"), [(16, 64), (32, 128), (64, 64), (128, 128)])
def test_both_wordings_have_the_same_instructions(random: np.random.Generator, target: str, m: int, n: int) -> None:
    """Rows of queries with a transposition, and rows of keys without."""
    args = gradient_args(random, m, n, 64)
    opcodes = [instructions(kernel, args, target) for kernel in (gradients, gradients_by_keys)]
    assert opcodes[0] == opcodes[1]
    assert not any(name.startswith("mma.sync") for name in opcodes[0])


@pytest.mark.parametrize(("m", "n", "d"), [(128, 128, 128), (64, 64, 64), (128, 128, 64), (64, 128, 64)])
def test_rows_that_threads_reduce(random: np.random.Generator, target: str, m: int, n: int, d: int) -> None:
    """A product that threads read after a transposition is computed transposed.

    Also beside tiles of its shape, and where its columns, of queries, take an instruction of tcgen05 with idle rows.
    """
    q, k, v = (random.integers(-1, 2, (rows, d)).astype(np.float16) for rows in (m, 2 * n, 2 * n))
    wordings = [(q, k, v, np.full((m, d), np.nan, np.float32), m, n, d, transposed) for transposed in (True, False)]
    s = 2 * q.astype(np.float32) @ k.astype(np.float32).T
    parts = [(x - x.max(1, keepdims=True)) @ y for x, y in zip(np.split(s, 2, axis=1), np.split(v, 2), strict=True)]
    for (found,) in run_everywhere(rows_of_softmax, (1,), wordings[0], [3], target=target, hints={}):
        assert np.array_equal(found, sum(parts))
    assert instructions(rows_of_softmax, wordings[0], target) == instructions(rows_of_softmax, wordings[1], target)


def test_a_sum_that_is_stored_transposed(random: np.random.Generator, target: str) -> None:
    a, b = random.integers(-2, 3, (128, 192)).astype(np.float16), random.integers(-2, 3, (192, 128)).astype(np.float16)
    wordings = [(a, b, np.zeros((128, 128), np.float32), 128, 128, 64, transposed) for transposed in (True, False)]
    for (found,) in run_everywhere(stored_transposed, (1,), wordings[0], [2], target=target, hints={}):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))
    assert instructions(stored_transposed, wordings[0], target) == instructions(stored_transposed, wordings[1], target)


def test_rows_that_fit_a_unit_better_stay(random: np.random.Generator, target: str) -> None:
    """tcgen05 takes as long for 64 rows as for 128; wgmma takes half. 256 columns leave too little tensor memory."""
    for m, n in ((128, 64), (256, 128)):
        assert turned(gradients, gradient_args(random, m, n, 64), target) == (0 if target == "sm_100a" else 2)
    assert turned(gradients, gradient_args(random, 128, 128, 64), target) == 2


@pytest.mark.parametrize("with_dq", [0, 1])
def test_masks_in_branches(random: np.random.Generator, target: str, with_dq: int) -> None:
    """Products that a branch masks are turned as well, but not those that a multiply reads as they are."""
    m = n = d = 64
    q, k, v, g, limit = inputs(random, m, n, d)
    k, v = k[:n], v[:n]
    mask = np.ones((STEPS * m, n), bool)
    mask[m : 2 * m] = np.arange(n)[None] < np.arange(m)[:, None]
    results = (np.zeros((rows, d), np.float32) for rows in (n, n, STEPS * m))
    args = q, k, v, g, limit, *results, m, n, d, with_dq
    dk, dv, ds = expected_gradients(q, k, v, g, limit, mask)
    dq = ds @ k.astype(np.float32) * with_dq
    for found in run_everywhere(masked_gradients, (1,), args, [5, 6, 7], target=target, hints={}):
        for array, expected in zip(found, (dk, dv, dq), strict=True):
            assert np.array_equal(array, expected)
    assert turned(masked_gradients, args, target) == (0 if with_dq else 2)


def test_products_whose_rows_are_reduced_stay(random: np.random.Generator, target: str) -> None:
    """A reduction along the columns in the loop stays within the threads of a row."""
    q, v = (random.integers(-1, 2, (64, 64)).astype(np.float16) for _ in range(2))
    k = random.integers(-1, 2, (128, 64)).astype(np.float16)
    args = q, k, v, np.full((128, 64), np.nan, np.float32), 64, 64, 64
    s = q.astype(np.float32) @ k.astype(np.float32).T
    tiles = [s[:, :64], s[:, 64:]]
    expected = np.concatenate([(x - x.max(1, keepdims=True)).T @ v.astype(np.float32) for x in tiles])
    for (found,) in run_everywhere(of_softmax, (1,), args, [3], target=target, hints={}):
        assert np.array_equal(found, expected)
    assert turned(of_softmax, args, target) == 0


@pytest.mark.parametrize(("kernel", "multiplies"), [(of_parts, 2), (of_unrolled_parts, 1)])
def test_a_product_of_several_multiplies(
    random: np.random.Generator, target: str, kernel: object, multiplies: int
) -> None:
    """All multiplies that add to a product are turned with it."""
    q, k, v = (random.integers(-1, 2, shape).astype(np.float16) for shape in ((64, 256), (128, 256), (64, 64)))
    args = q, k, v, np.full((128, 64), np.nan, np.float32), 64, 64, 64
    expected = k.astype(np.float32) @ q.astype(np.float32).T @ v.astype(np.float32)
    for (found,) in run_everywhere(kernel, (1,), args, [3], target=target, hints={}):
        assert np.array_equal(found, expected)
    assert turned(kernel, args, target) == multiplies


@pytest.mark.parametrize("hints", [{}, {"num_ctas": 2}], ids=str)
def test_a_sum_beside_one_of_the_same_type(hints, target):
    """The loop then carries tiles of two types, in runs of their own."""
    random = np.random.default_rng(4)
    a, b, x = (random.integers(-1, 2, shape).astype(np.float16) for shape in ((128, 128), (128, 128), (128, 128)))
    first, second = np.split(a.astype(np.float32) @ b, 2, axis=1)
    exact = (second * 0.5).T @ (x[:, :64].astype(np.float32) + x[:, 64:])
    args = (a, b, x, np.zeros((64, 64), np.float32), np.zeros((128, 64), np.float32), 128, 64, 64)
    for result, total in run_everywhere(beside_an_equal_sum, (1,), args, (3, 4), target=target, hints=hints):
        np.testing.assert_array_equal(result, exact)
        np.testing.assert_array_equal(total, first)
