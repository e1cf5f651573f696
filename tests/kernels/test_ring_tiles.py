"""Tiles that are not operands, in loops of multiplies: TMA loads them ahead of the threads that read them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
ZERO = ct.PaddingMode.ZERO
ROWS, KEYS, WIDTH = 128, 128, 64


@ct.kernel
def attention(Q, K, V, B, R, variant: ct.Constant[str]):
    """R = softmax2(Q @ K.T / 8 + bias) @ V, with a bias of each element, each column or each row, or a mask."""
    block = ct.bid(0)
    q = ct.load(Q, (block, 0), (ROWS, WIDTH), padding_mode=ZERO)
    largest = ct.full((ROWS, 1), -math.inf, ct.float32)
    total = ct.zeros((ROWS, 1), ct.float32)
    result = ct.zeros((ROWS, WIDTH), ct.float32)
    for step in range(ct.num_tiles(K, 0, (KEYS, WIDTH))):
        k = ct.load(K, (step, 0), (KEYS, WIDTH), padding_mode=ZERO)
        scores = ct.mma(q, k.transpose(), ct.zeros((ROWS, KEYS), ct.float32)) * 0.125
        columns = step * KEYS + ct.arange(KEYS, dtype=ct.int32)[None, :]
        if variant == "tile":
            scores = scores + ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO).astype(ct.float32)
        if variant == "columns":
            scores = scores + ct.load(B, (0, step), (1, KEYS), padding_mode=ZERO)
        if variant == "vector":
            scores = scores * ct.load(B, (step,), (KEYS,), padding_mode=ZERO)[None, :]
        if variant == "predicates":
            scores = ct.where(ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO), scores, -1000.0)
        if variant == "mask":
            scores = ct.where(ct.load(B, (block, step), (ROWS, KEYS), padding_mode=ZERO) != 0, scores, -1000.0)
        scores = ct.where(columns < K.shape[0], scores, -math.inf)
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - new, flush_to_zero=True)
        change = ct.exp2(largest - new, flush_to_zero=True)
        total = total * change + ct.sum(weights, axis=1, keepdims=True)
        v = ct.load(V, (step, 0), (KEYS, WIDTH), padding_mode=ZERO)
        result = ct.mma(weights.astype(ct.float16), v, result * change)
        largest = new
    ct.store(R, (block, 0), (result / total).astype(ct.float16))


def attention_arguments(rows: int, keys: int, variant: str, seed: int) -> tuple[object, ...]:
    random = np.random.default_rng(seed)
    q, k, v = (random.standard_normal((size, WIDTH), np.float32).astype(np.float16) for size in (rows, keys, keys))
    bias = {
        "tile": lambda: random.standard_normal((rows, keys), np.float32).astype(np.float16),
        "columns": lambda: random.standard_normal((1, keys), np.float32),
        "vector": lambda: random.standard_normal(keys, np.float32),
        "mask": lambda: random.integers(0, 2, (rows, keys), np.int8),
        "predicates": lambda: random.integers(0, 2, (rows, keys)).astype(bool),
    }[variant]()
    return q, k, v, bias, np.zeros((rows, WIDTH), np.float16), variant


def softmax_product(q, k, v, bias, _result, variant: str) -> np.ndarray:
    q, k, v, bias = (np.asarray(each, np.float64) for each in (q, k, v, bias))
    scores = q @ k.T * 0.125
    scores = {
        "tile": lambda: scores + bias,
        "columns": lambda: scores + bias,
        "vector": lambda: scores * bias,
        "mask": lambda: np.where(bias != 0, scores, -1000.0),
        "predicates": lambda: np.where(bias != 0, scores, -1000.0),
    }[variant]()
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    return weights @ v / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("variant", ["tile", "columns", "vector", "mask", "predicates"])
@pytest.mark.parametrize(("rows", "keys"), [(128, 128), (200, 336)])
def test_attention_with_a_bias(rows: int, keys: int, variant: str, target: str) -> None:
    args = attention_arguments(rows, keys, variant, rows + keys)
    expected = softmax_product(*args)
    for (found,) in run_everywhere(attention, (-(-rows // ROWS),), args, (4,), target=target, hints={}):
        np.testing.assert_allclose(found.astype(np.float64), expected, atol=4e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("variant", ["tile", "columns", "vector", "mask", "predicates"])
def test_threads_load_no_bias(variant: str, target: str) -> None:
    args = attention_arguments(128, 256, variant, 0)
    made = ct.compile(attention, target=target, signature=ct.Signature.from_arguments(attention, args))
    assert "ld.global" not in made.ptx
    assert made.remarks == ()
