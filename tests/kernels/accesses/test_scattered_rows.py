"""Stores of rows by index agree with numpy: by tile::scatter4 where TMA can, else by threads, with a remark."""

from __future__ import annotations

import numpy as np
import pytest
from compare import SEEDS, run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def scattered_product(X, W, Row, Y, tm: Const, tn: Const, tk: Const):
    """Y[Row[i]] = X[i] @ W, in a loop over tiles; rows that Y does not have are dropped."""
    j = ct.bid(1)
    for i in range(ct.bid(0), ct.num_tiles(Row, axis=0, shape=(tm,)), ct.num_blocks(0)):
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
            x = ct.load(X, (i, k), (tm, tk), padding_mode=ZERO)
            total = ct.mma(x, ct.load(W, (k, j), (tk, tn), padding_mode=ZERO), total)
        ct.store_advanced_indexing(Y, (ct.load(Row, (i,), (tm,)), ct.Slice(j * tn, tn)), total.astype(Y.dtype))


@ct.kernel
def scattered_twice(X, W, Row, Y, Z, tm: Const, tn: Const, tk: Const):
    """Y[Row[i]] = X[i] @ W and Z[Row[i] + 1] = 2 X[i] @ W: both stores use one buffer of indices in turn."""
    rows = ct.load(Row, (ct.bid(0),), (tm,))
    x, w = ct.load(X, (ct.bid(0), 0), (tm, tk), padding_mode=ZERO), ct.load(W, (0, 0), (tk, tn), padding_mode=ZERO)
    total = ct.mma(x, w, ct.zeros((tm, tn), ct.float32))
    ct.store_advanced_indexing(Y, (rows, ct.Slice(0, tn)), total.astype(Y.dtype))
    ct.store_advanced_indexing(Z, (rows + 1, ct.Slice(0, tn)), (2 * total).astype(Z.dtype))


@ct.kernel
def overwritten(X, W, Row, Y, count: Const):
    """Y[Row[i]] = (n + 1) X[i] @ W for n below count, one after the other: the last one stays."""
    product = ct.mma(ct.load(X, (0, 0), (128, 64)), ct.load(W, (0, 0), (64, 64)), ct.zeros((128, 64), ct.float32))
    rows = ct.load(Row, (0,), (128,))
    for n in range(count):
        scaled = product * (n + 1).astype(ct.float32)
        ct.store_advanced_indexing(Y, (rows, ct.Slice(0, 64)), scaled.astype(Y.dtype))


@ct.kernel
def read_again(X, W, Row, Y, Z):
    """Y[Row[i]] = X[i] @ W, then Z[i] = Y[Row[i]] + 1, then Y[0] = 7: each access follows the one before it."""
    product = ct.mma(ct.load(X, (0, 0), (128, 64)), ct.load(W, (0, 0), (64, 64)), ct.zeros((128, 64), ct.float32))
    rows = ct.load(Row, (0,), (128,))
    ct.store_advanced_indexing(Y, (rows, ct.Slice(0, 64)), product.astype(Y.dtype))
    again = ct.load_advanced_indexing(Y, (rows, ct.Slice(0, 64)), padding_mode=ZERO)
    ct.store(Z, (0, 0), again + 1)
    ct.store(Y, (0, 0), ct.full((1, 64), 7, Y.dtype))


@ct.kernel
def scattered_columns(X, W, Column, Y):
    """Y[:, Column[j]] = (X @ W)[:, j]."""
    product = ct.mma(ct.load(X, (0, 0), (128, 64)), ct.load(W, (0, 0), (64, 64)), ct.zeros((128, 64), ct.float32))
    ct.store_advanced_indexing(Y, (ct.Slice(0, 128), ct.load(Column, (0,), (64,))), product.astype(Y.dtype))


@ct.kernel
def scattered_part(X, W, Row, Y, start: Const, tn: Const, allow_tma: ct.Constant[bool]):
    """Y[Row[i], start:start + tn] = X[i] @ W."""
    product = ct.mma(ct.load(X, (0, 0), (128, 64)), ct.load(W, (0, 0), (64, tn)), ct.zeros((128, tn), ct.float32))
    rows, part = ct.load(Row, (0,), (128,)), product.astype(Y.dtype)
    ct.store_advanced_indexing(Y, (rows, ct.Slice(start, tn)), part, allow_tma=allow_tma)


def operands(random, rows, columns, depth, dtype):
    X = random.integers(-3, 4, (rows, depth)).astype(dtype)
    W = random.integers(-3, 4, (depth, columns)).astype(dtype)
    return X, W, X.astype("f8") @ W.astype("f8")


def scattered(result, rows, product):
    """The result after a scatter; indices outside of it, negative ones too, have no effect."""
    exact = result.copy()
    for row, values in zip(rows.tolist(), product, strict=True):
        if 0 <= row < len(exact):
            exact[row] = values
    return exact


def compiled(kernel, args, target):
    return ct.compile(kernel, signature=Signature.from_arguments(kernel, args), target=target, stop="ptx")


