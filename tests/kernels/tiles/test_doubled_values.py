"""Values that each have the one before twice, so that an expression without shared parts has 2**40 of them.

Analyses that visit a value once per path would not end.
"""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Constant = ct.Constant[int]
DEPTH = 40


@ct.kernel
def indices(x, y, depth: Constant):
    """Each program stores the tile of its number, which is 0 or 1."""
    index = ct.bid(0)
    for _ in ct.static_iter(range(depth)):
        index = index * index
    ct.store(y, index=(index, 0), tile=ct.load(x, index=(index, 0), shape=(16, 32)))


@ct.kernel
def products(x, y, depth: Constant):
    """The first tile of x times tile `index` of x, transposed: adjacent programs on sm_90a load the first one once."""
    index = ct.bid(0)
    for _ in ct.static_iter(range(depth)):
        index = index * index
    total = ct.zeros((128, 128), dtype=ct.float32)
    for k in range(ct.num_tiles(x, 1, (128, 64))):
        rows = ct.load(x, index=(index, k), shape=(128, 64))
        total = ct.mma(ct.load(x, index=(0, k), shape=(128, 64)), ct.transpose(rows), total)
    ct.store(y, index=(0, index), tile=total)


@ct.kernel
def masks(x, y, depth: Constant):
    """x where the column is less than its element, else -1."""
    tile = ct.load(x, index=(0, 0), shape=(16, 32))
    less = ct.arange(32, dtype=ct.int32)[None, :] < tile
    mask = less
    for _ in ct.static_iter(range(depth)):
        mask = (mask | less) & mask
    ct.store(y, index=(0, 0), tile=ct.where(mask, tile, -1))


@ct.kernel
def positions(x, y, depth: Constant):
    """The sum of x and 2**depth times the column, modulo 2**32."""
    column = ct.arange(32, dtype=ct.int32)
    for _ in ct.static_iter(range(depth)):
        column = column + column
    ct.store(y, index=(0, 0), tile=ct.load(x, index=(0, 0), shape=(16, 32)) + column[None, :])


@ct.kernel
def elements(x, y, depth: Constant):
    """2**depth times x, modulo 2**32, after a reduction and within a branch."""
    tile = ct.load(x, index=(0, 0), shape=(16, 32))
    most = ct.max(tile)
    for _ in ct.static_iter(range(depth)):
        tile = tile + tile
        most = max(most + most - most, most)
    if most > 0:
        ct.store(y, index=(0, 0), tile=tile)


X = np.random.default_rng(1).integers(-50, 50, (16, 32)).astype(np.int32)
ROWS = np.random.default_rng(2).integers(-3, 4, (256, 128)).astype(np.float16)
PRODUCTS = ROWS[:128].astype(np.float32) @ ROWS.T.astype(np.float32)
COLUMNS = np.arange(32, dtype=np.int32)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("kernel", "programs", "depth", "x", "expected"), [
    (indices, 2, DEPTH, np.vstack([X, -X]), np.vstack([X, -X])),
    (products, 2, DEPTH, ROWS, PRODUCTS),
    (masks, 1, DEPTH, X, np.where(X > COLUMNS, X, -1)),
    (positions, 1, 25, X, X + COLUMNS * 2**25),
    (elements, 1, 25, X, X * 2**25),
], ids=["indices", "products", "masks", "positions", "elements"])  # fmt: skip
def test_values_that_have_the_one_before_twice(target, kernel, programs, depth, x, expected) -> None:
    results = run_everywhere(kernel, (programs,), [x, np.zeros_like(expected), depth], [1], target=target, hints={})
    for (result,) in results:
        assert np.array_equal(result, expected)
