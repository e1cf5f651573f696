"""The same attention in other words takes as long in the model, within 8 %."""

from __future__ import annotations

import math
from itertools import product

import pytest

import tilec as ct
from tilec.explain.cost import kernel_costs

SIGNATURE = (
    "Q: f16[?%16,{d}], K: f16[?%16,{d}], V: f16[?%16,{d}], out: f16[?%16,{d}], scale: f32, "
    "D={d}, TM={rows}, FLUSHES={flushes}, LATE={late}, DIVIDES={divides}"
)
# The difference that two wordings may have.
LIMIT = 1.08


@ct.kernel
def attention(
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


def cycles(target: str, **words: object) -> float:
    """The modelled cycles of an iteration."""
    result = ct.compile(attention, signature=SIGNATURE.format(**words), target=target, stop="gpu")
    (cost,) = kernel_costs(result.stage("gpu").value, result.target)
    return max(loop.cycles.cycles for loop in cost.loops if loop.work.depth == 0)


@pytest.mark.parametrize(("rows", "d"), [(128, 64), (128, 128), (256, 64)])
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_wordings(target: str, rows: int, d: int) -> None:
    """exp2 that flushes or not, the scale before or after the maximum, a division or a product with a reciprocal."""
    names = ("flushes", "late", "divides")
    found = [
        cycles(target, rows=rows, d=d, **dict(zip(names, words, strict=True)))
        for words in product((False, True), repeat=3)
    ]
    assert max(found) <= LIMIT * min(found)
