"""Matrix products of 256 rows, some that a pair of blocks cannot compute or would compute twice, and long rows."""

from __future__ import annotations

import tilec as ct

Extent = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def product(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        a = ct.load(A, (i, k), (TM, TK), padding_mode=ZERO)
        b = ct.load(B, (k, j), (TK, TN), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel(num_ctas=1)
def product_of_one_block(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def persistent(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    rows, columns = ct.num_tiles(C, 0, (TM, TN)), ct.num_tiles(C, 1, (TM, TN))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        total = ct.zeros((TM, TN), ct.float32)
        for k in range(ct.num_tiles(A, 1, (TM, TK))):
            total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
        ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def of_chosen_columns(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    """The position of the right operand comes from memory, so that only one role knows it."""
    i, j = ct.bid(0), ct.load(C, (0, 0), (1, 1)).item().astype(ct.int32)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def asserted(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    i, j = ct.bid(0), ct.bid(1)
    ct.assert_(i < 8, "few rows")
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def printed(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    i, j = ct.bid(0), ct.bid(1)
    print("tile", i, j)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def counted(A, B, C, N, TM: Extent, TN: Extent, TK: Extent):
    i, j = ct.bid(0), ct.bid(1)
    ct.atomic_add(N, 0, 1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def greatest_of_columns(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    """Each column of the tile needs the rows of both blocks."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), ct.max(total, axis=0, keepdims=True).astype(C.dtype))


@ct.kernel
def of_sums(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    """Registers prepare the left operand."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        a = ct.load(A, (i, k), (TM, TK))
        total = ct.mma(a + a, ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@ct.kernel
def three_products(A, B, C, TM: Extent, TN: Extent, TK: Extent):
    """Their sums have three times as many columns, and a print runs once: no part of them is computed alone."""
    ct.printf("once")
    i, j = ct.bid(0), ct.bid(1)
    first = second = third = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        a = ct.load(A, (i, k), (TM, TK))
        first = ct.mma(a, ct.load(B, (k, j), (TK, TN)), first)
        second = ct.mma(a, ct.load(B, (k, j + 1), (TK, TN)), second)
        third = ct.mma(a, ct.load(B, (k, j + 2), (TK, TN)), third)
    ct.store(C, (i, j), (first + second + third).astype(C.dtype))


@ct.kernel
def softmax(X, Y, SIZE: Extent):
    x = ct.load(X, (ct.bid(0), 0), (1, SIZE))
    powers = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, (ct.bid(0), 0), powers / ct.sum(powers, axis=1, keepdims=True))


@ct.kernel
def running_sum(X, Y, SIZE: Extent):
    """Each element needs those of other blocks."""
    x = ct.load(X, (ct.bid(0), 0), (1, SIZE))
    ct.store(Y, (ct.bid(0), 0), ct.cumsum(x / ct.max(x, axis=1, keepdims=True), axis=1))


@ct.kernel
def sums_of_tiles(X, Y, SIZE: Extent):
    """The loads of a loop, which TMA could issue in a role of its own."""
    total = ct.zeros((1, SIZE), ct.float32)
    for j in range(ct.num_tiles(X, 1, (1, SIZE))):
        total += ct.load(X, (ct.bid(0), j), (1, SIZE))
    ct.store(Y, (ct.bid(0), 0), total / ct.sum(total, axis=1, keepdims=True))
