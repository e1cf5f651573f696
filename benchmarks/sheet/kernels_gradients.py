"""The gradients of attention for the queries, and for the keys and values."""

import math

import cuda.tile as ct

from sheet.kernels_attention import head_tile, positions, product_with_keys, store_head

Extent = ct.Constant[int]
Flag = ct.Constant[bool]

ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)


def row_tile(X, batch, head, block, rows):
    return ct.load(X, index=(batch, head, block), shape=(1, 1, rows), padding_mode=ZERO).reshape((rows,))


@ct.kernel
def gradient_sums(Y, G, D, heads: Extent, width: Extent, tm: Extent):
    """The sum of each row of Y * G, which both other kernels subtract."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    y = head_tile(Y, batch, head, block, tm, width).astype(ct.float32)
    g = head_tile(G, batch, head, block, tm, width).astype(ct.float32)
    ct.store(D, index=(batch, head, block), tile=ct.sum(y * g, axis=1).reshape((1, 1, tm)))


@ct.kernel
def query_gradients(
    Q, K, V, G, L, D, DQ, scale: float, heads: Extent, width: Extent, tm: Extent, tn: Extent, causal: Flag
):  # fmt: skip
    """L is the binary logarithm of the sum of the exponentials of a row, D the sum of the row of Y * G."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q, g = head_tile(Q, batch, head, block, tm, width), head_tile(G, batch, head, block, tm, width)
    logarithm, delta = row_tile(L, batch, head, block, tm)[:, None], row_tile(D, batch, head, block, tm)[:, None]
    query = positions(block * tm, tm)[:, None]
    dq = ct.zeros((tm, width), dtype=ct.float32)
    last = ct.cdiv((block + 1) * tm, tn) if causal else ct.num_tiles(K, axis=2, shape=(1, 1, tn, width))
    for j in range(last):
        k, v = head_tile(K, batch, head, j, tn, width), head_tile(V, batch, head, j, tn, width)
        p = ct.exp2(product_with_keys(q, k) * (scale * LOG2_E) - logarithm, flush_to_zero=True)
        if causal:
            p = ct.where(positions(j * tn, tn)[None, :] <= query, p, 0.0)
        ds = p * (product_with_keys(g, v) - delta)
        dq = ct.mma(ds.astype(K.dtype), k, dq)
    store_head(DQ, batch, head, block, dq * scale)


@ct.kernel
def key_gradients(
    Q, K, V, G, L, D, DK, DV, scale: float, heads: Extent, width: Extent, tm: Extent, tn: Extent, causal: Flag
):  # fmt: skip
    """A block has `tn` keys and goes through the queries; scores are transposed, so that P is a left operand."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    k, v = head_tile(K, batch, head, block, tn, width), head_tile(V, batch, head, block, tn, width)
    key = positions(block * tn, tn)[:, None]
    dk, dv = ct.zeros((tn, width), dtype=ct.float32), ct.zeros((tn, width), dtype=ct.float32)
    first = block * tn // tm if causal else 0
    for i in range(first, ct.num_tiles(Q, axis=2, shape=(1, 1, tm, width))):
        q, g = head_tile(Q, batch, head, i, tm, width), head_tile(G, batch, head, i, tm, width)
        logarithm, delta = row_tile(L, batch, head, i, tm)[None, :], row_tile(D, batch, head, i, tm)[None, :]
        p = ct.exp2(product_with_keys(k, q) * (scale * LOG2_E) - logarithm, flush_to_zero=True)
        if causal:
            p = ct.where(key <= positions(i * tm, tm)[None, :], p, 0.0)
        dv = ct.mma(p.astype(G.dtype), g, dv)
        ds = p * (product_with_keys(v, g) - delta)
        dk = ct.mma(ds.astype(Q.dtype), q, dk)
    store_head(DK, batch, head, block, dk * scale)
    store_head(DV, batch, head, block, dv)
