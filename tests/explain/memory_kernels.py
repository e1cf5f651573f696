"""Kernels whose memory plans are known."""

import tilec as ct

Const = ct.Constant[int]


@ct.kernel
def two_products(A, B, C, rows: Const, columns: Const, depth: Const):
    """Two loops with tiles of the same size, in lines 12 to 15 and 18 to 21."""
    total = ct.full((rows, columns), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(rows, depth))):
        a = ct.load(A, index=(0, k), shape=(rows, depth))
        b = ct.load(B, index=(k, 0), shape=(depth, columns))
        total = ct.mma(a, b, total)
    ct.store(C, index=(0, 0), tile=total.astype(C.dtype))
    total = ct.full((rows, columns), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(rows, depth))):
        a = ct.load(A, index=(1, k), shape=(rows, depth))
        b = ct.load(B, index=(k, 1), shape=(depth, columns))
        total = ct.mma(a, b, total)
    ct.store(C, index=(1, 1), tile=total.astype(C.dtype))


@ct.kernel
def too_large(A, B, D, E, rows: Const, columns: Const, depth: Const):
    """Three operands, all in use until the last multiply."""
    a = ct.load(A, index=(0, 0), shape=(rows, depth))
    b = ct.load(B, index=(0, 0), shape=(depth, columns))
    d = ct.load(D, index=(0, 0), shape=(depth, columns))
    total = ct.mma(a, b, ct.full((rows, columns), 0, dtype=ct.float32))
    total = ct.mma(a, d, total) + ct.mma(a, b, total)
    ct.store(E, index=(0, 0), tile=total)
