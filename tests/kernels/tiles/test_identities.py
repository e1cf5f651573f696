"""Reductions and scans do not add their identity to the result: a sum of -0.0 is -0.0."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Const = ct.Constant[int]


@ct.kernel
def sums(X, Y, Z, rows: Const, columns: Const):
    x = ct.load(X, index=(0, 0), shape=(rows, columns))
    ct.store(Y, index=(0, 0), tile=ct.sum(x, axis=1, keepdims=True))
    ct.store(Z, index=(0, 0), tile=ct.cumsum(x, axis=1))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (1, 2), (8, 32), (2, 512)])
def test_sum_of_negative_zeros_is_negative_zero(target, shape):
    X, Y, Z = np.full(shape, -0.0, np.float32), np.ones((shape[0], 1), np.float32), np.ones(shape, np.float32)
    for y, z in run_everywhere(sums, (1,), (X, Y, Z, *shape), (1, 2), target=target, hints={}):
        assert not y.any() and np.signbit(y).all()
        assert not z.any() and np.signbit(z).all()
