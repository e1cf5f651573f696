"""Kernels that only the timing on a GPU compares, in cuTile Python."""

import cuda.tile as ct
from sheet.kernels import Extent, Flag, grouped


@ct.kernel
def matmul_of_rows(A, B, C, tm: Extent, tn: Extent, tk: Extent, fast: Flag):
    """C = A @ B.T; `fast` sums products of 8-bit floats without float32 additions between steps."""
    row, column = grouped(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[0], tn))
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total, use_fast_acc=fast)
    ct.store(C, index=(row, column), tile=total.astype(C.dtype))
