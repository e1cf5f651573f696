"""The matmul whose compile time is measured, in Python that both tilec and cuTile accept."""

import tilec as ct

ConstInt = ct.Constant[int]


@ct.kernel
def matmul(A, B, C, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    columns = ct.cdiv(C.shape[1], tn)
    row = ct.bid(0) // columns
    column = ct.bid(0) % columns
    accumulator = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(a, b, accumulator)
    ct.store(C, index=(row, column), tile=ct.astype(accumulator, C.dtype))
