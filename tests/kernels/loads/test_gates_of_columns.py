"""Gated linear attention: tiles of float16 and gates of float32, which TMA loads for threads, have one layout."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
SIZE = 64
# Queries, keys and scores are rounded to float16.
RELATIVE = 4 * 2.0**-11


@ct.kernel
def gated_attention(Q, K, V, G, Y, size: Const):
    """Within each tile of rows: y[i] = sum over j <= i of q[i] 2^(g[i] - g[j]) k[j] v[j], where g sums the gates."""
    rows = ct.arange(size, dtype=ct.int32)
    for t in range(ct.num_tiles(Q, 0, (size, size))):
        gates = ct.cumsum(ct.load(G, (t, 0), (size, size)), axis=0)
        q = (ct.load(Q, (t, 0), (size, size)).astype(ct.float32) * ct.exp2(gates)).astype(ct.float16)
        k = (ct.load(K, (t, 0), (size, size)).astype(ct.float32) * ct.exp2(-gates)).astype(ct.float16)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((size, size), ct.float32))
        weights = ct.where(rows[:, None] >= rows[None, :], scores, 0.0).astype(ct.float16)
        ct.store(Y, (t, 0), ct.mma(weights, ct.load(V, (t, 0), (size, size)), ct.zeros((size, size), ct.float32)))


def arguments(tiles: int) -> list:
    random = np.random.default_rng(7)
    matrices = [random.standard_normal((tiles * SIZE, SIZE)).astype(np.float16) for _ in range(3)]
    gates = -random.random((tiles * SIZE, SIZE)).astype(np.float32) / 16
    return [*matrices, gates, np.zeros((tiles * SIZE, SIZE), np.float32), SIZE]


@pytest.mark.parametrize("tiles", [1, 3])
def test_results_are_those_of_numpy(target, tiles):
    args = arguments(tiles)
    q, k, v, g = (each.astype(np.float64).reshape(tiles, SIZE, SIZE) for each in args[:4])
    decay = np.exp2(np.cumsum(g, axis=1))

    def result(size) -> np.ndarray:
        scores = np.tril(size(q * decay) @ size(k / decay).transpose(0, 2, 1))
        return (scores @ size(v)).reshape(-1, SIZE)

    for (found,) in run_everywhere(gated_attention, (1,), args, (4,), target=target, hints={}, seeds=range(2)):
        assert_within(found, result(np.array), RELATIVE * result(np.abs))


def test_threads_have_factors_where_they_multiply(target):
    """The sums of the gates are in the layout of the queries and keys: no lanes exchange the exponentials."""
    signature = Signature.from_arguments(gated_attention, arguments(3))
    text = ct.compile(gated_attention, target=target, signature=signature, stop="gpu").gpu
    assert len(re.findall(r"tile_gpu\.tma_load", text)) == 4 and "tile_gpu.scan" in text
    assert not re.findall(r"convert_layout .*: !tile_64x64xf32", text)
