"""Slices of arrays, whose starts and stops are known at run time, are loaded, multiplied and stored like arrays.

The elements around a slice in memory are NaN or large numbers: no kernel reads them as data, or writes them.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
# Stored around each slice of an output.
UNTOUCHED = 12345.0


def integers(random: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float16) -> np.ndarray:
    return random.integers(-2, 3, shape).astype(dtype)


def everywhere(kernel: Any, args: tuple[Any, ...], output: int, target: str, grid: int = 1, **hints: Any) -> list[Any]:
    """The output of the simulator for two seeds, and of the interpreter."""
    results = run_everywhere(kernel, (grid,), args, (output,), target=target, hints=hints, seeds=(0, 1))
    return [result for (result,) in results]


@ct.kernel
def ragged_attention(Q, K, V, starts, lengths, R, M: Const, N: Const, D: Const):
    """softmax(Q K^T) V to the base 2, of the queries and keys of each sequence."""
    sequence = ct.bid(0)
    start, length = ct.load(starts, sequence, ()), ct.load(lengths, sequence, ())
    queries = Q.slice(axis=0, start=start, stop=start + length)
    keys, values = K.slice(axis=0, start=start, stop=start + length), V.slice(axis=0, start=start, stop=start + length)
    results = R.slice(axis=0, start=start, stop=start + length)
    for row in range(ct.cdiv(length, M)):
        q = ct.load(queries, (row, 0, 0), (M, 1, D), padding_mode=ZERO).reshape((M, D))
        acc, total = ct.zeros((M, D), ct.float32), ct.zeros((M, 1), ct.float32)
        largest = ct.full((M, 1), -1e30, ct.float32)
        for i in range(ct.cdiv(length, N)):
            k = ct.load(keys, (i, 0, 0), (N, 1, D), padding_mode=ZERO, latency=2).reshape((N, D))
            scores = ct.mma(q, ct.transpose(k), ct.zeros((M, N), ct.float32))
            inside = i * N + ct.arange(N, dtype=ct.int32)[None, :] < length
            scores = ct.where(inside, scores, -1e30)
            peak = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
            p = ct.exp2(scores - peak, flush_to_zero=True)
            factor = ct.exp2(largest - peak, flush_to_zero=True)
            v = ct.load(values, (i, 0, 0), (N, 1, D), padding_mode=ZERO, latency=2).reshape((N, D))
            total = total * factor + ct.sum(p, 1, keepdims=True)
            acc = ct.mma(p.astype(Q.dtype), v, acc * factor)
            largest = peak
        ct.store(results, (row, 0, 0), (acc / total).astype(R.dtype).reshape((M, 1, D)))


LENGTHS = (130, 0, 37)
STARTS = (5, 140, 150)


@pytest.mark.parametrize(("rows", "keys"), [(64, 32), (128, 32), (128, 64)])
def test_attention_of_sequences_of_any_length(target: str, rows: int, keys: int, random: np.random.Generator) -> None:
    shape = 192, 2, 64
    q, k, v = (random.standard_normal(shape, np.float32).astype(np.float16) for _ in range(3))
    q /= 8
    exact = np.full((192, 64), UNTOUCHED)
    for start, length in zip(STARTS, LENGTHS, strict=True):
        part = slice(start, start + length)
        scores = q[part, 0].astype(np.float64) @ k[part, 0].astype(np.float64).T
        weights = np.exp2(scores - scores.max(1, keepdims=True, initial=-np.inf))
        exact[part] = weights / weights.sum(1, keepdims=True) @ v[part, 0].astype(np.float64)
    inside = np.concatenate([np.arange(start, start + length) for start, length in zip(STARTS, LENGTHS, strict=True)])
    for array in (q, k, v):
        array[np.setdiff1d(np.arange(192), inside)] = np.nan
    o = np.full((192, 2, 64), UNTOUCHED, np.float32)
    args = q, k, v, np.array(STARTS, np.int32), np.array(LENGTHS, np.int32), o, rows, keys, 64
    for result in everywhere(ragged_attention, args, 5, target, len(STARTS)):
        # Weights and values are rounded to float16, whose unit roundoff is 2^-11; a weighted mean adds no magnitude.
        np.testing.assert_allclose(result[:, 0], exact, rtol=0, atol=2.0**-9 * np.nanmax(np.abs(v)))
        assert np.all(result[:, 1] == UNTOUCHED)


@ct.kernel
def grouped(A, B, C, starts, stops, columns: Const, depth: Const, tm: Const):
    """C[start:stop] = A[start:stop] @ B[group * K : (group + 1) * K], for the group of the block."""
    group = ct.bid(0)
    start, stop = ct.load(starts, group, ()), ct.load(stops, group, ())
    size = A.shape[1]
    a, b = A.slice(axis=0, start=start, stop=stop), B.slice(axis=0, start=group * size, stop=(group + 1) * size)
    c = C.slice(axis=0, start=start, stop=stop)
    for row in range(ct.cdiv(stop - start, tm)):
        total = ct.zeros((tm, columns), ct.float32)
        for k in range(ct.cdiv(size, depth)):
            left = ct.load(a, (row, k), (tm, depth), padding_mode=ZERO)
            total = ct.mma(left, ct.load(b, (k, 0), (depth, columns), padding_mode=ZERO), total)
        ct.store(c, (row, 0), total.astype(C.dtype))


def groups(random: np.random.Generator, size: int, columns: int, dtype: Any) -> tuple[Any, ...]:
    """Operands, offsets and the exact result of three groups; the rows between the groups are not part of any."""
    starts, stops = np.array([3, 3, 140], np.int32), np.array([131, 3, 181], np.int32)
    a, b = integers(random, (192, size), dtype), integers(random, (3 * size, columns), dtype)
    exact, inside = np.full((192, columns), UNTOUCHED, np.float32), np.zeros(192, bool)
    for group, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        part = b[group * size : (group + 1) * size].astype(np.float64)
        exact[start:stop], inside[start:stop] = a[start:stop].astype(np.float64) @ part, True
    a[~inside] = 100
    return a, b, starts, stops, exact


@pytest.mark.parametrize("hints", [{}, {"num_ctas": 2}, {"roles": False}, {"stages": 2}, {"tma": False}], ids=str)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.float8_e4m3fn])
def test_groups_of_rows(target: str, dtype: Any, hints: dict[str, Any], random: np.random.Generator) -> None:
    a, b, starts, stops, exact = groups(random, 80, 64, dtype)
    args = a, b, np.full_like(exact, UNTOUCHED), starts, stops, 64, 64, 128
    for result in everywhere(grouped, args, 2, target, 3, **hints):
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def experts(X, W, Y, offsets, tm: Const, tn: Const, tk: Const):
    """Y[rows of e] = X[rows of e] @ W[e], with the rows sorted by expert: a block computes those of one expert."""
    expert = ct.bid(0)
    start, stop = ct.load(offsets, expert, ()), ct.load(offsets, expert + 1, ())
    x, y = X.slice(axis=0, start=start, stop=stop), Y.slice(axis=0, start=start, stop=stop)
    weights = W.slice(axis=0, start=expert, stop=expert + 1)
    for row in range(ct.cdiv(stop - start, tm)):
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(X.shape[1], tk)):
            w = ct.load(weights, (0, k, 0), (1, tk, tn)).reshape((tk, tn))
            total = ct.mma(ct.load(x, (row, k), (tm, tk), padding_mode=ZERO), w, total)
        ct.store(y, (row, 0), ct.maximum(total, 0))


def test_experts_with_sorted_rows(target: str, random: np.random.Generator) -> None:
    offsets = np.array([0, 70, 70, 133, 150], np.int32)
    x, w = integers(random, (152, 128)), integers(random, (4, 128, 64))
    exact = np.full((152, 64), UNTOUCHED, np.float32)
    for expert in range(4):
        rows = slice(offsets[expert], offsets[expert + 1])
        exact[rows] = np.maximum(x[rows].astype(np.float64) @ w[expert].astype(np.float64), 0)
    args = x, w, np.full_like(exact, UNTOUCHED), offsets, 64, 64, 64
    for result in everywhere(experts, args, 2, target, 4):
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def scaled(A, SA, B, SB, C, start: int, stop: int):
    """The rows of A and its factors, and those of C, from `start` to `stop`."""
    a, factors = A.slice(axis=0, start=start, stop=stop), SA.slice(axis=0, start=start, stop=stop)
    c = C.slice(axis=0, start=start, stop=stop)
    total = ct.zeros((128, 64), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(128, 128))):
        left, left_scale = ct.load(a, (0, k), (128, 128), padding_mode=ZERO), ct.load(factors, (0, k), (128, 4))
        right, right_scale = ct.load(B, (k, 0), (128, 64)), ct.load(SB, (k, 0), (4, 64))
        total = ct.mma_scaled(left, left_scale, right, right_scale, total)
    ct.store(c, (0, 0), total)


def test_block_scaled_products(target: str, random: np.random.Generator) -> None:
    a, b = integers(random, (160, 256), ml_dtypes.float8_e4m3fn), integers(random, (256, 64), ml_dtypes.float8_e4m3fn)
    factors = [np.exp2(random.integers(-1, 2, shape)) for shape in ((160, 8), (8, 64))]
    of_a, of_b = (each.astype(ml_dtypes.float8_e8m0fnu) for each in factors)
    left = a.astype(np.float64) * np.repeat(factors[0], 32, 1)
    exact = np.full((160, 64), UNTOUCHED, np.float32)
    exact[7:130] = left[7:130] @ (b.astype(np.float64) * np.repeat(factors[1], 32, 0))
    for result in everywhere(scaled, (a, of_a, b, of_b, np.full_like(exact, UNTOUCHED), 7, 130), 4, target):
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def nested(A, B, C, bounds):
    """Slices of slices, along rows and columns: C[r0:r1, c0:c1] = A[..] @ B[..], each of two slices per axis."""
    outer, inner = ct.load(bounds, 0, ()), ct.load(bounds, 1, ())
    a = A.slice(axis=0, start=outer, stop=outer + 150).slice(axis=0, start=inner, stop=inner + 100)
    a = a.slice(axis=1, start=outer, stop=outer + 90).slice(axis=1, start=inner, stop=inner + 80)
    b = B.slice(axis=0, start=inner, stop=inner + 80).slice(axis=1, start=outer, stop=outer + 60)
    c = C.slice(axis=1, start=inner, stop=inner + 60).slice(axis=0, start=outer, stop=outer + 100)
    total = ct.zeros((128, 64), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(128, 32))):
        left = ct.load(a, (0, k), (128, 32), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (k, 0), (32, 64), padding_mode=ZERO), total)
    ct.store(c, (0, 0), total)


@pytest.mark.parametrize("bounds", [(0, 0), (8, 16), (3, 5)])
def test_slices_of_slices(target: str, bounds: tuple[int, int], random: np.random.Generator) -> None:
    outer, inner = bounds
    first = outer + inner
    a, b = np.full((192, 128), np.nan, np.float16), np.full((128, 128), np.nan, np.float16)
    a[first : first + 100, first : first + 80] = integers(random, (100, 80))
    b[inner : inner + 80, outer : outer + 60] = integers(random, (80, 60))
    exact = np.full((128, 128), UNTOUCHED, np.float32)
    product = a[first : first + 100, first : first + 80].astype(np.float64) @ b[inner : inner + 80, outer : outer + 60]
    exact[outer : outer + 100, inner : inner + 60] = product
    args = a, b, np.full_like(exact, UNTOUCHED), np.array(bounds, np.int32)
    for result in everywhere(nested, args, 2, target):
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def gathered(X, rows, Y, start: int, stop: int):
    """Rows of a slice by number, counted in the slice; those outside of it are zero, or not stored."""
    x, y = X.slice(axis=0, start=start, stop=stop), Y.slice(axis=0, start=start, stop=stop)
    numbers, columns = ct.load(rows, 0, 16)[:, None], ct.arange(16, dtype=ct.int32)[None, :]
    ct.scatter(y, (numbers, columns), ct.gather(x, (15 - numbers, columns), padding_value=-1))


def test_gathers_and_scatters(target: str, random: np.random.Generator) -> None:
    x = integers(random, (32, 16), np.int32)
    numbers = random.permutation(16).astype(np.int32)
    exact = np.full((32, 16), 77, np.int32)
    exact[4:17] = [x[19 - row] if 15 - row < 13 else np.full(16, -1) for row in range(13)]
    for result in everywhere(gathered, (x, numbers, np.full_like(exact, 77), 4, 17), 2, target):
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def convolved(X, F, Y, start: int, stop: int):
    """A convolution of the images from `start` to `stop`, by a window of 3 pixels."""
    x, y = X.slice(axis=0, start=start, stop=stop), Y.slice(axis=0, start=start, stop=stop)
    images = ct.im2col_view(x, window=3, padding=((1, 1),), tile=(64, 16))
    total = ct.zeros((64, 16), ct.float32)
    for tap in range(3):
        filters = ct.load(F, (tap, 0, 0), (1, 16, 16)).reshape((16, 16))
        total = ct.mma(ct.load(images, (0, 0), offset=(tap,)), filters, total)
    ct.store(ct.im2col_view(y, window=1, tile=(64, 16)), (0, 0), total)


def test_convolutions_of_images(target: str, random: np.random.Generator) -> None:
    x, f = integers(random, (6, 20, 16)), integers(random, (3, 16, 16))
    exact = np.full((6, 20, 16), UNTOUCHED, np.float32)
    padded = np.pad(x[2:5].astype(np.float64), ((0, 0), (1, 1), (0, 0)))
    exact[2:5] = sum(padded[:, tap : tap + 20] @ f[tap].astype(np.float64) for tap in range(3))
    x[[0, 1, 5]] = np.nan
    for result in everywhere(convolved, (x, f, np.full_like(exact, UNTOUCHED), 2, 5), 2, target):
        np.testing.assert_array_equal(result, exact)
