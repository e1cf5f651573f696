"""Softmax attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from cutile.bounded import F32, Bounded, compare
from cutile.sampling import Comparisons, Launch, constants, random, tiles


def attention(
    launch: Launch,
    queries: int = 64,
    keys: int = 96,
    causal: bool = False,
    group: int = 1,
    dtype: Any = np.float16,
    position: int = 0,
) -> Comparisons:
    batch, heads, width, tile_m, tile_n = 2, 4, 32, 32, 32
    q = random(1, batch, heads, queries, width, dtype=dtype)
    k = random(2, batch, heads // group, keys, width, dtype=dtype)
    v = random(3, batch, heads // group, keys, width, dtype=dtype)
    out, scale = np.zeros(q.shape, dtype), 1 / width**0.5
    even = keys % tile_n == 0
    constant_arguments = constants(width, heads, tile_m, tile_n, group, causal, even)
    launch("attention", (tiles(queries, tile_m), batch * heads), [q, k, v, out, scale, position, *constant_arguments])
    expected = _attention(q, np.repeat(k, group, 1), np.repeat(v, group, 1), causal, position, tiles(keys, tile_n))
    name = f"{'causal ' * causal}attention {queries}x{keys}, group {group}, {np.dtype(dtype)}"
    yield compare(name, out, expected.stored(dtype))


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, position: int, tiles: int) -> Bounded:
    scores = (Bounded.exact(q) @ np.swapaxes(k, -1, -2)) * Bounded.exact(q.shape[-1] ** -0.5).rounded(4 * F32)
    masked = np.arange(q.shape[-2])[:, None] + position < np.arange(k.shape[-2]) if causal else np.False_
    largest = np.where(masked, -np.inf, scores.value).max(-1, keepdims=True)
    weights = (scores - largest).exp()
    # The running maximum rescales the sum after each tile; the factor has a rounding error.
    range_ = float(np.abs(scores.value).max())
    weights = weights.rounded(tiles * (4 * range_ + 8) * F32)
    weights = Bounded(np.where(masked, 0.0, weights.value), np.where(masked, 0.0, weights.error))
    return (weights.stored(q.dtype) @ v) / weights.sum(-1, keepdims=True)
