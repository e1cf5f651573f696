"""Attention whose second multiply is issued in the next iteration (sm_90a) has the results of numpy."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from compare import assert_within, run_everywhere

import tilec
from tilec.signature import Signature

# The weights are rounded to float16 before the second multiply, the result too; everything else is float32.
RELATIVE = 3 * 2.0**-11
WIDTH = 64


# With 128 keys a thread needs more registers for the delayed multiply than an equal share.
@pytest.mark.parametrize(("keys", "hints"), [(64, {}), (128, {}), (128, {"register_budgets": False})], ids=str)
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_attention_of_few_blocks_of_keys(target, blocks, keys, hints, random):
    Q, K, V = (random.standard_normal((size, WIDTH)).astype(np.float16) for size in (128, blocks * keys, blocks * keys))
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    weights = np.exp(0.125 * (q @ k.T))
    weights /= weights.sum(axis=1, keepdims=True)
    args = (Q, K, V, np.zeros((128, WIDTH), np.float16), 0.125, 128, keys, WIDTH)
    for (found,) in run_everywhere(programs.attention, (1,), args, (3,), target=target, hints=hints, seeds=range(2)):
        assert_within(found, weights @ v, RELATIVE * (weights @ np.abs(v)) + 1e-6)
    signature = Signature.from_arguments(programs.attention, args)
    compiled = tilec.compile(programs.attention, target=target, signature=signature, hints=hints, stop="gpu")
    assert ("pending 1" in compiled.gpu) == (target == "sm_90a" and not hints)
