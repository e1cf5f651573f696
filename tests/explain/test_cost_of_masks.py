"""Causal attention takes as long in the model with each wording of the condition of its mask, within 8 %."""

from __future__ import annotations

import math

import pytest
from attention_kernels import softmax_step

import tilec as ct
from tilec.explain.cost import kernel_costs

ARRAYS = ", ".join(f"{name}: f16[?%16,64]" for name in ("Q", "K", "V", "out"))
TM, D = 128, 64
# cuTile's front end splits the loop of the first wording.
WORDINGS = ("quotient", "next", "swapped", "negated", "where", "and")
LIMIT = 1.08


@ct.kernel
def attention(Q, K, V, out, past: int, TN: ct.Constant[int], WORDING: ct.Constant[str]):
    block = ct.bid(0)
    query = ct.load(Q, (block, 0), (TM, D))
    largest = ct.full((TM, 1), -math.inf, ct.float32)
    total = ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    first = block * TM
    rows = (first + ct.arange(TM, dtype=ct.int32))[:, None]
    # If the number of earlier queries is unknown, products may wrap in the last iterations.
    if WORDING == "unknown":
        first = first + past
        rows = rows + past
    for j in range(ct.cdiv(first + TM, TN)):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (TN, D))), ct.zeros((TM, TN), ct.float32))
        inside = ct.where((j * TN + ct.arange(TN, dtype=ct.int32))[None, :] <= rows, scores, -math.inf)
        if WORDING == "quotient":
            if j >= first // TN:
                scores = inside
        elif WORDING == "swapped":
            if first < j * TN + TN:
                scores = inside
        elif WORDING == "negated":
            if not (j + 1) * TN <= first:
                scores = inside
        elif WORDING == "where":
            scores = ct.where((j + 1) * TN > first, inside, scores)
        elif WORDING == "and":
            if j >= 0 and (j + 1) * TN > first:
                scores = inside
        elif WORDING != "never":
            if (j + 1) * TN > first:
                scores = inside
            if WORDING == "masked twice" and j >= first // TN:
                scores = ct.where(scores > 0.0, scores, -math.inf)
        powers, factor, largest, total = softmax_step(scores, largest, total)
        output = ct.mma(ct.astype(powers, V.dtype), ct.load(V, (j, 0), (TN, D)), output * factor)
    ct.store(out, (block, 0), ct.astype(output / total, out.dtype))


def cycles(target: str, keys: int, word: str) -> list[float]:
    """The modelled cycles of an iteration of each loop."""
    signature = f"{ARRAYS}, past: i32, TN={keys}, WORDING={word!r}"
    result = ct.compile(attention, signature=signature, target=target, stop="gpu")
    (cost,) = kernel_costs(result.stage("gpu").value, result.target)
    return [loop.cycles.cycles for loop in cost.loops if loop.work.depth == 0]


@pytest.mark.parametrize("keys", [64, 128])
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_wordings(target: str, keys: int) -> None:
    """Each loop takes as long in all wordings. The loop before the mask takes as long as without a mask."""
    found = {word: cycles(target, keys, word) for word in WORDINGS}
    for loops in zip(*found.values(), strict=True):
        assert max(loops) <= LIMIT * min(loops), found
    assert min(found["next"]) <= LIMIT * min(cycles(target, keys, "never"))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_equal_conditions_in_other_words(target: str) -> None:
    """The branches on the product and on the quotient change in the same iteration: the loop is split once."""
    found = cycles(target, 64, "masked twice")
    assert len(found) == 2
    assert min(found) <= LIMIT * min(cycles(target, 64, "never"))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_products_that_may_wrap(target: str) -> None:
    """Iterations before the mask take as long as with exact products. The others also compare, and have no branch."""
    exact, wraps = cycles(target, 64, "next"), cycles(target, 64, "unknown")
    assert min(wraps) <= LIMIT * min(exact)
    # The second loop has one more select or logic operation for each score of a thread.
    assert max(wraps) <= 1.25 * max(exact)
