"""The kernels of the sheet, in cuTile Python; those that tests/peers/cutile has are taken from there."""

import math

import cuda.tile as ct

Extent = ct.Constant[int]
Flag = ct.Constant[bool]

ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)


def product(A, B, row, column, tm, tn, tk):
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    return total


def grouped(number, rows, columns):
    """The row and column of a tile, where tiles are numbered along bands of eight rows."""
    band = number // (8 * columns)
    height = min(rows - 8 * band, 8)
    return 8 * band + number % (8 * columns) % height, number % (8 * columns) // height


def gelu(x):
    """The approximation of the Gaussian error linear unit by the hyperbolic tangent."""
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + ct.tanh(inner))


@ct.kernel
def matmul(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    row, column = grouped(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel(num_ctas=1)
def matmul_of_one_block(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    row, column = grouped(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel(num_ctas=2)
def matmul_of_pairs(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    row, column = grouped(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel
def persistent_matmul(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    for number in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        row, column = grouped(number, rows, columns)
        ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel(num_ctas=1)
def persistent_matmul_of_one_block(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    for number in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        row, column = grouped(number, rows, columns)
        ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel(num_ctas=2)
def persistent_matmul_of_pairs(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    for number in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        row, column = grouped(number, rows, columns)
        ct.store(C, index=(row, column), tile=product(A, B, row, column, tm, tn, tk).astype(C.dtype))


@ct.kernel
def gated_matmul(A, B, D, C, tm: Extent, tn: Extent, tk: Extent):
    """Two products of one left operand: the gate and the other factor of a gated MLP."""
    row, column = ct.bid(0), ct.bid(1)
    gate, up = ct.zeros((tm, tn), dtype=ct.float32), ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        gate = ct.mma(a, ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO), gate)
        up = ct.mma(a, ct.load(D, index=(k, column), shape=(tk, tn), padding_mode=ZERO), up)
    ct.store(C, index=(row, column), tile=(gate / (1.0 + ct.exp(-gate)) * up).astype(C.dtype))


@ct.kernel
def matmul_bias_gelu(A, B, bias, C, tm: Extent, tn: Extent, tk: Extent):
    row, column = grouped(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    total = product(A, B, row, column, tm, tn, tk)
    shift = ct.load(bias, index=(column,), shape=(tn,), padding_mode=ZERO).astype(ct.float32)
    ct.store(C, index=(row, column), tile=gelu(total + shift[None, :]).astype(C.dtype))


@ct.kernel
def softmax(X, Y, size: Extent):
    """A row per block."""
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, size), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    powers = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, index=(ct.bid(0), 0), tile=(powers / ct.sum(powers, axis=1, keepdims=True)).astype(Y.dtype))


@ct.kernel
def rms_norm(X, W, Y, eps, size: Extent):
    """A row per block, in tiles of `size` columns."""
    row, tiles = ct.bid(0), ct.cdiv(X.shape[1], size)
    squares = ct.zeros((1, size), dtype=ct.float32)
    for j in range(tiles):
        x = ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO, allow_tma=False, latency=1)
        squares += x.astype(ct.float32) * x.astype(ct.float32)
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / X.shape[1] + eps)
    for j in range(tiles):
        x = ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO, allow_tma=False, latency=1)
        w = ct.load(W, index=(j,), shape=(size,), padding_mode=ZERO, allow_tma=False, latency=1)
        y = x.astype(ct.float32) * scale * w.astype(ct.float32)
        ct.store(Y, index=(row, j), tile=y.astype(Y.dtype), allow_tma=False, latency=1)


@ct.kernel
def gathered_rms_norm(X, W, Y, eps, size: Extent):
    """A row per block, with gathers of `size` columns."""
    row, columns = ct.bid(0), X.shape[1]
    squares = ct.zeros((size,), dtype=ct.float32)
    for j in range(ct.cdiv(columns, size)):
        x = ct.gather(X, (row, j * size + ct.arange(size, dtype=ct.int32)), latency=1).astype(ct.float32)
        squares += x * x
    scale = ct.rsqrt(ct.sum(squares) / columns + eps)
    for j in range(ct.cdiv(columns, size)):
        at = j * size + ct.arange(size, dtype=ct.int32)
        x = ct.gather(X, (row, at), latency=1).astype(ct.float32)
        w = ct.gather(W, at, latency=1).astype(ct.float32)
        ct.scatter(Y, (row, at), (x * scale * w).astype(Y.dtype), latency=1)


@ct.kernel
def persistent_rms_norm(X, W, Y, eps, rows: Extent, size: Extent):
    """Tiles of whole rows; each block does every tile that is a multiple of the number of blocks away."""
    w = ct.load(W, index=(0,), shape=(size,), padding_mode=ZERO).astype(ct.float32)
    for i in range(ct.bid(0), ct.cdiv(X.shape[0], rows), ct.num_blocks(0)):
        x = ct.load(X, index=(i, 0), shape=(rows, size), padding_mode=ZERO, latency=10).astype(ct.float32)
        scale = ct.rsqrt(ct.sum(x * x, axis=1, keepdims=True) / X.shape[1] + eps)
        y = x * scale * w[None, :]
        ct.store(Y, index=(i, 0), tile=y.astype(Y.dtype), allow_tma=False, latency=3)


@ct.kernel
def row_sum(X, Y, rows: Extent, size: Extent):
    """The sums of some rows, in tiles of `size` columns."""
    total = ct.zeros((rows, size), dtype=ct.float32)
    for j in range(ct.cdiv(X.shape[1], size)):
        total += ct.load(X, index=(ct.bid(0), j), shape=(rows, size), padding_mode=ZERO).astype(ct.float32)
    ct.store(Y, index=(ct.bid(0),), tile=ct.sum(total, axis=1).astype(Y.dtype))


@ct.kernel
def embedding(numbers, table, Y, rows: Extent, columns: Extent):
    """The rows of a table by number."""
    number = ct.load(numbers, index=(ct.bid(0),), shape=(rows,), padding_mode=ZERO)
    along = ct.bid(1) * columns + ct.arange(columns, dtype=ct.int32)
    ct.store(Y, index=(ct.bid(0), ct.bid(1)), tile=ct.gather(table, (number[:, None], along[None, :])))
