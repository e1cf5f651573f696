"""Attention of inference: latent, paged, and of a few queries with many keys."""

import math

import cuda.tile as ct

from sheet.kernels_attention import add_keys, positions, product_with_keys, start

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)


def rows_of(X, index, rows, width):
    """A tile of the last two dimensions of an array of rank 3 or 4."""
    shape = (1, rows, width) if len(index) == 3 else (1, 1, rows, width)
    return ct.load(X, index=index, shape=shape, padding_mode=ZERO).reshape((rows, width))


@ct.kernel
def latent_decode(
    Q, QR, KV, KR, Y, L, scale: float, length: int, heads: Extent, latent: Extent, rotary: Extent, tn: Extent
):  # fmt: skip
    """All heads of a token share latent vectors, which are keys and values, and rotated columns of the keys."""
    batch, block = ct.bid(0), ct.bid(1)
    q, qr = rows_of(Q, (batch, block, 0), heads, latent), rows_of(QR, (batch, block, 0), heads, rotary)
    state = start(heads, latent)
    for j in range(ct.cdiv(length, tn)):
        kv, kr = rows_of(KV, (batch, j, 0), tn, latent), rows_of(KR, (batch, j, 0), tn, rotary)
        scores = ct.mma(qr, ct.transpose(kr), product_with_keys(q, kv)) * (scale * LOG2_E)
        scores = ct.where(positions(j * tn, tn)[None, :] < length, scores, -math.inf)
        state = add_keys(state, scores, kv)
    maximum, weight, total = state
    ct.store(Y, index=(batch, block, 0), tile=(total / weight).astype(Y.dtype).reshape((1, heads, latent)))
    ct.store(L, index=(batch, block), tile=(maximum + ct.log2(weight)).reshape((1, heads)))


@ct.kernel
def latent_prefill(
    Q, QR, K, KR, V, Y, scale: float, heads: Extent, width: Extent, rotary: Extent, tm: Extent, tn: Extent
):  # fmt: skip
    """Causal; keys of a head have `width` columns of their own, and `rotary` columns that all heads share."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q, qr = rows_of(Q, (batch, head, block, 0), tm, width), rows_of(QR, (batch, head, block, 0), tm, rotary)
    query = positions(block * tm, tm)[:, None]
    state = start(tm, width)
    for j in range(ct.cdiv((block + 1) * tm, tn)):
        k, kr = rows_of(K, (batch, head, j, 0), tn, width), rows_of(KR, (batch, j, 0), tn, rotary)
        scores = ct.mma(qr, ct.transpose(kr), product_with_keys(q, k)) * (scale * LOG2_E)
        if (j + 1) * tn > block * tm:
            scores = ct.where(positions(j * tn, tn)[None, :] <= query, scores, -math.inf)
        state = add_keys(state, scores, rows_of(V, (batch, head, j, 0), tn, width))
    result = (state[2] / state[1]).astype(Y.dtype)
    ct.store(Y, index=(batch, head, block, 0), tile=result.reshape((1, 1, tm, width)))


@ct.kernel
def paged_prefill(
    Q, K, V, pages, Y, scale: float, past: int, heads: Extent, group: Extent, width: Extent, tm: Extent, page: Extent
):  # fmt: skip
    """New queries after `past` tokens; keys [page, head, row, column] lie in pages, which a table lists."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q = rows_of(Q, (batch, head, block, 0), tm, width)
    query = past + positions(block * tm, tm)[:, None]
    state = start(tm, width)
    for j in range(ct.cdiv(past + (block + 1) * tm, page)):
        number = ct.load(pages, index=(batch, j), shape=(1, 1)).item()
        k = rows_of(K, (number, head // group, 0, 0), page, width)
        scores = product_with_keys(q, k) * (scale * LOG2_E)
        if (j + 1) * page > past + block * tm:
            scores = ct.where(positions(j * page, page)[None, :] <= query, scores, -math.inf)
        state = add_keys(state, scores, rows_of(V, (number, head // group, 0, 0), page, width))
    result = (state[2] / state[1]).astype(Y.dtype)
    ct.store(Y, index=(batch, head, block, 0), tile=result.reshape((1, 1, tm, width)))


@ct.kernel
def grouped_decode(Q, K, V, Y, scale: float, length: int, group: Extent, width: Extent, tn: Extent):
    """One query per sequence: the `group` heads that share keys are the rows of a tile."""
    batch, head = ct.bid(0), ct.bid(1)
    q = rows_of(Q, (batch, head, 0, 0), group, width)
    state = start(group, width)
    for j in range(ct.cdiv(length, tn)):
        scores = product_with_keys(q, rows_of(K, (batch, head, j, 0), tn, width)) * (scale * LOG2_E)
        scores = ct.where(positions(j * tn, tn)[None, :] < length, scores, -math.inf)
        state = add_keys(state, scores, rows_of(V, (batch, head, j, 0), tn, width))
    result = (state[2] / state[1]).astype(Y.dtype)
    ct.store(Y, index=(batch, head, 0, 0), tile=result.reshape((1, 1, group, width)))


@ct.kernel
def split_decode(
    Q, K, V, parts, logarithms, scale: float, length: int, per_part: Extent, group: Extent, width: Extent, tn: Extent
):  # fmt: skip
    """A block has `per_part` tiles of the keys, and stores its part of the result in float32."""
    batch, head, part = ct.bid(0), ct.bid(1), ct.bid(2)
    q = rows_of(Q, (batch, head, 0, 0), group, width)
    state = start(group, width)
    for j in range(part * per_part, ct.minimum((part + 1) * per_part, ct.cdiv(length, tn))):
        scores = product_with_keys(q, rows_of(K, (batch, head, j, 0), tn, width)) * (scale * LOG2_E)
        scores = ct.where(positions(j * tn, tn)[None, :] < length, scores, -math.inf)
        state = add_keys(state, scores, rows_of(V, (batch, head, j, 0), tn, width))
    maximum, weight, total = state
    ct.store(parts, index=(batch, head, part, 0, 0), tile=(total / weight).reshape((1, 1, 1, group, width)))
    logarithm = (maximum + ct.log2(weight)).reshape((1, 1, 1, group))
    ct.store(logarithms, index=(batch, head, part, 0), tile=logarithm)


@ct.kernel
def joined_parts(parts, logarithms, Y, count: Extent, group: Extent, width: Extent):
    """The result of `count` parts of the keys."""
    batch, head = ct.bid(0), ct.bid(1)
    p = ct.load(parts, index=(batch, head, 0, 0, 0), shape=(1, 1, count, group, width)).reshape((count, group, width))
    lse = ct.load(logarithms, index=(batch, head, 0, 0), shape=(1, 1, count, group)).reshape((count, group))
    shares = ct.exp2(lse - ct.max(lse, axis=0, keepdims=True))
    shares = shares / ct.sum(shares, axis=0, keepdims=True)
    result = ct.sum(p * shares[:, :, None], axis=0).astype(Y.dtype)
    ct.store(Y, index=(batch, head, 0, 0), tile=result.reshape((1, 1, group, width)))
