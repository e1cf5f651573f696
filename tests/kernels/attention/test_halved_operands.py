"""Chains of multiplies whose tiles leave rings one slot read halves of the tiles, with the results of numpy.

Operands are small integers, so that every sum is exact.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

CONSTANT = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
KEYS = 128


def products(a, b):
    return ct.mma(a, ct.transpose(b), ct.zeros((a.shape[0], b.shape[0]), ct.float32))


@ct.kernel
def forward(Q, K, V, Y, width: CONSTANT):
    """As attention: weights of products, and an accumulator whose rows have a factor in each iteration."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (KEYS, width))):
        scores = products(q, ct.load(K, (j, 0), (KEYS, width), padding_mode=ZERO))
        factor = ct.where(ct.max(scores, 1, keepdims=True) > 4.0, 2.0, 1.0)
        weights = ct.minimum(ct.maximum(scores, -2.0), 2.0).astype(V.dtype)
        total = ct.mma(weights, ct.load(V, (j, 0), (KEYS, width), padding_mode=ZERO), total * factor)
    ct.store(Y, (ct.bid(0), 0), total)


@ct.kernel
def gradient(Q, K, V, Y, width: CONSTANT):
    """As the gradient of queries: the columns of K are the depth of one multiply and the columns of another."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    g = ct.load(Q, (ct.bid(0) + 1, 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (KEYS, width))):
        k = ct.load(K, (j, 0), (KEYS, width), padding_mode=ZERO)
        changes = products(q, k) - products(g, ct.load(V, (j, 0), (KEYS, width), padding_mode=ZERO))
        total = ct.mma(ct.minimum(ct.maximum(changes, -2.0), 2.0).astype(K.dtype), k, total)
    ct.store(Y, (ct.bid(0), 0), total)


def forward_in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    total = np.zeros((256, q.shape[1]))
    for j in range(0, len(k), KEYS):
        scores = q @ k[j : j + KEYS].T
        total = total * np.where(scores.max(1, keepdims=True) > 4, 2, 1) + scores.clip(-2, 2) @ v[j : j + KEYS]
    return total


def gradient_in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    changes = q @ k.T - np.concatenate([q[128:], np.zeros_like(q[:128])]) @ v.T
    return changes.clip(-2, 2) @ k


def operands(random: np.random.Generator, width: int) -> list[np.ndarray]:
    """Q, K and V; the last tile of keys is not whole."""
    return [random.integers(-2, 3, (rows, width)).astype(np.float16) for rows in (256, 300, 300)]


@pytest.mark.parametrize(
    ("kernel", "expected", "width"), [(forward, forward_in_numpy, 256), (gradient, gradient_in_numpy, 128)]
)
def test_results(kernel: Any, expected: Any, width: int, random: np.random.Generator, target: str) -> None:
    given = operands(random, width)
    padded = [np.pad(each.astype(np.float64), ((0, -len(each) % KEYS), (0, 0))) for each in given]
    args = [*given, np.zeros((256, width), np.float32), width]
    for (found,) in run_everywhere(kernel, (2,), args, (3,), target=target, hints={}, seeds=(0, 1, 2)):
        np.testing.assert_array_equal(found, expected(*padded))


def multiplies(kernel: Any, width: int, **options: Any) -> list[str]:
    """The shapes of the operands of each multiply of Tile IR after its passes."""
    args = [*operands(np.random.default_rng(0), width), np.zeros((256, width), np.float32), width]
    signature = Signature.from_arguments(kernel, args)
    made = ct.compile(kernel, signature=signature, target="sm_100a", stop="tile-opt", **options)
    return re.findall(r"mmaf .*: tile<(\w+)xf16>, tile<(\w+)xf16>", made.stage("tile-opt").text)


def test_depth_and_columns_are_halved() -> None:
    """The first multiply has halves of its depth, the second one of its columns."""
    assert multiplies(forward, 256) == [("128x128", "128x128")] * 4
    assert multiplies(gradient, 128) == [("128x64", "64x128")] * 4 + [("128x128", "128x64")] * 2


def test_rings_with_room_have_whole_tiles() -> None:
    assert multiplies(forward, 128) == [("128x128", "128x128")] * 2
    assert multiplies(gradient, 64) == [("128x64", "64x128")] * 2 + [("128x128", "128x64")]


def test_hint_of_slots_is_that_of_whole_tiles() -> None:
    assert len(multiplies(forward, 256, hints={"stages": 1})) == 2


@ct.kernel
def rounded(Q, K, V, Y, width: CONSTANT):
    """As `forward`, with scores that are rounded to f16 by each multiply."""
    q = ct.load(Q, (ct.bid(0), 0), (128, width), padding_mode=ZERO)
    total = ct.zeros((128, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (KEYS, width))):
        k = ct.load(K, (j, 0), (KEYS, width), padding_mode=ZERO)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((128, KEYS), ct.float16))
        total = ct.mma(scores, ct.load(V, (j, 0), (KEYS, width), padding_mode=ZERO), total)
    ct.store(Y, (ct.bid(0), 0), total)


def test_sums_of_half_precision_have_one_multiply() -> None:
    """The second multiply has halves of its columns, which change no sum."""
    assert multiplies(rounded, 256)[0] == ("128x256", "256x128")
