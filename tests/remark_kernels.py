"""Kernels whose remarks tests/driver expects, and whose estimates tests/explain computes by hand."""

from __future__ import annotations

import tilec as ct


@ct.kernel
def product_with_itself(A, C, D):
    total, sums = ct.zeros((64, 64), ct.float32), ct.zeros((64, 1), ct.float32)
    for k in range(ct.num_tiles(A, 1, (64, 1024))):
        a = ct.load(A, (0, k), (64, 1024))
        total = ct.mma(a, ct.transpose(a), total)
        sums = sums + ct.sum(a.astype(ct.float32), 1, keepdims=True)
    ct.store(C, (0, 0), total)
    ct.store(D, (0, 0), sums)


@ct.kernel
def converted(A, B, C):
    acc = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        a, b = ct.load(A, (0, k), (128, 64)), ct.load(B, (k, 0), (64, 128))
        acc = ct.mma(a.astype(ct.float16), b.astype(ct.float16), acc)
    ct.store(C, (0, 0), acc)
