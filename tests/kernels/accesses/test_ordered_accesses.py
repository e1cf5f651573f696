"""Token-ordered accesses through pointers whose tiles have different shapes."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Const = ct.Constant[int]


@ct.kernel
def store_then_load(X, Y, Z, written: Const, read: Const):
    """The load waits for the token of the store; no value connects them."""
    ct.scatter(X, ct.arange(written, dtype=ct.int32), ct.load(Y, index=(0,), shape=(written,)))
    found = ct.gather(X, ct.arange(read, dtype=ct.int32) * 3)
    ct.scatter(X, ct.arange(read, dtype=ct.int32), ct.zeros((read,), dtype=X.dtype))
    rows = found.reshape((1, read)) + ct.arange(written, dtype=ct.int32).reshape((written, 1))
    ct.scatter(Z, ct.arange(read, dtype=ct.int32), ct.sum(rows, axis=0))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("written", "read"), [(128, 16), (16, 4), (64, 256), (1, 32)])
def test_load_sees_an_ordered_store_of_another_shape(target, written, read):
    random = np.random.default_rng(5)
    X, Y = (random.integers(0, 100, 1024).astype(np.int32) for _ in range(2))
    Z = np.zeros(read, np.int32)
    memory = X.copy()
    memory[:written] = Y[:written]
    exact = memory[: 3 * read : 3] * written + written * (written - 1) // 2
    memory[:read] = 0
    args = (X, Y, Z, written, read)
    for x, z in run_everywhere(store_then_load, (1,), args, (0, 2), target=target, hints={}):
        assert np.array_equal(z, exact) and np.array_equal(x, memory)
