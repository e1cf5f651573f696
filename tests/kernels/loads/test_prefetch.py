"""Prefetches of tiles to L2: TMA's instruction in the role that loads; omitted with a remark where TMA cannot do it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
COPY = "cp.async.bulk.prefetch.tensor"


@ct.kernel
def product(A, B, C, ahead: Const, tm: Const, tn: Const, tk: Const):
    """C = A @ B; each iteration prefetches the tiles of a later one, some outside of the arrays."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        ct.prefetch(A, (i, k + ahead), (tm, tk))
        ct.prefetch(B, (k + ahead, j), (tk, tn))
        a, b = ct.load(A, (i, k), (tm, tk), padding_mode=ZERO), ct.load(B, (k, j), (tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (i, j), total)


@ct.kernel
def sums(X, Y, rows: Const, columns: Const):
    """Y[i] = sum of X[i], in a persistent loop that prefetches the next tile."""
    count = ct.num_tiles(X, 0, (rows, columns))
    for i in range(ct.bid(0), count, ct.num_blocks(0)):
        if i + ct.num_blocks(0) < count:
            ct.prefetch(X, (i + ct.num_blocks(0), 0), (rows, columns))
        ct.store(Y, (i,), ct.sum(ct.load(X, (i, 0), (rows, columns), padding_mode=ZERO), axis=1))


@ct.kernel
def viewed(X, Y, width: Const, step: Const):
    view = X.tiled_view((32, width), traversal_steps=(32, step), padding_mode=ZERO)
    ct.prefetch(view, (ct.bid(0), 1))
    ct.store(Y, (ct.bid(0), 0), view.load((ct.bid(0), 1)))


@ct.kernel
def transposed(X, Y, rows: Const, columns: Const):
    ct.prefetch(X, (ct.bid(1), ct.bid(0)), (columns, rows), order="F")
    ct.store(Y, (ct.bid(1), ct.bid(0)), ct.load(X, (ct.bid(1), ct.bid(0)), (columns, rows), order="F"))


@ct.kernel
def chosen(X, Index, Y):
    i = ct.load(Index, ct.bid(0), ())
    ct.prefetch(X, (i, 0), (32, 64))
    ct.store(Y, (ct.bid(0), 0), ct.load(X, (i, 0), (32, 64)))


@ct.kernel
def constant_indices(X, Y):
    ct.prefetch(X.tiled_view((32, 64), traversal_steps=(32, 16)), (2, 3))
    ct.prefetch(X, (2, 3), (16, 32), order="F")
    ct.prefetch(X, (2, 3), (8, 512))
    ct.store(Y, 0, ct.load(Y, 0, 8))


def compiled(kernel, args, target, **hints):
    return ct.compile(kernel, signature=Signature.from_arguments(kernel, args), target=target, hints=hints, stop="ptx")


def test_the_tiles_that_are_prefetched(target):
    """Coordinates of boxes, innermost first: a prefetch changes no result, by which a wrong tile would be seen."""
    signature = "X: f16[?,?%8] align 16, Y: i32[8]"
    text = ct.compile(constant_indices, signature=signature, target=target, stop="ptx").stage("gpu").text
    number = r"%c(\d+)_i32"
    found = re.findall(rf"tile_gpu\.tma_prefetch %\w+\[{number}, {number}\]", text)
    view, transposed_tile = (3 * 16, 2 * 32), (2 * 16, 3 * 32)
    # A row of 512 elements is eight boxes of 64.
    long_rows = [(3 * 512 + first, 2 * 8) for first in range(0, 512, 64)]
    assert [tuple(map(int, each)) for each in found] == [view, transposed_tile, *long_rows]


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("shape", [(256, 128, 320), (200, 136, 264)], ids=["whole", "ragged"])
def test_product(target, random, shape, ctas):
    m, n, k = shape
    A, B = random.integers(-3, 4, (m, k)).astype("f2"), random.integers(-3, 4, (k, n)).astype("f2")
    args = (A, B, np.zeros((m, n), np.float32), 3, 128, 128, 64)
    hints = {} if ctas == 1 else {"num_ctas": ctas}
    # The loop prefetches a tile of A and one of B, each as at least one box.
    assert compiled(product, args, target, **hints).ptx.count(f"{COPY}.2d.L2.global.tile") >= 2
    for (found,) in run_everywhere(product, (2, 2), args, (2,), target=target, hints=hints, seeds=range(4)):
        assert np.array_equal(found, A.astype("f4") @ B.astype("f4"))


def test_the_role_that_loads_prefetches(target):
    args = (np.zeros((256, 256), "f2"), np.zeros((256, 128), "f2"), np.zeros((256, 128), "f4"), 3, 128, 128, 64)
    roles = compiled(product, args, target).stage("gpu").text.split(" warps")
    (role,) = [part for part in roles if "tile_gpu.tma_prefetch" in part]
    assert "tile_gpu.tma_load" in role and "tile_gpu.store" not in role


def test_switches(target, switches, random):
    A, B = random.integers(-3, 4, (256, 128)).astype("f2"), random.integers(-3, 4, (128, 128)).astype("f2")
    args = (A, B, np.zeros((256, 128), np.float32), 1, 128, 128, 64)
    assert (COPY in compiled(product, args, target, **switches).ptx) == switches["tma"]
    for (found,) in run_everywhere(product, (2, 1), args, (2,), target=target, hints=switches):
        assert np.array_equal(found, A.astype("f4") @ B.astype("f4"))


@pytest.mark.parametrize("dtype", ["f4", "i4", "f8", "i1"])
def test_rows(target, random, dtype):
    X = random.integers(-3, 4, (300, 64)).astype(dtype)
    args = (X, np.zeros(300, dtype), 32, 64)
    assert COPY in compiled(sums, args, target).ptx
    for (found,) in run_everywhere(sums, (3,), args, (1,), target=target, hints={}, seeds=(0, 1)):
        assert np.array_equal(found, X.sum(axis=1, dtype=dtype))


@pytest.mark.parametrize("step", [16, 3], ids=["aligned", "unaligned"])
def test_tiled_view(target, random, step):
    X = random.integers(-9, 10, (64, 96)).astype("f2")
    args = (X, np.zeros((64, 64), "f2"), 64, step)
    kernel = compiled(viewed, args, target)
    assert (COPY in kernel.ptx) == (step == 16)
    remark = "the prefetch is omitted: traversal stride 1 is not a multiple of 16 bytes"
    assert any(remark in str(each) for each in kernel.all_remarks) == (step == 3)
    for (found,) in run_everywhere(viewed, (2,), args, (1,), target=target, hints={}):
        assert np.array_equal(found, X[:, step : step + 64])


def test_order_of_axes(target, random):
    X = random.integers(-9, 10, (64, 128)).astype("f4")
    args = (X, np.zeros((128, 64), "f4"), 32, 64)
    assert COPY in compiled(transposed, args, target).ptx
    for (found,) in run_everywhere(transposed, (2, 2), args, (1,), target=target, hints={}):
        assert np.array_equal(found, X.T)


def test_arrays_that_tma_cannot_address(target, random):
    X = random.integers(-9, 10, (96, 70)).astype("f2")
    args = (X, np.zeros(96, "f2"), 32, 64)
    kernel = compiled(sums, args, target)
    assert COPY not in kernel.ptx
    assert any("the prefetch is omitted: stride 0 is not known to be" in str(each) for each in kernel.all_remarks)
    for (found,) in run_everywhere(sums, (3,), args, (1,), target=target, hints={}):
        assert np.array_equal(found, X[:, :64].astype("f4").sum(axis=1).astype("f2"))


def test_an_index_from_memory_has_no_prefetch(target, random):
    X, index = random.integers(-9, 10, (128, 64)).astype("f2"), np.array([2, 0, 3, 2], np.int32)
    args = (X, index, np.zeros((128, 64), "f2"))
    kernel = compiled(chosen, args, target)
    assert COPY not in kernel.ptx
    assert any("the prefetch is omitted: its index, or a loop" in str(each) for each in kernel.all_remarks)
    for (found,) in run_everywhere(chosen, (4,), args, (2,), target=target, hints={}):
        assert np.array_equal(found, X.reshape(4, 32, 64)[index].reshape(128, 64))


def test_checked_builds_have_prefetches(target, random):
    X = random.integers(-3, 4, (64, 64)).astype("f4")
    args = (X, np.zeros(64, "f4"), 32, 64)
    for (found,) in run_everywhere(sums, (1,), args, (1,), target=target, hints={"checks": True}):
        assert np.array_equal(found, X.sum(axis=1))
