"""A convolution and a matrix multiply with the same loop, for the comparison of their code."""

import tilec as ct

ConstInt = ct.Constant[int]
ConstMode = ct.Constant[str]


@ct.kernel
def convolution(
    x, filters, y, stride: ConstInt, padding: ConstInt, tm: ConstInt, tn: ConstInt, tk: ConstInt, mode: ConstMode
):
    """y [N, P, Q, K] from x [N, H, W, C] and filters [R, S, C, K]."""
    taps = filters.shape[0], filters.shape[1]
    images = ct.im2col_view(x, window=taps, stride=stride, padding=padding, tile=(tm, tk), mode=mode)
    result = ct.im2col_view(y, window=1, tile=(tm, tn), mode=mode)
    columns = result.num_tiles(1)
    row, column = ct.bid(0) // columns, ct.bid(0) % columns
    accumulator = ct.full((tm, tn), 0, dtype=ct.float32)
    for r in range(taps[0]):
        for s in range(taps[1]):
            for c in range(images.num_tiles(1)):
                a = ct.load(images, (row, c), offset=(r, s))
                b = ct.load(filters, (r, s, c, column), (1, 1, tk, tn), padding_mode=ct.PaddingMode.ZERO)
                accumulator = ct.mma(a, b.reshape((tk, tn)), accumulator)
    ct.store(result, (row, column), ct.astype(accumulator, y.dtype))


@ct.kernel
def matmul(A, B, C, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    """The convolution of a 1 x 1 window over rows of pixels."""
    columns = ct.cdiv(C.shape[1], tn)
    row, column = ct.bid(0) // columns, ct.bid(0) % columns
    accumulator = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(a, b, accumulator)
    ct.store(C, index=(row, column), tile=ct.astype(accumulator, C.dtype))
