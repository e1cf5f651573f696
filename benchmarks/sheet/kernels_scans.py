"""Scans, recurrences, and kernels without matrix products."""

import math

import cuda.tile as ct

Extent = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO
NEG_INF = ct.PaddingMode.NEG_INF
LOG2_E = math.log2(math.e)


@ct.kernel
def cumulative_sum(X, Y, size: Extent):
    """A row per block, in tiles of `size` columns with a carry."""
    row = ct.bid(0)
    carry = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(1, size))):
        x = ct.load(X, index=(row, j), shape=(1, size), padding_mode=ZERO).astype(ct.float32)
        ct.store(Y, index=(row, j), tile=(ct.cumsum(x, axis=1) + carry).astype(Y.dtype))
        carry = carry + ct.sum(x, axis=1, keepdims=True)


def after(later_a, later_b, a, b):
    """h -> later_a * (a * h + b) + later_b, the later of two steps after the other."""
    return later_a * a, later_a * b + later_b


@ct.kernel
def selective_scan(X, steps, A, B, C, D, Y, states: Extent, channels: Extent, size: Extent):
    """h = exp(step * A) * h + step * B * x, y = C . h + D * x; a block has `channels` channels of a sequence.

    X, steps, Y are [batch, channel, time]; A is [channel, state]; B and C are [batch, state, time].
    """
    batch, block = ct.bid(0), ct.bid(1)
    skip = ct.load(D, index=(block,), shape=(channels,), padding_mode=ZERO)[:, None]
    rates = ct.load(A, index=(block, 0), shape=(channels, states), padding_mode=ZERO) * LOG2_E
    state = ct.zeros((channels, states, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=2, shape=(1, channels, size))):
        x = ct.load(X, index=(batch, block, j), shape=(1, channels, size), padding_mode=ZERO)
        x = x.reshape((channels, size)).astype(ct.float32)
        step = ct.load(steps, index=(batch, block, j), shape=(1, channels, size), padding_mode=ZERO)
        step = step.reshape((channels, size)).astype(ct.float32)
        b = ct.load(B, index=(batch, 0, j), shape=(1, states, size), padding_mode=ZERO).astype(ct.float32)
        c = ct.load(C, index=(batch, 0, j), shape=(1, states, size), padding_mode=ZERO).astype(ct.float32)
        decay = ct.exp2(step[:, None, :] * rates[:, :, None])
        added = (step * x)[:, None, :] * b
        product, total = ct.scan((decay, added), 2, after, (1.0, 0.0))
        h = total + product * state
        y = ct.sum(h * c, axis=1) + skip * x
        ct.store(Y, index=(batch, block, j), tile=y.astype(Y.dtype).reshape((1, channels, size)))
        last = (ct.arange(size, dtype=ct.int32) == size - 1)[None, None, :]
        state = ct.sum(ct.where(last, h, 0.0), axis=2, keepdims=True)


@ct.kernel
def linear_attention(Q, K, V, decays, Y, heads: Extent, width: Extent, size: Extent):
    """Chunks of `size` tokens: products within the chunk, and with a state of width x width that decays."""
    batch, head = ct.bid(0) // heads, ct.bid(0) % heads
    rate = ct.load(decays, index=(head,), shape=(1,)).item()
    at = ct.arange(size, dtype=ct.int32)
    distance = at[:, None] - at[None, :]
    within = ct.where(distance >= 0, ct.exp2(-rate * distance.astype(ct.float32)), 0.0)
    since_start = ct.exp2(-rate * (at + 1).astype(ct.float32))[:, None]
    until_end = ct.exp2(-rate * (size - 1 - at).astype(ct.float32))[:, None]
    per_chunk = ct.exp2(-rate * size)
    state = ct.zeros((width, width), dtype=ct.float32)
    for j in range(ct.num_tiles(Q, axis=2, shape=(1, 1, size, width))):
        shape = (1, 1, size, width)
        q = ct.load(Q, index=(batch, head, j, 0), shape=shape, padding_mode=ZERO).reshape((size, width))
        k = ct.load(K, index=(batch, head, j, 0), shape=shape, padding_mode=ZERO).reshape((size, width))
        v = ct.load(V, index=(batch, head, j, 0), shape=shape, padding_mode=ZERO).reshape((size, width))
        scores = ct.mma(q, ct.transpose(k), ct.zeros((size, size), dtype=ct.float32)) * within
        inner = ct.mma(scores.astype(V.dtype), v, ct.zeros((size, width), dtype=ct.float32))
        outer = ct.mma(q, state.astype(Q.dtype), ct.zeros((size, width), dtype=ct.float32))
        result = (inner + outer * since_start).astype(Y.dtype)
        ct.store(Y, index=(batch, head, j, 0), tile=result.reshape(shape))
        decayed = (k.astype(ct.float32) * until_end).astype(K.dtype)
        state = ct.mma(ct.transpose(decayed), v, state * per_chunk)


