"""Softmax in two loops: one for the maxima, one for the weights. Both multiply the same queries, which threads compute.

The loops share rings, so that the slots and the order that one gets must be legal beside the order of the other.
"""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
# P is rounded to 11 bits, and so are the scaled queries, whose scores are below 32.
RELATIVE = 2.0**-10 + 32 * 2.0**-11


@ct.kernel
def attention_of_two_passes(Q, K, V, O, scale: float, tm: Const, tn: Const, width: Const):  # noqa: E741
    q = ct.load(Q, (ct.bid(0), 0), (tm, width), padding_mode=ZERO)
    q = (q.astype(ct.float32) * scale).astype(Q.dtype)
    keys = ct.arange(tn, dtype=ct.int32)[None, :]
    largest = ct.full((tm, 1), -1e30, ct.float32)
    for j in range(ct.cdiv(K.shape[0], tn)):
        k = ct.load(K, (j, 0), (tn, width), padding_mode=ZERO)
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), ct.float32))
        s = ct.where(j * tn + keys < K.shape[0], s, -1e30)
        largest = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
    total, acc = ct.zeros((tm, 1), ct.float32), ct.zeros((tm, width), ct.float32)
    for j in range(ct.cdiv(K.shape[0], tn)):
        k = ct.load(K, (j, 0), (tn, width), padding_mode=ZERO)
        v = ct.load(V, (j, 0), (tn, width), padding_mode=ZERO)
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), ct.float32))
        s = ct.where(j * tn + keys < K.shape[0], s, -1e30)
        p = ct.exp2(s - largest)
        total += ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(V.dtype), v, acc)
    ct.store(O, (ct.bid(0), 0), (acc / total).astype(O.dtype))


@pytest.mark.parametrize("length", [70, 512])
@pytest.mark.parametrize("width", [64, 128])
def test_two_passes(width: int, length: int, random: np.random.Generator, target: str) -> None:
    q, k, v = (random.standard_normal((n, width), np.float32).astype(np.float16) for n in (150, length, length))
    scale = float(np.float32(width**-0.5))
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    exact = weights @ v.astype(np.float64) / weights.sum(1, keepdims=True)
    magnitude = weights @ np.abs(v.astype(np.float64)) / weights.sum(1, keepdims=True)
    assert np.abs(scores).max() < 32
    args = (q, k, v, np.zeros_like(q), scale, 128, 128, width)
    for (found,) in run_everywhere(attention_of_two_passes, (2,), args, (3,), target=target, hints={}):
        assert_within(found, exact, RELATIVE * magnitude + 2.0**-11 * np.abs(exact) + 2.0**-24)
