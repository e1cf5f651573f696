"""Products of several groups of rows, of quantized weights, of parts of the depth, and with a loss."""

import math

import cuda.tile as ct

from sheet.kernels import product

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO


def product_of_group(X, W, group, row, column, tm, tn, tk):
    """A tile of X @ W[group].T."""
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
        x = ct.load(X, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        w = ct.load(W, index=(group, column, k), shape=(1, tn, tk), padding_mode=ZERO).reshape((tn, tk))
        total = ct.mma(x, ct.transpose(w), total)
    return total


@ct.kernel
def grouped_matmul(X, W, owners, Y, tm: Extent, tn: Extent, tk: Extent):
    """Rows are sorted by group; `owners` has the number of the group of each tile of rows. W is [group, N, K]."""
    row, column = ct.bid(0), ct.bid(1)
    group = ct.load(owners, index=(row,), shape=(1,)).item()
    total = product_of_group(X, W, group, row, column, tm, tn, tk)
    ct.store(Y, index=(row, column), tile=total.astype(Y.dtype))


@ct.kernel
def grouped_matmul_of_slices(X, W, starts, Y, tm: Extent, tn: Extent, tk: Extent):
    """Groups have any number of rows, from starts[group] on."""
    row, column, group = ct.bid(0), ct.bid(1), ct.bid(2)
    begin = ct.load(starts, index=(group,), shape=(1,)).item()
    end = ct.load(starts, index=(group + 1,), shape=(1,)).item()
    if row * tm < end - begin:
        rows, results = X.slice(axis=0, start=begin, stop=end), Y.slice(axis=0, start=begin, stop=end)
        total = product_of_group(rows, W, group, row, column, tm, tn, tk)
        ct.store(results, index=(row, column), tile=total.astype(Y.dtype))


@ct.kernel
def matmul_of_byte_weights(A, W, factors, C, tm: Extent, tn: Extent, tk: Extent):
    """8-bit integers [N, K] with a factor for each column of the result."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        w = ct.load(W, index=(column, k), shape=(tn, tk), padding_mode=ZERO).astype(A.dtype)
        total = ct.mma(a, ct.transpose(w), total)
    factor = ct.load(factors, index=(column,), shape=(tn,), padding_mode=ZERO).astype(ct.float32)
    ct.store(C, index=(row, column), tile=(total * factor[None, :]).astype(C.dtype))


@ct.kernel
def matmul_of_nibble_weights(A, W, factors, zeros, C, tm: Extent, tn: Extent, tk: Extent):
    """4-bit integers: a byte of W [K/2, N] has rows 2k and 2k+1; `tk` rows have a factor and a zero per column."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        packed = ct.load(W, index=(k, column), shape=(tk // 2, tn), padding_mode=ZERO)
        low, high = packed & 0xF, packed >> 4
        w = ct.cat((low[:, None, :], high[:, None, :]), 1).reshape((tk, tn)).astype(A.dtype)
        factor = ct.load(factors, index=(k, column), shape=(1, tn), padding_mode=ZERO)
        zero = ct.load(zeros, index=(k, column), shape=(1, tn), padding_mode=ZERO)
        total = ct.mma(a, (w - zero) * factor, total)
    ct.store(C, index=(row, column), tile=total.astype(C.dtype))


@ct.kernel
def matmul_of_equal_parts(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """Stream K: each block has an equal part of all iterations; parts of tiles are added to C in memory."""
    columns = ct.cdiv(B.shape[1], tn)
    depth = ct.num_tiles(A, axis=1, shape=(tm, tk))
    count = ct.cdiv(A.shape[0], tm) * columns * depth
    per_block = ct.cdiv(count, ct.num_blocks(0))
    at = ct.bid(0) * per_block
    end = ct.minimum(at + per_block, count)
    while at < end:
        row, column = at // depth // columns, at // depth % columns
        first = at % depth
        last = ct.minimum(depth, first + end - at)
        total = ct.zeros((tm, tn), dtype=ct.float32)
        for k in range(first, last):
            a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
            b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
            total = ct.mma(a, b, total)
        if last - first == depth:
            ct.store(C, index=(row, column), tile=total)
        else:
            rows = row * tm + ct.arange(tm, dtype=ct.int32)
            along = column * tn + ct.arange(tn, dtype=ct.int32)
            ct.atomic_add(C, (rows[:, None], along[None, :]), total)
        at += last - first


@ct.kernel
def split_matmul(A, B, C, parts: Extent, tm: Extent, tn: Extent, tk: Extent):
    """Split K: block (i, j, part) adds every `parts`-th tile of the depth to C in memory."""
    row, column, part = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(part, ct.num_tiles(A, axis=1, shape=(tm, tk)), parts):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    rows, along = row * tm + ct.arange(tm, dtype=ct.int32), column * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(C, (rows[:, None], along[None, :]), total)


@ct.kernel
def linear_cross_entropy(X, W, labels, losses, tm: Extent, tn: Extent, tk: Extent):
    """The loss of rows X @ W.T against labels, without storing the product; W is [words, K]."""
    row = ct.bid(0)
    label = ct.load(labels, index=(row,), shape=(tm,), padding_mode=ZERO)[:, None]
    maximum = ct.full((tm, 1), -math.inf, dtype=ct.float32)
    weight, chosen = ct.zeros((tm, 1), dtype=ct.float32), ct.zeros((tm, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(W, axis=0, shape=(tn, tk))):
        logits = ct.zeros((tm, tn), dtype=ct.float32)
        for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
            x = ct.load(X, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
            w = ct.load(W, index=(j, k), shape=(tn, tk), padding_mode=ZERO)
            logits = ct.mma(x, ct.transpose(w), logits)
        word = (j * tn + ct.arange(tn, dtype=ct.int32))[None, :]
        logits = ct.where(word < W.shape[0], logits, -math.inf)
        chosen = chosen + ct.sum(ct.where(word == label, logits, 0.0), axis=1, keepdims=True)
        new_maximum = ct.maximum(maximum, ct.max(logits, axis=1, keepdims=True))
        powers = ct.exp(logits - new_maximum)
        weight = weight * ct.exp(maximum - new_maximum) + ct.sum(powers, axis=1, keepdims=True)
        maximum = new_maximum
    ct.store(losses, index=(row,), tile=(maximum + ct.log(weight) - chosen).reshape((tm,)))


@ct.kernel
def float_matmul(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """A product of float32 that is not rounded to TF32."""
    total = product(A, B, ct.bid(0), ct.bid(1), tm, tn, tk)
    ct.store(C, index=(ct.bid(0), ct.bid(1)), tile=total)
