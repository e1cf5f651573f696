"""Products of 8-bit and 4-bit floats whose blocks have scales."""

import cuda.tile as ct

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO


def elements(X, row, k, rows, depth, packed):
    """A tile of 8-bit floats, or of 4-bit floats that lie in pairs in bytes."""
    x = ct.load(X, index=(row, k), shape=(rows, depth // packed), padding_mode=ZERO)
    if packed == 2:
        x = ct.unpack_from_bytes(x.reshape((rows * depth // 2,)), ct.float4_e2m1fn).reshape((rows, depth))
    return x


def scales(S, row, k, rows, count):
    """Scales in the layout that tensor cores read: 128 rows by 4 scales are 32 rows of 16 bytes."""
    groups, quads = rows // 128, count // 4
    packed = ct.load(S, index=(row, k, 0, 0), shape=(groups, quads, 32, 16), padding_mode=ZERO)
    return packed.reshape((groups, quads, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((rows, count))


def scaled_product(A, SA, B, SB, row, column, tm, tn, tk, block, packed):
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk // packed))):
        a, b = elements(A, row, k, tm, tk, packed), elements(B, column, k, tn, tk, packed)
        a_scales, b_scales = scales(SA, row, k, tm, tk // block), scales(SB, column, k, tn, tk // block)
        total = ct.mma_scaled(a, a_scales, ct.transpose(b), ct.transpose(b_scales), total)
    return total


@ct.kernel
def scaled_matmul(A, SA, B, SB, C, tm: Extent, tn: Extent, tk: Extent, block: Extent, packed: Extent):
    """C = A @ B.T, where each `block` elements of a row have a scale."""
    total = scaled_product(A, SA, B, SB, ct.bid(0), ct.bid(1), tm, tn, tk, block, packed)
    ct.store(C, index=(ct.bid(0), ct.bid(1)), tile=total.astype(C.dtype))


@ct.kernel(num_ctas=2)
def scaled_matmul_of_pairs(A, SA, B, SB, C, tm: Extent, tn: Extent, tk: Extent, block: Extent, packed: Extent):
    total = scaled_product(A, SA, B, SB, ct.bid(0), ct.bid(1), tm, tn, tk, block, packed)
    ct.store(C, index=(ct.bid(0), ct.bid(1)), tile=total.astype(C.dtype))


@ct.kernel
def rows_scaled_matmul(A, SA, B, SB, C, tm: Extent, tn: Extent, tk: Extent, block: Extent):
    """The scales are row-major matrices."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(column, k), shape=(tn, tk), padding_mode=ZERO)
        a_scales = ct.load(SA, index=(row, k), shape=(tm, tk // block), padding_mode=ZERO)
        b_scales = ct.load(SB, index=(column, k), shape=(tn, tk // block), padding_mode=ZERO)
        total = ct.mma_scaled(a, a_scales, ct.transpose(b), ct.transpose(b_scales), total)
    ct.store(C, index=(row, column), tile=total.astype(C.dtype))


@ct.kernel
def block_matmul(A, SA, B, SB, C, tm: Extent, tn: Extent, tk: Extent):
    """8-bit floats with float32 scales of 1 x tk elements of A and of tn x tk elements of B: C = A @ B.T."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(column, k), shape=(tn, tk), padding_mode=ZERO)
        a_scale = ct.load(SA, index=(k, row), shape=(1, tm), padding_mode=ZERO).reshape((tm, 1))
        b_scale = ct.load(SB, index=(column, k), shape=(1, 1)).item()
        part = ct.mma(a, ct.transpose(b), ct.zeros((tm, tn), dtype=ct.float32))
        total = total + part * (a_scale * b_scale)
    ct.store(C, index=(row, column), tile=total.astype(C.dtype))
