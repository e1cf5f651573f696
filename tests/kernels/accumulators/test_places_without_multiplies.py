"""Sums that threads store in tensor memory and read by columns, without a multiply between: other warps read them."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
ROWS, COLUMNS, KEYS = 64, 256, 128


@ct.kernel
def scaled_sums(A, B, C, D, steps: int, least: int):
    """C = the sum of scores @ values, which is scaled in each iteration; without values if least < 2."""
    q = ct.load(A, (0, 0), (ROWS, COLUMNS))
    total = ct.full((ROWS, COLUMNS), 1, dtype=ct.float32)
    for step in range(steps):
        keys = ct.load(B, (0, step % 2), (COLUMNS, KEYS))
        scores = ct.mma(q, keys, ct.full((ROWS, KEYS), 0, dtype=ct.float32))
        total = total * ct.where(ct.max(scores, 1, keepdims=True) > 1000, 3.0, 2.0)
        if least < 2:
            continue
        values = ct.load(B, (step % 2, 0), (KEYS, COLUMNS))
        ct.store(D, (step, 0), values)
        total = ct.mma(scores.astype(ct.float16), values, total)
    ct.store(C, (0, 0), total)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("steps", "least"), [(0, 3), (1, 1), (2, 1), (2, 3)])
def test_other_warps_read_what_threads_stored(steps: int, least: int, target: str, random: np.random.Generator) -> None:
    a = random.integers(-1, 2, (ROWS, COLUMNS)).astype(np.float16)
    b = random.integers(-1, 2, (COLUMNS, COLUMNS)).astype(np.float16)
    expected = np.ones((ROWS, COLUMNS))
    for step in range(steps):
        scores = a.astype(np.float64) @ b[:, KEYS * (step % 2) :][:, :KEYS]
        expected = 2 * expected
        if least >= 2:
            expected += scores @ b[KEYS * (step % 2) :][:KEYS].astype(np.float64)
    args = (a, b, np.zeros((ROWS, COLUMNS), np.float32), np.zeros((KEYS * 2, COLUMNS), np.float16), steps, least)
    for (found,) in run_everywhere(scaled_sums, (1,), args, (2,), target=target, hints={}, seeds=range(3)):
        np.testing.assert_array_equal(found, expected)
