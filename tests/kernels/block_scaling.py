"""Kernels of block-scaled products."""

from __future__ import annotations

import tilec as ct

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const, block: Const, packed: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk // packed))):
        a = ct.load(A, index=(row, k), shape=(tm, tk // packed), padding_mode=ZERO)
        b = ct.load(B, index=(column, k), shape=(tn, tk // packed), padding_mode=ZERO)
        if packed == 2:
            a = ct.unpack_from_bytes(a.reshape((tm * tk // 2,)), ct.float4_e2m1fn).reshape((tm, tk))
            b = ct.unpack_from_bytes(b.reshape((tn * tk // 2,)), ct.float4_e2m1fn).reshape((tn, tk))
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


def loaded_factors(S, row, k, rows: Const, count: Const):
    """Factors in memory as tensor cores read them: blocks of 128 rows by 4 factors, as 32 rows of 16 bytes."""
    blocks = ct.load(S, index=(row, k, 0, 0), shape=(rows // 128, count // 4, 32, 16))
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
def matmul_of_blocks(A, SA, B, SB, C, tm: Const, tn: Const, tk: Const, block: Const):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk))
        b = ct.load(B, index=(column, k), shape=(tn, tk))
        a_scale = loaded_factors(SA, row, k, tm, tk // block)
        b_scale = loaded_factors(SB, column, k, tn, tk // block)
        total = ct.mma_scaled(a, a_scale, b.transpose(), b_scale.transpose(), total)
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
