"""Attention that divides by the sums of its rows and whose exponentials are not flushed equals numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

ROWS, KEYS, D = 128, 384, 64


@ct.kernel
def attention(Q, K, V, out, flushes: ct.Constant[bool], divides: ct.Constant[bool]):
    query = ct.load(Q, (0, 0), (ROWS, D))
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    output = ct.zeros((ROWS, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (128, D))):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (128, D))), ct.zeros((ROWS, 128), ct.float32))
        new = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
        powers = ct.exp2(scores - new, flush_to_zero=flushes)
        factor = ct.exp2(largest - new, flush_to_zero=flushes)
        total = total * factor + ct.sum(powers, 1, keepdims=True)
        output = ct.mma(ct.astype(powers, V.dtype), ct.load(V, (j, 0), (128, D)), output * factor)
        largest = new
    result = output / total if divides else output * (1 / total)
    ct.store(out, (0, 0), ct.astype(result, out.dtype))


@pytest.mark.parametrize("spread", [1, 40])
@pytest.mark.parametrize(("flushes", "divides"), [(False, True), (False, False), (True, True)])
def test_attention(flushes: bool, divides: bool, spread: int, target: str, random: np.random.Generator) -> None:
    """With a spread of 40, differences of scores are beyond 126, so that warps have subnormal exponentials."""
    q, k, v = (random.standard_normal((n, D)).astype(np.float16) for n in (ROWS, KEYS, KEYS))
    q = (q * np.float16(spread / 8)).astype(np.float16)
    # A column without elements, and infinities, of which one warp divides by the instruction.
    v[:, 5] = 0
    v[17, 9] = np.inf
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    with np.errstate(invalid="ignore"):
        expected = powers @ v.astype(np.float64) / powers.sum(axis=1, keepdims=True)
    arguments = (q, k, v, np.zeros((ROWS, D), np.float16), flushes, divides)
    columns = np.arange(D) != 9
    for (found,) in run_everywhere(attention, (1,), arguments, (3,), target=target, hints={}):
        # Powers of at most 1 have errors of 2^-11 in f16, and so has the result; the rest is beyond 16 bits.
        bound = 2.0**-11 * (powers @ np.abs(v[:, columns]) / powers.sum(axis=1, keepdims=True)) * 2.5 + 2.0**-24
        assert np.all(np.abs(found[:, columns] - expected[:, columns]) <= bound)
        assert np.all(found[:, 5] == 0)
        assert not np.isfinite(found[:, 9]).any()
