"""Attention planned for one block whose rings leave memory for a second block of the SM, while one of them waits."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from attention_kernels import softmax_step
from compare import run_everywhere

import tilec as ct
from tilec.runtime.cubin.cubin import assemble

D = 128
# The queries and the keys of a tile.
ROWS = KEYS = 64


@ct.kernel
def attention(Q, K, V, out, TM: ct.Constant[int], TN: ct.Constant[int]):
    query = ct.load(Q, (ct.bid(0), 0), (TM, D))
    largest = ct.full((TM, 1), -math.inf, ct.float32)
    total = ct.zeros((TM, 1), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (TN, D))):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (TN, D))), ct.zeros((TM, TN), ct.float32))
        powers, factor, largest, total = softmax_step(scores, largest, total)
        output = ct.mma(ct.astype(powers, V.dtype), ct.load(V, (j, 0), (TN, D)), output * factor)
    ct.store(out, (ct.bid(0), 0), ct.astype(output / total, out.dtype))


def compiled(target: str, rows: int, keys: int, **hints: int) -> ct.Compiled:
    arrays = ", ".join(f"{name}: f16[?,{D}]" for name in ("Q", "K", "V", "out"))
    return ct.compile(attention, target=target, signature=f"{arrays}, TM={rows}, TN={keys}", hints=hints, stop="ptx")


def test_rings_leave_memory_for_a_second_block():
    made = compiled("sm_90a", ROWS, KEYS)
    assert "tilec.occupancy = 2" in made.gpu
    # ptxas has the registers of half of an SM.
    assert ".minnctapersm 2\n" in made.ptx
    assert 2 * (made.metadata.shared_bytes + 1024) <= 228 * 1024
    # Loads are an iteration ahead.
    assert not re.search(r"stages 1 producer tma .* reuse ring", made.gpu)
    assert assemble(made.ptx, "sm_90a").spill_bytes == 0


@pytest.mark.parametrize(("target", "rows", "keys"), [("sm_90a", ROWS, KEYS), ("sm_100a", 128, 32)])
def test_hint_for_one_block_is_followed(target, rows, keys):
    assert "tilec.occupancy = 1" in compiled(target, rows, keys, occupancy=1).gpu


def test_one_block_keeps_its_slots_where_it_does_not_wait():
    """By the model 64 rows with 128 keys take the tensor cores of sm_100a for 0.95 of the time."""
    made = compiled("sm_100a", 64, 128)
    assert "tilec.occupancy" not in made.gpu and "stages 3 producer tma" in made.gpu


def test_results_of_rings_with_fewer_slots(random):
    """Scores are 0 or -1024, so that a weight is 1 or 0; the values are integers, and the slots are used five times."""
    queries, length = 2 * ROWS, 10 * KEYS
    q, k = np.zeros((queries, D), np.float16), -1024 * random.integers(0, 2, (length, D)).astype(np.float16)
    q[np.arange(queries), np.arange(queries) % D] = 1
    v = random.integers(-8, 9, (length, D)).astype(np.float16)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    sums = (weights @ v.astype(np.float64)).astype(np.float32)
    expected = (sums / weights.sum(axis=1, keepdims=True).astype(np.float32)).astype(np.float16)
    arguments = [q, k, v, np.zeros((queries, D), np.float16), ROWS, KEYS]
    for (found,) in run_everywhere(attention, (2,), arguments, [3], target="sm_90a", hints={}):
        np.testing.assert_array_equal(found, expected)
