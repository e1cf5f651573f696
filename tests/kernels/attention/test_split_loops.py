"""Attention whose loop is split at the first block with a mask equals numpy, for each wording of the condition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attention_kernels import softmax_step
from compare import run_everywhere

import tilec as ct

TM, TN, D = 128, 64, 64
# The last wording is a window of keys, with a condition at either end.
WORDINGS = ("next", "quotient", "negated", "where", "and", "window")


def masked(scores, j, first, WORDING, WINDOW):
    """The scores of the keys from j * TN on, of the queries from `first` on."""
    key = (j * TN + ct.arange(TN, dtype=ct.int32))[None, :]
    query = (first + ct.arange(TM, dtype=ct.int32))[:, None]
    inside = ct.where(key <= query, scores, -math.inf)
    if WORDING == "next":
        if (j + 1) * TN > first:
            scores = inside
    elif WORDING == "quotient":
        if j >= first // TN:
            scores = inside
    elif WORDING == "negated":
        if not first >= j * TN + (TN - 1):
            scores = inside
    elif WORDING == "where":
        scores = ct.where(j * TN + TN - 1 > first, inside, scores)
    elif WORDING == "and":
        if j >= 0 and j * TN >= first - (TN - 1):
            scores = inside
    elif j * TN <= first + (TM - 1) - WINDOW or (j + 1) * TN > first:
        scores = ct.where((key <= query) & (key > query - WINDOW), scores, -1e30)
    return scores


@ct.kernel
def attention(Q, K, V, out, past: int, WORDING: ct.Constant[str], WINDOW: ct.Constant[int]):
    block = ct.bid(0)
    query = ct.load(Q, (block, 0), (TM, D), padding_mode=ct.PaddingMode.ZERO)
    largest = ct.full((TM, 1), -math.inf, ct.float32)
    total = ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    first = past + block * TM
    for j in range(ct.cdiv(first + TM, TN)):
        keys = ct.load(K, (j, 0), (TN, D), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((TM, TN), ct.float32))
        scores = masked(scores, j, first, WORDING, WINDOW)
        powers, factor, largest, total = softmax_step(scores, largest, total)
        values = ct.load(V, (j, 0), (TN, D), padding_mode=ct.PaddingMode.ZERO)
        output = ct.mma(ct.astype(powers, V.dtype), values, output * factor)
    ct.store(out, (block, 0), ct.astype(output / total, out.dtype))


@pytest.mark.parametrize("past", [0, 75])
@pytest.mark.parametrize("wording", WORDINGS)
def test_attention(wording: str, past: int, target: str, random: np.random.Generator) -> None:
    """150 queries after `past` earlier ones: no count is a multiple of a block, so that any block has the split."""
    rows, window = 150, 100
    q, k, v = (random.standard_normal((n, D)).astype(np.float16) for n in (rows, past + rows, past + rows))
    q = (q / np.float16(8)).astype(np.float16)
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    distance = past + np.arange(rows)[:, None] - np.arange(past + rows)[None, :]
    sees = (distance >= 0) & ((distance < window) | (wording != "window"))
    scores = np.where(sees, scores, -np.inf)
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    total = powers.sum(axis=1, keepdims=True)
    expected = powers @ v.astype(np.float64) / total
    arguments = (q, k, v, np.zeros((rows, D), np.float16), past, wording, window)
    for (found,) in run_everywhere(attention, (2,), arguments, (3,), target=target, hints={}):
        # f16 rounds the powers and the result, by 2^-11 each. All other errors are less than 2^-12.
        bound = 2.0**-11 * (powers @ np.abs(v.astype(np.float64)) / total) * 2.5 + 2.0**-24
        assert np.all(np.abs(found - expected) <= bound)
