"""Softmax in two loops: one for the maxima, one for the weights. Both multiply the same queries, which threads compute.

The loops share rings, so that the slots and the order that one gets must be legal beside the order of the other.
"""

from __future__ import annotations

import compare
import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.lowering.gpu.roles import assign_roles

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


def test_queries_are_placed_once(target: str) -> None:
    """Threads store the queries before the loops, not in each iteration."""
    arrays = ", ".join(f"{name}: f16[?%16,?%16]" for name in "QKVO")
    signature = f"{arrays}, scale: f32, tm=128, tn=128, width=128"
    text = ct.compile(attention_of_two_passes, signature=signature, target=target, stop="gpu").stage("gpu").text
    assert text.count("!tile_128x128xf16 -> !shared_128x128xf16") == 1


@pytest.mark.parametrize("length", [70, 512])
@pytest.mark.parametrize("width", [64, 128])
def test_two_passes(width: int, length: int, random: np.random.Generator, target: str) -> None:
    check(width, length, random, target)


def test_rings_of_one_slot(random: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queries are placed in each iteration, so that fewer slots are left for the keys."""
    monkeypatch.setattr(assign_roles, "_move_before_loops", lambda op: None)
    compare._compiled.cache_clear()
    check(128, 512, random, "sm_100a")
    compare._compiled.cache_clear()


def check(width: int, length: int, random: np.random.Generator, target: str) -> None:
    """Compares with softmax in float64."""
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
