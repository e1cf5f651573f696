"""Threads exchange no columns of an accumulator that they read before another multiply, and store in slices.

Chunks of linear attention: operands are small integers, so that every sum is exact.
"""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

CONSTANT = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def chunks(Q, K, V, Y, size: CONSTANT, width: CONSTANT, ADDS: ct.Constant[bool]):
    """The product with the state adds to that within the chunk, in the accumulator or (`ADDS`) by threads."""
    row = ct.arange(size, dtype=ct.int32)
    is_before = row[:, None] >= row[None, :]
    state = ct.zeros((width, width), ct.float32)
    for j in range(ct.num_tiles(Q, 0, (size, width))):
        q = ct.load(Q, (j, 0), (size, width), padding_mode=ZERO)
        k = ct.load(K, (j, 0), (size, width), padding_mode=ZERO)
        v = ct.load(V, (j, 0), (size, width), padding_mode=ZERO)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((size, size), ct.float32))
        weights = ct.where(is_before, scores, 0.0).astype(V.dtype)
        result = ct.mma(weights, v, ct.zeros((size, width), ct.float32))
        if ADDS:
            result = result + ct.mma(q, state.astype(Q.dtype), ct.zeros((size, width), ct.float32))
        else:
            result = ct.mma(q, state.astype(Q.dtype), result)
        state = ct.mma(ct.transpose(k), v, state)
        ct.store(Y, (j, 0), result.astype(Y.dtype))


def arguments(random: np.random.Generator, size: int, adds: bool) -> list:
    """The last chunk is not whole."""
    q, k, v = (random.integers(-1, 2, (2 * size + 40, 128)).astype(np.float16) for _ in range(3))
    return [q, k, v, np.zeros_like(q), size, 128, adds]


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("size", [64, 128])
def test_results(size: int, adds: bool, random: np.random.Generator, target: str) -> None:
    args = arguments(random, size, adds)
    q, k, v = (each.astype(np.float64) for each in args[:3])
    expected = np.tril(q @ k.T) @ v
    for (found,) in run_everywhere(chunks, (1,), args, (3,), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("adds", [False, True])
def test_threads_exchange_no_columns(adds: bool) -> None:
    args = arguments(np.random.default_rng(0), 128, adds)
    compiled = ct.compile(chunks, target="sm_100a", signature=Signature.from_arguments(chunks, args), stop="gpu")
    assert "convert_layout" not in compiled.stage("gpu").text.partition("scf.for")[2]
