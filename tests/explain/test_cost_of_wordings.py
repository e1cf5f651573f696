"""The same attention in other words takes as long in the model, within 8 %."""

from __future__ import annotations

from itertools import product

import pytest
from attention_kernels import attention_in_words

import tilec as ct
from tilec.explain.cost import kernel_costs

SIGNATURE = (
    "Q: f16[?%16,{d}], K: f16[?%16,{d}], V: f16[?%16,{d}], out: f16[?%16,{d}], scale: f32, "
    "D={d}, TM={rows}, FLUSHES={flushes}, LATE={late}, DIVIDES={divides}"
)
# The difference that two wordings may have.
LIMIT = 1.08


def cycles(target: str, **words: object) -> float:
    """The modelled cycles of an iteration of the loop that multiplies, which may be in one over parts of the rows."""
    result = ct.compile(attention_in_words, signature=SIGNATURE.format(**words), target=target, stop="gpu")
    (cost,) = kernel_costs(result.stage("gpu").value, result.target)
    return max(loop.cycles.cycles for loop in cost.loops if loop.work.multiply_adds)


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
