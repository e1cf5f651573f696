"""Chains whose second multiply is issued in the next iteration (sm_90a) have the results of numpy: attention, and one
whose multiplies read the same tile.
"""

from __future__ import annotations

import numpy as np
import programs
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
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
    compiled = ct.compile(programs.attention, target=target, signature=signature, hints=hints, stop="gpu")
    assert ("pending 1" in compiled.gpu) == (target == "sm_90a" and not hints)


@ct.kernel
def shared_tiles(X, Y, R, rows: Const, keys: Const, width: Const):
    """exp2(x @ y.T) @ y over blocks of y, each of which both multiplies read."""
    x = ct.load(X, (0, 0), (rows, width))
    result = ct.zeros((rows, width), ct.float32)
    for j in range(ct.num_tiles(Y, axis=0, shape=(keys, width))):
        y = ct.load(Y, (j, 0), (keys, width))
        p = ct.exp2(ct.mma(x, ct.transpose(y), ct.zeros((rows, keys), ct.float32)))
        result = ct.mma(p.astype(Y.dtype), y, result)
    ct.store(R, (0, 0), result)


# The ring has up to six slots, of which eleven blocks use each twice.
@pytest.mark.parametrize("blocks", [1, 2, 3, 11])
@pytest.mark.parametrize(("rows", "width"), [(128, 64), (128, 128)])
def test_one_tile_of_both_multiplies(target, blocks, rows, width, random):
    keys = width
    X, Y = (random.integers(-2, 3, shape).astype(np.float16) / 8 for shape in ((rows, width), (blocks * keys, width)))
    x, y = X.astype(np.float64), Y.astype(np.float64)
    weights = np.exp2(x @ y.T)
    args = (X, Y, np.zeros((rows, width), np.float32), rows, keys, width)
    for (found,) in run_everywhere(shared_tiles, (1,), args, (2,), target=target, hints={}, seeds=range(2)):
        assert_within(found, weights @ y, RELATIVE * (weights @ np.abs(y)))
    signature = Signature.from_arguments(shared_tiles, args)
    compiled = ct.compile(shared_tiles, target=target, signature=signature, stop="gpu")
    assert ("pending 1" in compiled.gpu) == (target == "sm_90a")
