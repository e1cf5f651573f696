"""A view that several paths make of one array with equal parameters is one value after them."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.errors import TileTypeError


@ct.kernel
def im2col_views(x, y, n: int, other: ct.Constant[int]):
    view = ct.im2col_view(x, window=1, tile=(4, 4))
    if n > 2:
        view = ct.im2col_view(x, (1,), stride=other, tile=(4, 4))
    for i in range(n):
        ct.store(y, (i, 0), ct.load(view, (i, 0)))
        view = ct.im2col_view(x, (1,), stride=other, tile=(4, 4))


@ct.kernel
def tiled_views(x, y, n: int, other: ct.Constant[int]):
    view = x.tiled_view((1, 4, 4))
    if n > 2:
        view = x.tiled_view((other, 4, 4))
    for i in range(n):
        ct.store(y, (i, 0), view.load((0, i, 0)).reshape((4, 4)))
        view = x.tiled_view((other, 4, 4))


@ct.kernel
def packed_views(x, y, n: int, other: ct.Constant[int]):
    view = ct.packed_view(x, bits=2 + 2 * other, tile=(1, 4, 4))
    if n > 2:
        view = ct.packed_view(x, bits=4, tile=(1, 4, 4))
    for i in range(n):
        ct.store(y, (i, 0), ct.load(view, (0, i, 0)).reshape((4, 4)))
        view = ct.packed_view(x, bits=4, tile=(1, 4, 4))


KERNELS = {"an im2col": im2col_views, "a tiled": tiled_views, "a packed": packed_views}


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("n", [2, 3])
def test_equal_views(kind, n):
    x, y = np.arange(48, dtype=np.uint8).reshape(1, 12, 4), np.zeros((12, 4), np.uint8)
    ct.launch(None, 1, KERNELS[kind], (x, y, n, 1), backend="interpret")
    expected = np.stack([x[0] & 15, x[0] >> 4], -1).reshape(12, 8)[:, :4] if kind == "a packed" else x[0]
    np.testing.assert_array_equal(y[: 4 * n], expected[: 4 * n])
    assert not y[4 * n :].any()


@pytest.mark.parametrize("kind", KERNELS)
def test_views_with_other_parameters(kind):
    x, y = np.zeros((1, 12, 4), np.uint8), np.zeros((12, 4), np.uint8)
    with pytest.raises(TileTypeError, match=f"{kind} view of array 'x' and one with other parameters"):
        ct.launch(None, 1, KERNELS[kind], (x, y, 3, 2), backend="interpret")
