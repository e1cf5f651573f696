"""Softmax attention in one pass over the keys, with a running maximum and a running sum per row of the queries."""

import math

import cuda.tile as ct

Extent = ct.Constant[int]
Flag = ct.Constant[bool]

LOG2_E = math.log2(math.e)


@ct.kernel(occupancy=2)
def attention(
    Q, K, V, Y, scale: float, position: int,
    width: Extent, heads: Extent, tm: Extent, tn: Extent, group: Extent, causal: Flag, even: Flag,
):  # fmt: skip
    """With `causal`, query i uses the keys up to i + position; `group` heads of Q share a head of K and V."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    shared = head // group
    keys = K.shape[2]
    first = block * tm + position
    query = (first + ct.arange(tm, dtype=ct.int32))[:, None]
    q = ct.reshape(ct.load(Q, index=(batch, head, block, 0), shape=(1, 1, tm, width)), (tm, width))
    # exp2 is one instruction, so the scores are multiplied by log2(e).
    factor = scale * LOG2_E
    maximum = ct.full((tm, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((tm, 1), dtype=ct.float32)
    total = ct.zeros((tm, width), dtype=ct.float32)
    tiles = ct.cdiv(min(first + tm, keys) if causal else keys, tn)
    full_tiles = min(first // tn, keys // tn) if causal else keys // tn
    for j in range(tiles):
        k = ct.load(
            K,
            index=(batch, shared, 0, j),
            shape=(1, 1, width, tn),
            order=(0, 1, 3, 2),
            latency=2,
            padding_mode=ct.PaddingMode.ZERO,
        )
        scores = ct.mma(q, ct.reshape(k, (width, tn)), ct.zeros((tm, tn), dtype=ct.float32))
        if (causal or not even) and j >= full_tiles:
            key = (j * tn + ct.arange(tn, dtype=ct.int32))[None, :]
            visible = key < keys
            if causal:
                visible = visible & (key <= query)
            scores = ct.where(visible, scores, -math.inf)
        new_maximum = max(maximum, ct.max(scores, axis=1, keepdims=True) * factor)
        p = ct.exp2(scores * factor - new_maximum, flush_to_zero=True)
        rescale = ct.exp2(maximum - new_maximum, flush_to_zero=True)
        weight = weight * rescale + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(
            V, index=(batch, shared, j, 0), shape=(1, 1, tn, width), latency=4, padding_mode=ct.PaddingMode.ZERO
        )
        total = ct.mma(p.astype(Q.dtype), ct.reshape(v, (tn, width)), total * rescale)
        maximum = new_maximum
    total = ct.truediv(total, weight, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(Y, index=(batch, head, block, 0), tile=ct.reshape(total.astype(Y.dtype), (1, 1, tm, width)))
