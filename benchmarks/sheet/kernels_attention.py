"""Attention whose scores are changed before the softmax, of 8-bit floats, and of sequences of different lengths."""

import math

import cuda.tile as ct

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)
# Keys with this score count as long as a row has seen no other; -inf would make the maximum of such a row a NaN.
MASKED = -1e30


def start(tm, width):
    """The maximum, the weight and the sum of no keys."""
    return (
        ct.full((tm, 1), -math.inf, dtype=ct.float32),
        ct.zeros((tm, 1), dtype=ct.float32),
        ct.zeros((tm, width), dtype=ct.float32),
    )


def add_keys(state, scores, v):
    """The state after keys with these scores, which have the factor log2(e)."""
    maximum, weight, total = state
    new_maximum = ct.maximum(maximum, ct.max(scores, axis=1, keepdims=True))
    p = ct.exp2(scores - new_maximum, flush_to_zero=True)
    rescale = ct.exp2(maximum - new_maximum, flush_to_zero=True)
    weight = weight * rescale + ct.sum(p, axis=1, keepdims=True)
    return new_maximum, weight, ct.mma(p.astype(v.dtype), v, total * rescale)


def head_tile(X, batch, head, block, rows, width):
    """Rows of a head of an array [batch, head, row, column]."""
    return ct.load(X, index=(batch, head, block, 0), shape=(1, 1, rows, width), padding_mode=ZERO).reshape(
        (rows, width)
    )


def product_with_keys(q, k):
    return ct.mma(q, ct.transpose(k), ct.zeros((q.shape[0], k.shape[0]), dtype=ct.float32))


def store_head(Y, batch, head, block, tile):
    ct.store(Y, index=(batch, head, block, 0), tile=tile.astype(Y.dtype).reshape((1, 1, *tile.shape)))


def positions(first, count):
    return first + ct.arange(count, dtype=ct.int32)


@ct.kernel
def attention_with_bias(Q, K, V, bias, Y, scale: float, heads: Extent, width: Extent, tm: Extent, tn: Extent):
    """A bias of each head, query and key is added to the scores."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q = head_tile(Q, batch, head, block, tm, width)
    state = start(tm, width)
    for j in range(ct.num_tiles(K, axis=2, shape=(1, 1, tn, width))):
        shift = ct.load(bias, index=(head, block, j), shape=(1, tm, tn), padding_mode=ZERO).reshape((tm, tn))
        scores = product_with_keys(q, head_tile(K, batch, head, j, tn, width)) * (scale * LOG2_E)
        scores = scores + shift.astype(ct.float32) * LOG2_E
        state = add_keys(state, scores, head_tile(V, batch, head, j, tn, width))
    store_head(Y, batch, head, block, state[2] / state[1])


@ct.kernel
def attention_with_slopes(Q, K, V, slopes, Y, scale: float, heads: Extent, width: Extent, tm: Extent, tn: Extent):
    """Attention with linear biases: causal, and the scores of a head fall with the distance of the key."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q = head_tile(Q, batch, head, block, tm, width)
    slope = ct.load(slopes, index=(head,), shape=(1,)).item() * LOG2_E
    query = positions(block * tm, tm)[:, None]
    state = start(tm, width)
    for j in range(ct.cdiv((block + 1) * tm, tn)):
        key = positions(j * tn, tn)[None, :]
        scores = product_with_keys(q, head_tile(K, batch, head, j, tn, width)) * (scale * LOG2_E)
        scores = scores - slope * (query - key).astype(ct.float32)
        scores = ct.where(key <= query, scores, -math.inf)
        state = add_keys(state, scores, head_tile(V, batch, head, j, tn, width))
    store_head(Y, batch, head, block, state[2] / state[1])


