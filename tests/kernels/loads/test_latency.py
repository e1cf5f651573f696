"""The hint `latency` says how heavy the traffic of a load is: it limits no ring."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from attention_kernels import softmax_step
from compare import run_everywhere

import tilec as ct
from tilec.lowering.target import TARGETS

D = 128
# CUDA programming guide, technical specifications of both targets.
SHARED_BYTES_OF_AN_SM, RESERVED_FOR_EACH_BLOCK = 228 * 1024, 1024


def product(A, B, C, latency: ct.Constant[int | None]):
    total = ct.zeros((128, 256), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        left = ct.load(A, (ct.bid(0), k), (128, 64), latency=latency)
        total = ct.mma(left, ct.load(B, (k, ct.bid(1)), (64, 256), latency=latency), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def attention(Q, K, V, out, TN: ct.Constant[int], latency: ct.Constant[int]):
    query = ct.load(Q, (ct.bid(0), 0), (128, D))
    largest = ct.full((128, 1), -math.inf, ct.float32)
    total = ct.zeros((128, 1), ct.float32)
    output = ct.zeros((128, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (TN, D))):
        keys = ct.load(K, (j, 0), (TN, D), latency=latency)
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((128, TN), ct.float32))
        powers, factor, largest, total = softmax_step(scores, largest, total)
        values = ct.load(V, (j, 0), (TN, D), latency=latency)
        output = ct.mma(ct.astype(powers, V.dtype), values, output * factor)
    ct.store(out, (ct.bid(0), 0), ct.astype(output / total, out.dtype))


def compiled_product(target: str, latency: int | None, **hints: int) -> ct.Compiled:
    signature = f"A: f16[?,?%8], B: f16[?,?%8], C: f32[?,?%4], latency={latency}"
    hints["num_ctas"] = 1
    return ct.compile(ct.kernel(product), target=target, signature=signature, hints=hints, stop="ptx")


def compiled_attention(keys: int, latency: int, occupancy: int) -> ct.Compiled:
    arrays = ", ".join(f"{name}: f16[?,{D}]" for name in ("Q", "K", "V", "out"))
    signature, hints = f"{arrays}, TN={keys}, latency={latency}", {"occupancy": occupancy}
    return ct.compile(attention, target="sm_100a", signature=signature, hints=hints, stop="ptx")


def slots(made: ct.Compiled) -> list[int]:
    """The slots of the rings that TMA fills."""
    return [int(count) for count in re.findall(r"stages (\d+) producer tma .* reuse ring", made.gpu)]


@pytest.mark.parametrize("target", TARGETS)
def test_product_has_the_code_without_the_hint(target):
    """Three slots of 48 KB leave no memory for another block, so that the fourth costs nothing."""
    assert compiled_product(target, 3).ptx == compiled_product(target, None).ptx


@pytest.mark.parametrize(("target", "count"), [("sm_100a", 2), ("sm_90a", 4)])
def test_slots_of_the_hint_come_first(target, count):
    """Two blocks have two slots of 48 KB each; on sm_90a the accumulator leaves no registers for a second block."""
    assert slots(compiled_product(target, 2)) == [count]


@pytest.mark.parametrize("target", TARGETS)
def test_hint_for_stages_is_a_limit(target):
    assert slots(compiled_product(target, 4, stages=3)) == [3]


def test_chain_with_a_hint_for_several_blocks_uses_the_memory_of_each():
    made = compiled_attention(32, latency=2, occupancy=2)
    assert min(slots(made)[-2:]) > 2
    assert 2 * (made.metadata.shared_bytes + RESERVED_FOR_EACH_BLOCK) <= SHARED_BYTES_OF_AN_SM


def test_chain_with_few_slots_leaves_memory_for_another_block():
    """By the model two blocks take 534 cycles of an iteration, and one with eight slots 718."""
    made = compiled_attention(32, latency=2, occupancy=1)
    assert 2 * (made.metadata.shared_bytes + RESERVED_FOR_EACH_BLOCK) <= SHARED_BYTES_OF_AN_SM


def test_results_do_not_depend_on_the_hint(target, random):
    """Sums of products of small integers are exact."""
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((200, 328), (328, 264)))
    expected = a.astype(np.int64) @ b.astype(np.int64)
    for latency in (None, 1, 3, 10):
        c = np.zeros((200, 264), np.float32)
        for (found,) in run_everywhere(ct.kernel(product), (2, 2), [a, b, c, latency], [2], target=target, hints={}):
            np.testing.assert_array_equal(found, expected)
