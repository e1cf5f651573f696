"""Elements that threads gather without a mask, in a loop whose other tiles TMA loads."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct


@ct.kernel
def sums(A, B, R):
    """R = the sum of the tiles of A, times that of parts of the first row of B."""
    columns = ct.arange(32, dtype=ct.int32)[None, :]
    total, factor = ct.zeros((64, 32), ct.float32), ct.zeros((1, 32), ct.float32)
    for k in range(ct.num_tiles(A, 1, (64, 32))):
        total = total + ct.load(A, (0, k), (64, 32)).astype(ct.float32)
        factor = factor + ct.gather(B, (0, columns + 32 * k), check_bounds=False).astype(ct.float32)
    ct.store(R, (0, 0), total * factor)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_gathered_elements_are_those_of_numpy(target: str) -> None:
    random = np.random.default_rng(0)
    A, B = (random.integers(-2, 3, (64, 96)).astype(np.float16) for _ in range(2))
    made = run_everywhere(sums, (1,), (A, B, np.zeros((64, 32), np.float32)), (2,), target=target, hints={})
    whole, factors = (array.astype(np.float32).reshape(64, 3, 32).sum(1) for array in (A, B))
    for (found,) in made:
        np.testing.assert_array_equal(found, whole * factors[:1])
