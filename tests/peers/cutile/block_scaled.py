"""A product of matrices of 4-bit or 8-bit floats, where each block of elements along k shares a scale."""

import cuda.tile as ct
from cutile.matmul import banded

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO


def load_scales(S, row, k, rows, scales):
    """A tile of scales, stored as a matrix or in the layout of tensor cores: 32 rows by 4 groups by 4 scales."""
    if len(S.shape) == 2:
        return ct.load(S, index=(row, k), shape=(rows, scales), padding_mode=ZERO)
    groups, quads = rows // 128, scales // 4
    packed = ct.load(S, index=(row, k, 0, 0), shape=(groups, quads, 32, 16), padding_mode=ZERO)
    unpacked = ct.permute(ct.reshape(packed, (groups, quads, 32, 4, 4)), (0, 3, 2, 1, 4))
    return ct.reshape(unpacked, (rows, scales))


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2))
def block_scaled_matmul(A, SA, B, SB, C, tm: Extent, tn: Extent, tk: Extent, block: Extent):
    row, column = banded(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    scales = tk // block
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        if len(SB.shape) == 2:
            b_scale = ct.load(SB, index=(k, column), shape=(scales, tn), padding_mode=ZERO)
        else:
            b_scale = ct.transpose(load_scales(SB, column, k, tn, scales))
        total = ct.mma_scaled(a, load_scales(SA, row, k, tm, scales), b, b_scale, total)
    ct.store(C, index=(row, column), tile=total)
