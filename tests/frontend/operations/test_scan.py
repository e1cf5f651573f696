"""Scans agree with numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tilec as ct

Interpret = Callable[..., None]


@ct.kernel
def running(x, sums, products, backwards, largest):
    tile = ct.load(x, (0, 0), (2, 8))
    ct.store(sums, (0, 0), ct.cumsum(tile, axis=1))
    ct.store(products, (0, 0), ct.cumprod(tile))
    ct.store(backwards, (0, 0), ct.cumsum(tile, axis=-1, reverse=True))
    ct.store(largest, (0, 0), ct.scan(tile, 1, lambda a, b: max(a, b), -100))


def test_scans(interpret: Interpret) -> None:
    x = np.random.default_rng(2).integers(-5, 6, (2, 8)).astype(np.int32)
    sums, products, backwards, largest = (np.zeros_like(x) for _ in range(4))
    interpret(running, 1, x, sums, products, backwards, largest)
    np.testing.assert_array_equal(sums, x.cumsum(1))
    np.testing.assert_array_equal(products, x.cumprod(0))
    np.testing.assert_array_equal(backwards, x[:, ::-1].cumsum(1)[:, ::-1])
    np.testing.assert_array_equal(largest, np.maximum.accumulate(x, 1))