@ct.kernel
def attention_with_cap(
    Q, K, V, Y, scale: float, cap: float, heads: Extent, width: Extent, tm: Extent, tn: Extent, window: Extent
):  # fmt: skip
    """Scores are limited to `cap` by the hyperbolic tangent; a query sees the last `window` keys."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q = head_tile(Q, batch, head, block, tm, width)
    query = positions(block * tm, tm)[:, None]
    state = start(tm, width)
    first = ct.maximum(block * tm - window + 1, 0) // tn
    for j in range(first, ct.cdiv((block + 1) * tm, tn)):
        key = positions(j * tn, tn)[None, :]
        scores = product_with_keys(q, head_tile(K, batch, head, j, tn, width)) * scale
        scores = ct.tanh(scores / cap, rounding_mode=ct.RoundingMode.APPROX) * (cap * LOG2_E)
        scores = ct.where((key <= query) & (key > query - window), scores, MASKED)
        state = add_keys(state, scores, head_tile(V, batch, head, j, tn, width))
    store_head(Y, batch, head, block, state[2] / state[1])


@ct.kernel
def attention_with_sink(
    Q, K, V, sinks, Y, scale: float, heads: Extent, group: Extent, width: Extent, tm: Extent, tn: Extent
):  # fmt: skip
    """A number of each head takes part in the softmax as a key without value; `group` heads share keys."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q = head_tile(Q, batch, head, block, tm, width)
    sink = ct.load(sinks, index=(head,), shape=(1,)).astype(ct.float32).item() * LOG2_E
    query = positions(block * tm, tm)[:, None]
    maximum, weight = ct.full((tm, 1), sink, dtype=ct.float32), ct.ones((tm, 1), dtype=ct.float32)
    state = maximum, weight, ct.zeros((tm, width), dtype=ct.float32)
    for j in range(ct.cdiv((block + 1) * tm, tn)):
        scores = product_with_keys(q, head_tile(K, batch, head // group, j, tn, width)) * (scale * LOG2_E)
        if (j + 1) * tn > block * tm:
            scores = ct.where(positions(j * tn, tn)[None, :] <= query, scores, -math.inf)
        state = add_keys(state, scores, head_tile(V, batch, head // group, j, tn, width))
    store_head(Y, batch, head, block, state[2] / state[1])


@ct.kernel
def attention_of_bytes(
    Q, K, V, Y, scale: float, value_scale: float, heads: Extent, width: Extent, tm: Extent, tn: Extent
):  # fmt: skip
    """Attention of 8-bit floats with a scale for each array; the values of a head are stored by column."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    q = head_tile(Q, batch, head, block, tm, width)
    state = start(tm, width)
    for j in range(ct.num_tiles(K, axis=2, shape=(1, 1, tn, width))):
        scores = product_with_keys(q, head_tile(K, batch, head, j, tn, width)) * (scale * LOG2_E)
        v = ct.load(V, index=(batch, head, 0, j), shape=(1, 1, width, tn), padding_mode=ZERO).reshape((width, tn))
        state = add_keys(state, scores, ct.transpose(v))
    store_head(Y, batch, head, block, state[2] * (value_scale / state[1]))


@ct.kernel
def attention_of_sequences(Q, K, V, starts, Y, scale: float, width: Extent, tm: Extent, tn: Extent):
    """Causal attention of sequences that lie one after the other in arrays [token, head, column]."""
    block, head, sequence = ct.bid(0), ct.bid(1), ct.bid(2)
    begin = ct.load(starts, index=(sequence,), shape=(1,)).item()
    end = ct.load(starts, index=(sequence + 1,), shape=(1,)).item()
    if block * tm < end - begin:
        queries, keys = Q.slice(axis=0, start=begin, stop=end), K.slice(axis=0, start=begin, stop=end)
        values, results = V.slice(axis=0, start=begin, stop=end), Y.slice(axis=0, start=begin, stop=end)
        q = ct.load(queries, index=(block, head, 0), shape=(tm, 1, width), padding_mode=ZERO).reshape((tm, width))
        query = positions(block * tm, tm)[:, None]
        state = start(tm, width)
        for j in range(ct.cdiv(ct.minimum((block + 1) * tm, end - begin), tn)):
            k = ct.load(keys, index=(j, head, 0), shape=(tn, 1, width), padding_mode=ZERO).reshape((tn, width))
            v = ct.load(values, index=(j, head, 0), shape=(tn, 1, width), padding_mode=ZERO).reshape((tn, width))
            scores = product_with_keys(q, k) * (scale * LOG2_E)
            scores = ct.where(positions(j * tn, tn)[None, :] <= query, scores, -math.inf)
            state = add_keys(state, scores, v)
        result = (state[2] / state[1]).astype(Y.dtype)
        ct.store(results, index=(block, head, 0), tile=result.reshape((tm, 1, width)))