@ct.kernel
def gravity(P, F, count: int, tm: Extent, tn: Extent):
    """The accelerations of bodies by all others; P has the rows x, y, z and mass."""
    block = ct.bid(0)
    x = ct.load(P, index=(0, block), shape=(1, tm), padding_mode=ZERO).reshape((tm, 1))
    y = ct.load(P, index=(1, block), shape=(1, tm), padding_mode=ZERO).reshape((tm, 1))
    z = ct.load(P, index=(2, block), shape=(1, tm), padding_mode=ZERO).reshape((tm, 1))
    fx, fy = ct.zeros((tm, 1), dtype=ct.float32), ct.zeros((tm, 1), dtype=ct.float32)
    fz = ct.zeros((tm, 1), dtype=ct.float32)
    for j in range(ct.cdiv(count, tn)):
        dx = ct.load(P, index=(0, j), shape=(1, tn), padding_mode=ZERO) - x
        dy = ct.load(P, index=(1, j), shape=(1, tn), padding_mode=ZERO) - y
        dz = ct.load(P, index=(2, j), shape=(1, tn), padding_mode=ZERO) - z
        inverse = ct.rsqrt(dx * dx + dy * dy + dz * dz + 1e-6)
        weight = ct.load(P, index=(3, j), shape=(1, tn), padding_mode=ZERO) * inverse * inverse * inverse
        fx += ct.sum(weight * dx, axis=1, keepdims=True)
        fy += ct.sum(weight * dy, axis=1, keepdims=True)
        fz += ct.sum(weight * dz, axis=1, keepdims=True)
    ct.store(F, index=(0, block), tile=fx.reshape((1, tm)))
    ct.store(F, index=(1, block), tile=fy.reshape((1, tm)))
    ct.store(F, index=(2, block), tile=fz.reshape((1, tm)))


@ct.kernel
def histogram(X, counts, bins: Extent, size: Extent):
    """Each block counts its values by comparison with all bins, and adds its counts to those in memory."""
    values = ct.load(X, index=(ct.bid(0),), shape=(size,), padding_mode=ZERO)
    numbers = ct.arange(bins, dtype=ct.int32)
    hits = (values[:, None] == numbers[None, :]).astype(ct.int32)
    ct.atomic_add(counts, numbers, ct.sum(hits, axis=0))


@ct.kernel
def scattered_histogram(X, counts, size: Extent):
    """Each value adds one to its bin in memory."""
    values = ct.load(X, index=(ct.bid(0),), shape=(size,))
    ct.atomic_add(counts, values, ct.ones((size,), dtype=ct.int32))


@ct.kernel
def largest_of_row(X, values, numbers, count: Extent, size: Extent):
    """The `count` largest elements of a row and their columns, as routers of experts need them."""
    row = ct.bid(0)
    x = ct.load(X, index=(row, 0), shape=(1, size), padding_mode=NEG_INF).astype(ct.float32)
    columns = ct.arange(size, dtype=ct.int32)[None, :]
    found = ct.arange(count, dtype=ct.int32)[None, :]
    top, where = ct.zeros((1, count), dtype=ct.float32), ct.zeros((1, count), dtype=ct.int32)
    for i in ct.static_iter(range(count)):
        at = ct.argmax(x, axis=1, keepdims=True)
        top = ct.where(found == i, ct.max(x, axis=1, keepdims=True), top)
        where = ct.where(found == i, at, where)
        x = ct.where(columns == at, -math.inf, x)
    ct.store(values, index=(row, 0), tile=top)
    ct.store(numbers, index=(row, 0), tile=where)
