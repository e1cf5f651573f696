"""Attention in several wordings equals numpy: its exponentials, its scale, and its division by the sums of rows."""

from __future__ import annotations

import numpy as np
import pytest
from attention_kernels import attention_in_words
from compare import run_everywhere

ROWS, KEYS, D = 128, 384, 64


@pytest.mark.parametrize("spread", [1, 40])
@pytest.mark.parametrize(
    ("flushes", "late", "divides"),
    [(False, False, True), (False, False, False), (True, False, True), (False, True, True)],
)
def test_attention(
    flushes: bool, late: bool, divides: bool, spread: int, target: str, random: np.random.Generator
) -> None:
    """With a spread of 40, differences of scores are beyond 126, so that warps have subnormal exponentials."""
    q, k, v = (random.standard_normal((n, D)).astype(np.float16) for n in (ROWS, KEYS, KEYS))
    q = (q * np.float16(spread)).astype(np.float16)
    # Column 5 has zeros alone. Column 9 has infinities, which one warp divides by the instruction.
    v[:, 5] = 0
    v[17, 9] = np.inf
    # Products with this power of two are exact.
    scale = 0.125
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * scale
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    with np.errstate(invalid="ignore"):
        expected = powers @ v.astype(np.float64) / powers.sum(axis=1, keepdims=True)
    arguments = (q, k, v, np.zeros((ROWS, D), np.float16), scale, D, ROWS, flushes, late, divides)
    columns = np.arange(D) != 9
    for (found,) in run_everywhere(attention_in_words, (1,), arguments, (3,), target=target, hints={}):
        # f16 rounds the powers and the result, by 2^-11 each. All other errors are less than 2^-12.
        bound = 2.0**-11 * (powers @ np.abs(v[:, columns]) / powers.sum(axis=1, keepdims=True)) * 2.5 + 2.0**-24
        assert np.all(np.abs(found[:, columns] - expected[:, columns]) <= bound)
        assert np.all(found[:, 5] == 0)
        assert not np.isfinite(found[:, 9]).any()
