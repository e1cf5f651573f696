"""Kernels of block-scaled products."""

from __future__ import annotations

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def operand(X, row, k, rows: Const, depth: Const, packed: Const):
    """A tile of elements, of which a byte has one or two."""
    x = ct.load(X, index=(row, k), shape=(rows, depth // packed), padding_mode=ZERO)
    if packed == 2:
        x = ct.unpack_from_bytes(x.reshape((rows * depth // 2,)), ct.float4_e2m1fn).reshape((rows, depth))
    return x


@ct.kernel
def matmul(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const, block: Const, packed: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk // packed))):
        a, b = operand(A, row, k, tm, tk, packed), operand(B, column, k, tn, tk, packed)
        a_scale = ct.load(SA, index=(row, k), shape=(tm, tk // block), padding_mode=ZERO)
        b_scale = ct.load(SB, index=(k, column), shape=(tk // block, tn), padding_mode=ZERO)
        total = ct.mma_scaled(a, a_scale, b.transpose(), b_scale, total)
    ct.store(C, index=(row, column), tile=total)


@ct.kernel
def matmul_of_columns(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const):
    """A is stored as K by M, and B as K by N."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=0, shape=(tk, tm))):
        a, b = ct.load(A, index=(k, 0), shape=(tk, tm)), ct.load(B, index=(k, 0), shape=(tk, tn))
        a_scale = ct.load(SA, index=(0, k), shape=(tm, tk // 32))
        b_scale = ct.load(SB, index=(k, 0), shape=(tk // 32, tn))
        total = ct.mma_scaled(a.transpose(), a_scale, b, b_scale, total)
    ct.store(C, index=(0, 0), tile=total)


@ct.kernel
def matmul_of_two(A, B, C):
    """Threads convert the left operands of two products, which are parts of one multiply."""
    total = ct.zeros((2, 64, 16), ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(2, 64, 64))):
        a, b = ct.load(A, index=(0, 0, k), shape=(2, 64, 64)), ct.load(B, index=(0, k, 0), shape=(2, 64, 16))
        total = ct.mma(a.astype(ct.float16), b, total)
    ct.store(C, index=(0, 0, 0), tile=total)


def loaded_factors(S, row, k, rows: Const, count: Const):
    """Factors in memory as tensor cores read them: blocks of 128 rows by 4 factors, as 32 rows of 16 bytes."""
    blocks = ct.load(S, index=(row, k, 0, 0), shape=(rows // 128, count // 4, 32, 16), padding_mode=ZERO)
    return blocks.reshape((rows // 128, count // 4, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((rows, count))


@ct.kernel
def repeated_factors(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const, block: Const):
    """The factors are loaded once, before the loop."""
    total = ct.zeros((tm, tn), ct.float32)
    a_scale, b_scale = loaded_factors(SA, 0, 0, tm, tk // block), loaded_factors(SB, 0, 0, tn, tk // block)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(0, k), shape=(tm, tk))
        b = ct.load(B, index=(0, k), shape=(tn, tk))
        total = ct.mma_scaled(a, a_scale, b.transpose(), b_scale.transpose(), total)
    ct.store(C, index=(0, 0), tile=total)


@ct.kernel
def matmul_of_blocks(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const, block: Const, packed: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk // packed))):
        a, b = operand(A, row, k, tm, tk, packed), operand(B, column, k, tn, tk, packed)
        a_scale = loaded_factors(SA, row, k, tm, tk // block)
        b_scale = loaded_factors(SB, column, k, tn, tk // block)
        total = ct.mma_scaled(a, a_scale, b.transpose(), b_scale.transpose(), total)
    ct.store(C, index=(row, column), tile=total)


@ct.kernel
def persistent_matmul(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const):
    """B is stored as K by N; each program computes several tiles."""
    columns = ct.num_tiles(C, axis=1, shape=(tm, tn))
    for tile in range(ct.bid(0), ct.num_tiles(C, axis=0, shape=(tm, tn)) * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
            a, b = operand(A, row, k, tm, tk, 1), ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
            a_scale, b_scale = loaded_factors(SA, row, k, tm, tk // 32), loaded_factors(SB, column, k, tn, tk // 32)
            total = ct.mma_scaled(a, a_scale, b, b_scale.transpose(), total)
        ct.store(C, index=(row, column), tile=total)


@ct.kernel
def product_and_double(A, SA, B, SB, C):
    """Both products need 256 columns of tensor memory, and more for their factors, in one loop."""
    once, again = ct.zeros((128, 256), ct.float32), ct.zeros((128, 256), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(128, 32))):
        a, a_scale = ct.load(A, index=(0, k), shape=(128, 32)), ct.load(SA, index=(0, k), shape=(128, 1))
        b, b_scale = ct.load(B, index=(0, k), shape=(256, 32)), ct.load(SB, index=(k, 0), shape=(1, 256))
        once = ct.mma_scaled(a, a_scale, b.transpose(), b_scale, once)
        again = ct.mma_scaled(a, a_scale, b.transpose(), b_scale, again)
    ct.store(C, index=(0, 0), tile=once + again)
