"""Powers of two among other elementwise operations: the test of their arguments is one of some elements."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilec as ct

Constant = ct.Constant[int]
SIGNATURE = "X: f32[?%16,?%16], rows: f32[?%16], columns: f32[?%16], Y: f32[?%16,?%16], size={size}"
# PTX ISA 9.7.3.21: 2 units in the last place, a subtraction, and a product.
ERROR = 2.0**-21


@ct.kernel
def weighted(X, rows, columns, Y, size: Constant):
    row = ct.load(rows, (ct.bid(0),), (size,))
    for j in range(ct.num_tiles(X, axis=1, shape=(size, size))):
        column = ct.load(columns, (j,), (size,))
        x = ct.load(X, (ct.bid(0), j), (size, size))
        weights = ct.exp2(ct.minimum(row[:, None] - column[None, :], 0.0))
        ct.store(Y, (ct.bid(0), j), ct.where(x > 0, x * weights, -1.0))


def count_tests(size: int, target: str) -> int:
    """The branches to instructions that flush subnormals."""
    ptx = ct.compile(weighted, target=target, signature=SIGNATURE.format(size=size), hints={"warps": 4}, stop="ptx").ptx
    return len(re.findall(r"^\$flushed(?:_\d+)?:", ptx, re.MULTILINE))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_a_test_is_one_of_32_elements_of_a_thread(target: str) -> None:
    assert count_tests(128, target) == 4


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_few_elements_have_one_test(target: str) -> None:
    assert count_tests(64, target) == 1


@pytest.mark.parametrize("backend", ["simulate", "interpret"])
@pytest.mark.parametrize("lowest", [-100.0, -150.0, -400.0])
def test_results(lowest: float, backend: str) -> None:
    """With normal, with subnormal and with zero weights."""
    random, size = np.random.default_rng(3), 128
    x = random.standard_normal((size, 2 * size), np.float32)
    rows, columns = (random.uniform(*ends, count).astype(np.float32) for ends, count in
                     (((lowest, 0), size), ((0, 20), 2 * size)))  # fmt: skip
    y = np.zeros_like(x)
    ct.launch(None, (1,), weighted, (x, rows, columns, y, size), backend=backend)
    exponents = np.minimum(rows[:, None] - columns[None, :], np.float32(0)).astype(np.float64)
    exact = np.where(x > 0, x.astype(np.float64) * np.exp2(exponents), -1.0)
    # A weight that is subnormal is rounded to a multiple of 2**-149.
    tolerance = ERROR * np.abs(exact) + 2.0**-149 * (1 + np.abs(x))
    assert np.all(np.abs(y - exact) <= tolerance)
