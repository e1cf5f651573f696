"""Kernels with results that numpy computes directly."""

import tilec as ct


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    columns = ct.cdiv(C.shape[1], tn)
    row = ct.bid(0) // columns
    column = ct.bid(0) % columns
    accumulator = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(a, b, accumulator)
    ct.store(C, index=(row, column), tile=ct.astype(accumulator, C.dtype))


@ct.kernel
def scale(x, y, factor, tile: ct.Constant[int]):
    block = ct.bid(0)
    ct.store(y, index=(block,), tile=ct.load(x, index=(block,), shape=(tile,)) * factor)
