"""Matrix products: one tile per block, persistent, batched, and with rows from a list of arrays."""

import cuda.tile as ct

Extent = ct.Constant[int]

# Concurrent tile blocks use this many rows of tiles, so that their operands are in the cache.
BAND = 4


def banded(number, rows, columns):
    """The row and the column of tile `number`, in bands of rows; a band is numbered column by column."""
    band = number // (BAND * columns)
    height = min(rows - band * BAND, BAND)
    within = number - band * BAND * columns
    return band * BAND + within % height, within // height


def operand_type(array):
    return ct.tfloat32 if array.dtype == ct.float32 else array.dtype


def product(A, B, row, column, tm, tn, tk):
    total = ct.zeros((tm, tn), dtype=ct.float32)
    zero = ct.PaddingMode.ZERO
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=zero)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=zero)
        total = ct.mma(a.astype(operand_type(A)), b.astype(operand_type(B)), total)
    return total


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2))
def matmul(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    row, column = banded(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel(occupancy=2)
def persistent_matmul(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    for number in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        row, column = banded(number, rows, columns)
        ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel
def batch_matmul(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    batch, row, column = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    zero = ct.PaddingMode.ZERO
    for k in range(ct.cdiv(A.shape[2], tk)):
        a = ct.load(A, index=(batch, row, k), shape=(1, tm, tk), padding_mode=zero)
        b = ct.load(B, index=(batch, k, column), shape=(1, tk, tn), padding_mode=zero)
        total = ct.mma(ct.reshape(a, (tm, tk)), ct.reshape(b, (tk, tn)), total)
    ct.store(C, index=(batch, row, column), tile=ct.reshape(total.astype(C.dtype), (1, tm, tn)))


@ct.kernel
def gathered_matmul(parts, W, C, tm: Extent, tn: Extent, tk: Extent):
    row, column = ct.bid(0), ct.bid(1)
    rows = ct.cdiv(parts[0].shape[0], tm)
    total = product(parts[row // rows], W, row % rows, column, tm, tn, tk)
    ct.store(C, index=(row, column), tile=total.astype(C.dtype))
