"""A step of the softmax of attention, which kernels of several folders share, and attention in several wordings."""

from __future__ import annotations

import math

import tilec as ct


def softmax_step(scores, largest, total):
    """The weights of new scores, the factor of all earlier weights, and the new maximum and sum of each row."""
    new = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
    powers = ct.exp2(scores - new, flush_to_zero=True)
    factor = ct.exp2(largest - new, flush_to_zero=True)
    return powers, factor, new, total * factor + ct.sum(powers, 1, keepdims=True)


@ct.kernel
def attention_in_words(
    Q,
    K,
    V,
    out,
    scale: float,
    D: ct.Constant[int],
    TM: ct.Constant[int],
    FLUSHES: ct.Constant[bool],
    LATE: ct.Constant[bool],
    DIVIDES: ct.Constant[bool],
):
    """Flushes exponentials or not, scales before or after the maximum, divides or multiplies by a reciprocal."""
    query = ct.load(Q, (ct.bid(0), 0), (TM, D))
    largest = ct.full((TM, 1), -math.inf, ct.float32)
    total = ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (128, D))):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (128, D))), ct.zeros((TM, 128), ct.float32))
        if LATE:
            new = ct.maximum(largest, ct.max(scores, 1, keepdims=True) * scale)
            powers = ct.exp2(scores * scale - new, flush_to_zero=FLUSHES)
        else:
            scores = scores * scale
            new = ct.maximum(largest, ct.max(scores, 1, keepdims=True))
            powers = ct.exp2(scores - new, flush_to_zero=FLUSHES)
        factor = ct.exp2(largest - new, flush_to_zero=FLUSHES)
        total = total * factor + ct.sum(powers, 1, keepdims=True)
        output = ct.mma(ct.astype(powers, V.dtype), ct.load(V, (j, 0), (128, D)), output * factor)
        largest = new
    result = output / total if DIVIDES else output * (1 / total)
    ct.store(out, (ct.bid(0), 0), ct.astype(result, out.dtype))