@pytest.mark.parametrize("index", ["i4", "i8", "u4", "i2"])
@pytest.mark.parametrize("tile", [(128, 64, 64), (64, 32, 32), (128, 128, 64), (128, 16, 32)], ids=str)
def test_product(target, random, tile, index):
    tm, tn, tk = tile
    X, W, product = operands(random, 300, 136, 72, "f2")
    rows = random.permutation(400)[: -(-300 // tm) * tm].astype(index)
    if index != "u4":
        rows[::7] = -rows[::7] - 1
    rows[[5, 9]] = np.iinfo(index).max, np.iinfo(index).min if index != "u4" else 0xFFFFFFFF
    rows[300:] = -1 if index != "u4" else 1 << 31
    Y = random.integers(-9, 10, (350, 136)).astype("f2")
    args = (X, W, rows, Y, *tile)
    assert ("tile::scatter4" in compiled(scattered_product, args, target).ptx) == (target == "sm_100a")
    exact = scattered(Y, rows[:300], product)
    for (found,) in run_everywhere(
        scattered_product, (2, -(-136 // tn)), args, (3,), target=target, hints={}, seeds=(0, 1)
    ):
        assert np.array_equal(found, exact)


def test_product_in_any_order(target, random):
    X, W, product = operands(random, 512, 64, 64, "f2")
    rows = random.permutation(600)[:512].astype(np.int32)
    args = (X, W, rows, np.zeros((550, 64), "f2"), 128, 64, 64)
    for (found,) in run_everywhere(scattered_product, (1, 1), args, (3,), target=target, hints={}, seeds=SEEDS):
        assert np.array_equal(found, scattered(args[3], rows, product))


def test_switches(target, switches, random):
    X, W, product = operands(random, 256, 64, 64, "f2")
    rows = random.permutation(300)[:256].astype(np.int32)
    args = (X, W, rows, np.zeros((280, 64), "f2"), 128, 64, 64)
    for (found,) in run_everywhere(scattered_product, (2, 1), args, (3,), target=target, hints=switches):
        assert np.array_equal(found, scattered(args[3], rows, product))


@pytest.mark.parametrize(("dtype", "result"), [("f2", "f4"), ("f2", "f2")])
def test_two_scatters(target, random, dtype, result):
    X, W, product = operands(random, 256, 64, 64, dtype)
    rows = random.permutation(256).astype(np.int32)
    args = (X, W, rows, np.zeros((256, 64), result), np.zeros((200, 64), result), 128, 64, 64)
    exact = scattered(args[3], rows, product), scattered(args[4], rows + 1, 2 * product)
    for found in run_everywhere(scattered_twice, (2,), args, (3, 4), target=target, hints={}, seeds=range(6)):
        assert all(map(np.array_equal, found, exact))


def test_later_stores_follow_earlier_ones(target, random):
    X, W, product = operands(random, 128, 64, 64, "f2")
    rows = random.permutation(128).astype(np.int32)
    args = (X, W, rows, np.zeros((128, 64), "f4"), 5)
    for (found,) in run_everywhere(overwritten, (1,), args, (3,), target=target, hints={}, seeds=SEEDS):
        assert np.array_equal(found, scattered(args[3], rows, 5 * product))


def test_accesses_of_the_same_rows_keep_their_order(target, random):
    X, W, product = operands(random, 128, 64, 64, "f2")
    rows = random.permutation(128).astype(np.int32)
    args = (X, W, rows, np.zeros((128, 64), "f4"), np.zeros((128, 64), "f4"))
    assert ("tile::scatter4" in compiled(read_again, args, target).ptx) == (target == "sm_100a")
    exact = scattered(args[3], rows, product)
    exact[0] = 7
    for y, z in run_everywhere(read_again, (1,), args, (3, 4), target=target, hints={}, seeds=SEEDS):
        assert np.array_equal(y, exact) and np.array_equal(z, product + 1)


# The width of the result and its padding, the first column, the columns of the tile, whether TMA is allowed, and
# the remark on sm_100a.
REFUSED = {
    "unaligned column": (136, 0, 4, 64, True, "the first column of the rows is not known to be a multiple of 16 bytes"),
    "wide tile": (256, 0, 0, 256, True, "the scattered tile has 65536 bytes, more than 32768: store fewer columns"),
    "narrow tile": (64, 0, 0, 8, True, "4 scattered rows have 64 bytes, TMA reads multiples of 128"),
    "unaligned stride": (70, 0, 0, 64, True, "stride 0 is not known to be a multiple of 16 bytes"),
    "ragged rows": (70, 2, 0, 64, True, "extent 1 is not known to be a multiple of 16 bytes, which TMA writes as a"),
    "hint": (64, 0, 0, 64, False, "hint allow_tma=False"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_threads_scatter_where_tma_does_not(target, random, case):
    width, padding, start, tn, allow_tma, remark = REFUSED[case]
    X, W, product = operands(random, 128, tn, 64, "f2")
    rows = random.permutation(200)[:128].astype(np.int32)
    Y = np.zeros((180, width + padding), "f2")[:, :width]
    args = (X, W, rows, Y, start, tn, allow_tma)
    kernel = compiled(scattered_part, args, target)
    assert "scatter4" not in kernel.ptx
    if target == "sm_90a" and allow_tma:
        remark = "TMA of sm_90a does not scatter rows"
    assert any(f"the store does not use TMA: {remark}" in str(each) for each in kernel.all_remarks), kernel.all_remarks
    exact = np.zeros((180, width), "f2")
    for row, values in zip(rows, product, strict=True):
        if row < 180:
            exact[row, start : start + tn] = values[: width - start]
    for (found,) in run_everywhere(scattered_part, (1,), args, (3,), target=target, hints={}):
        assert np.array_equal(found, exact)


def test_columns_are_scattered_by_threads(target, random):
    X, W, product = operands(random, 128, 64, 64, "f2")
    columns = random.permutation(80)[:64].astype(np.int32)
    args = (X, W, columns, np.zeros((128, 72), "f2"))
    kernel = compiled(scattered_columns, args, target)
    reason = "TMA scatters rows of a matrix, not along dimension 1" if target == "sm_100a" else "does not scatter rows"
    assert any(reason in str(each) for each in kernel.all_remarks) and "scatter4" not in kernel.ptx
    exact = scattered(np.zeros((72, 128), "f2"), columns, product.T).T
    for (found,) in run_everywhere(scattered_columns, (1,), args, (3,), target=target, hints={}):
        assert np.array_equal(found, exact)
