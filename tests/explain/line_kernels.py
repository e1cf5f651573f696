"""Kernels of which single lines are explained."""

import tilec as ct


@ct.function
def product(A, B, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (ct.bid(0), k), (tm, tk))
        b = ct.load(B, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a, b, total)
    return total


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    total = product(A, B, tm, tn, tk)
    ct.store(C, (ct.bid(0), ct.bid(1)), total.astype(C.dtype))
