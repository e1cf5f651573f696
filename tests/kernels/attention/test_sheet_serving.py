"""Attention of benchmarks/sheet with latent, paged and few queries: equal to softmax in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import SUM_CUT, assert_within, run_everywhere
from sheet_kernels import kernels_of

kernels = kernels_of("serving")
ROUNDINGS = {ml_dtypes.bfloat16: 2.0**-8, np.float16: 2.0**-11}
Softmax = tuple[np.ndarray, np.ndarray, np.ndarray]


def draw(random: np.random.Generator, shape: tuple[int, ...], dtype: type = ml_dtypes.bfloat16) -> np.ndarray:
    return random.standard_normal(shape, np.float32).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64).swapaxes(-1, -2)


def magnitude(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sums of the absolute values of the products, which bound the rounding errors of `product`."""
    return product(np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64)))


def attend(scores: np.ndarray, values: np.ndarray, depth: int, largest: float, dtype: type) -> Softmax:
    """The result, its tolerance, and the binary logarithm of the weights.

    P is rounded to the type of the values. A score is a sum of `depth` products, which is cut in steps of 8; `largest`
    is the largest sum of their absolute values.
    """
    values = values.astype(np.float64)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    logarithm = (scores.max(-1) + np.log(total[..., 0])) / np.log(2)
    exact, of_values = weights @ values / total, weights @ np.abs(values) / total
    error = ROUNDINGS[dtype] + 2 * (depth / 8 + 4) * SUM_CUT * largest + 2.0**-20
    tolerance = error * of_values + ROUNDINGS[dtype] * np.abs(exact) + 2.0**-24 * np.abs(values).sum(-2, keepdims=True)
    return exact, tolerance, logarithm


def causal(rows: int, keys: int, past: int = 0) -> np.ndarray:
    return np.arange(keys)[None, :] <= past + np.arange(rows)[:, None]


@pytest.mark.parametrize("heads", [16, 64])
def test_latent_decode(heads: int, random: np.random.Generator, target: str) -> None:
    q, qr = draw(random, (2, heads, 512)), draw(random, (2, heads, 64))
    kv, kr = draw(random, (2, 160, 512)), draw(random, (2, 160, 64))
    scale, length = 576**-0.5, 150
    args = [q, qr, kv, kr, np.zeros_like(q), np.zeros((2, heads), np.float32), scale, length, heads, 512, 64, 64]
    scores = (product(q, kv) + product(qr, kr))[..., :length] * scale
    largest = (magnitude(q, kv) + magnitude(qr, kr)).max() * scale
    exact, tolerance, logarithm = attend(scores, kv[:, :length], 576, largest, ml_dtypes.bfloat16)
    results = run_everywhere(kernels.latent_decode, (2, 1), args, (4, 5), target=target, hints={})
    for found, found_logarithm in results:
        assert_within(found, exact, tolerance)
        assert_within(found_logarithm, logarithm, 2 * (576 / 8 + 4) * SUM_CUT * largest + 2.0**-18)


def test_latent_prefill(random: np.random.Generator, target: str) -> None:
    rows, scale = 200, 192**-0.5
    q, k, v = (draw(random, (1, 2, rows, 128)) for _ in range(3))
    qr, kr = draw(random, (1, 2, rows, 64)), draw(random, (1, rows, 64))
    args = [q, qr, k, kr, v, np.zeros_like(q), scale, 2, 128, 64, 128, 128]
    scores = (product(q, k) + product(qr, kr[:, None])) * scale
    scores = np.where(causal(rows, rows), scores, -np.inf)
    largest = (magnitude(q, k) + magnitude(qr, kr[:, None])).max() * scale
    exact, tolerance, _ = attend(scores, v, 192, largest, ml_dtypes.bfloat16)
    for (found,) in run_everywhere(kernels.latent_prefill, (2, 2), args, (5,), target=target, hints={}):
        assert_within(found, exact, tolerance)


@pytest.mark.parametrize("page", [64, 128])
def test_paged_prefill(page: int, random: np.random.Generator, target: str) -> None:
    """The pages of a sequence are out of order, and pages of other sequences lie between them."""
    rows, past, scale = 150, 70, 128**-0.5
    count = -(-(rows + past) // page)
    pages = random.permutation(2 * count + 2)[: 2 * count].reshape(2, count).astype(np.int32)
    q = draw(random, (2, 4, rows, 128), np.float16)
    k, v = (draw(random, (2 * count + 2, 2, page, 128), np.float16) for _ in range(2))
    args = [q, k, v, pages, np.zeros_like(q), scale, past, 4, 2, 128, 128, page]
    keys, values = (each[pages].swapaxes(1, 2).reshape(2, 2, count * page, 128).repeat(2, 1) for each in (k, v))
    scores = np.where(causal(rows, count * page, past), product(q, keys) * scale, -np.inf)
    largest = magnitude(q, keys).max() * scale
    exact, tolerance, _ = attend(scores, values, 128, largest, np.float16)
    for (found,) in run_everywhere(kernels.paged_prefill, (2, 8), args, (4,), target=target, hints={}):
        assert_within(found, exact, tolerance)


def decode(random: np.random.Generator, group: int) -> tuple[list[np.ndarray], float, Softmax]:
    """Queries, keys and values of two sequences with two heads of keys. The first 300 of 320 keys count."""
    q = draw(random, (2, 2, group, 128))
    k, v = (draw(random, (2, 2, 320, 128)) for _ in range(2))
    scale = 128**-0.5
    scores = product(q, k)[..., :300] * scale
    largest = magnitude(q, k).max() * scale
    return [q, k, v], scale, attend(scores, v[:, :, :300], 128, largest, ml_dtypes.bfloat16)


@pytest.mark.parametrize("group", [8, 16])
def test_grouped_decode(group: int, random: np.random.Generator, target: str) -> None:
    arrays, scale, (exact, tolerance, _) = decode(random, group)
    args = [*arrays, np.zeros_like(arrays[0]), scale, 300, group, 128, 128]
    for (found,) in run_everywhere(kernels.grouped_decode, (2, 2), args, (3,), target=target, hints={}):
        assert_within(found, exact, tolerance)


@pytest.mark.parametrize("group", [8, 16])
def test_split_decode_and_its_join(group: int, random: np.random.Generator, target: str) -> None:
    """Two parts of 256 and 44 keys; the second kernel weighs them by their logarithms."""
    arrays, scale, (exact, tolerance, _) = decode(random, group)
    parts, logarithms = np.zeros((2, 2, 2, group, 128), np.float32), np.zeros((2, 2, 2, group), np.float32)
    args = [*arrays, parts, logarithms, scale, 300, 2, group, 128, 128]
    for found in run_everywhere(kernels.split_decode, (2, 2, 2), args, (3, 4), target=target, hints={}):
        joined = [*found, np.zeros_like(arrays[0]), 2, group, 128]
        for (result,) in run_everywhere(kernels.joined_parts, (2, 2), joined, (2,), target=target, hints={}):
            # P of a part is rounded, so that the error of both parts is that of one softmax.
            assert_within(result, exact, tolerance + 2.0**-18)
