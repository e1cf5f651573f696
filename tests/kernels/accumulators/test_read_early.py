"""Loops of tiles whose sums fill tensor memory: what is in registers while the next tile is multiplied is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct


@ct.kernel(num_ctas=1)
def tiles(A, B, C, blocks: int, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    rows, columns = ct.num_tiles(C, 0, (tm, tn)), ct.num_tiles(C, 1, (tm, tn))
    for tile in range(ct.bid(0), rows * columns, blocks):
        i, j = tile // columns, tile % columns
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, 1, (tm, tk))):
            acc = ct.mma(ct.load(A, (i, k), (tm, tk)), ct.load(B, (k, j), (tk, tn)), acc)
        ct.store(C, (i, j), acc.astype(C.dtype))


@pytest.mark.parametrize(
    ("result", "hints"), [(np.float16, {}), (np.float16, {"warps": 4}), (np.float32, {})], ids=["f16", "4 warps", "f32"]
)
def test_tiles_of_256x256(random: np.random.Generator, target: str, result: Any, hints: dict[str, Any]) -> None:
    """Three tiles by one block; small integers, so that float16 holds every sum exactly."""
    a, b = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((256, 64), (64, 768)))
    args = (a, b, np.full((256, 768), np.nan, result), 1, 256, 256, 32)
    for (found,) in run_everywhere(tiles, (1,), args, [2], target=target, hints=hints):
        assert np.array_equal(found.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32))
