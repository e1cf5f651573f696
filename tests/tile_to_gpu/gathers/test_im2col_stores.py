"""Which stores through im2col views TMA does; the others scatter rows, with a remark that says why."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.signature import Signature


@ct.kernel
def copied(x, y, stride: ct.Constant[int], lower: ct.Constant[int], window: ct.Constant[int], tma: ct.Constant[bool]):
    source = ct.im2col_view(x, window=1, tile=(32, 16))
    target = ct.im2col_view(y, window=window, stride=stride, padding=((0, 0), (lower, 0)), tile=(32, 16))
    i, j, last = ct.bid(0), ct.bid(1), window - 1
    ct.store(target, (i, j), ct.load(source, (i, j)), offset=(last, last), allow_tma=tma)


# By name: stride, lower padding along W, taps, whether TMA is allowed, and the reason for a scatter.
CASES = {
    "dense": (1, 0, 1, True, None),
    "every other pixel": (2, 0, 1, True, None),
    "without the first columns": (1, -2, 1, True, None),
    "padding": (1, 1, 1, True, "padding: the pixels that TMA stores lie inside of the images, got [0, 1], [0, 0]"),
    "window": (2, 0, 2, True, "window: TMA stores at one tap, got a window of [2, 2]"),
    "hint": (1, 0, 1, False, "hint allow_tma=False"),
}


def written(x: np.ndarray, y: np.ndarray, stride: int, lower: int, window: int) -> np.ndarray:
    """y after each pixel (n, p, q) of x was stored at (n, p * stride, q * stride - lower) of the last tap."""
    found = y.copy()
    for n, p, q in np.ndindex(x.shape[:3]):
        row, column = p * stride + window - 1, q * stride + window - 1 - lower
        if 0 <= row < y.shape[1] and 0 <= column < y.shape[2]:
            found[n, row, column] = x[n, p, q]
    return found


@pytest.mark.parametrize("name", CASES)
def test_stores(name, target):
    stride, lower, window, tma, reason = CASES[name]
    y = np.full((2, 9, 11, 24), -1, np.float16)
    rows, columns = ct.im2col_output_shape((9, 11), window=window, stride=stride, padding=((0, 0), (lower, 0)))
    x = np.arange(1, 2 * rows * columns * 24 + 1, dtype=np.float16).reshape(2, rows, columns, 24) % 1000
    expected = written(x, y, stride, lower, window)
    args = (x, y, stride, lower, window, tma)
    signature = Signature.from_arguments(copied, args)
    compiled = ct.compile(copied, target=target, signature=signature, stop="ptx")
    assert (".im2col_no_offs." in compiled.ptx) == (reason is None)
    found = [remark.message for remark in compiled.all_remarks if "the store through" in remark.message]
    assert found == ([] if reason is None else [f"the store through the im2col view is a scatter of rows: {reason}"])
    grid = (-(-2 * rows * columns // 32), 2)
    for backend in ("interpret", "simulate"):
        y[...] = -1
        ct.launch(None, grid, copied, args, backend=backend, target=target)
        np.testing.assert_array_equal(y, expected, backend)


@ct.kernel
def latent(x, y, tma: ct.Constant[bool]):
    tile = ct.load(ct.im2col_view(x, window=1, tile=(16, 16)), (0, 0))
    ct.store(ct.im2col_view(y, window=1, tile=(16, 16)), (0, 0), tile, latency=3, allow_tma=tma)


@pytest.mark.parametrize("tma", [True, False])
def test_latency_of_a_store_has_no_remark(tma, target):
    """No thread waits for a store, so that its latency changes nothing."""
    signature = f"x: f16[1,4,4,16], y: f16[1,4,4,16], tma={tma}"
    compiled = ct.compile(latent, signature=signature, target=target, stop="ptx")
    assert (".im2col_no_offs." in compiled.ptx) == tma
    found = [remark.message for remark in compiled.all_remarks if remark.topic == "hint"]
    assert found == []


@ct.kernel
def stored_twice(x, y):
    """The second store is ordered after the first, which scatters; so it scatters too."""
    tile = ct.load(ct.im2col_view(x, window=1, tile=(16, 16)), (0, 0))
    ct.store(ct.im2col_view(y, window=2, tile=(16, 16)), (0, 0), tile, offset=(1, 1))
    ct.store(ct.im2col_view(y, window=1, tile=(16, 16)), (0, 0), tile + 1)


def test_store_after_a_scatter(target):
    x, y = np.arange(256, dtype=np.float16).reshape(1, 4, 4, 16), np.zeros((1, 5, 5, 16), np.float16)
    expected = y.copy()
    expected[0, 1:, 1:] = x[0]
    expected.reshape(25, 16)[:16] = x.reshape(16, 16) + 1
    for backend in ("interpret", "simulate"):
        y[...] = 0
        ct.launch(None, 1, stored_twice, (x, y), backend=backend, target=target)
        np.testing.assert_array_equal(y, expected, backend)
