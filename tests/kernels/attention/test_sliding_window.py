"""Attention with a sliding window and 64 queries per block: two blocks share an SM if a hint asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.runtime.cubin.cubin import assemble

TM, TN, D = 64, 128, 128
HINTS = {"occupancy": 2}
# The sum of the products is added to the scaled earlier sum, or starts from it.
WORDINGS = pytest.mark.parametrize("ADDS", [True, False], ids=["added", "carried"])


@ct.kernel
def attention(Q, K, V, out, scale: float, keys: int, window: int, ADDS: ct.Constant[bool]):
    first = ct.bid(0) * TM
    query = ct.load(Q, (ct.bid(0), 0), (TM, D))
    largest, total = ct.full((TM,), -1e30, ct.float32), ct.zeros((TM,), ct.float32)
    output = ct.zeros((TM, D), ct.float32)
    rows = (first + ct.arange(TM, dtype=ct.int32))[:, None]
    for j in range(max(0, first - window + 1) // TN, min(ct.cdiv(keys, TN), (first + TM - 1) // TN + 1)):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (TN, D))), ct.zeros((TM, TN), ct.float32))
        columns = (j * TN + ct.arange(TN, dtype=ct.int32))[None, :]
        sees = (columns > rows - window) & (columns <= rows) & (columns < keys)
        scores = ct.where(sees, scores, -1e30) * scale
        new = ct.maximum(largest, ct.max(scores, axis=1))
        factor = ct.exp2(largest - new, flush_to_zero=True)
        powers = ct.exp2(scores - new[:, None], flush_to_zero=True)
        total = factor * total + ct.sum(powers, axis=1)
        values, scaled = ct.load(V, (j, 0), (TN, D)), factor[:, None] * output
        weights = ct.astype(powers, V.dtype)
        if ADDS:
            output = scaled + ct.mma(weights, values, ct.zeros((TM, D), ct.float32))
        else:
            output = ct.mma(weights, values, scaled)
        largest = new
    ct.store(out, (ct.bid(0), 0), ct.astype(output / total[:, None], out.dtype))


def compiled(target: str, adds: bool, **hints: int) -> ct.Compiled:
    arrays = ", ".join(f"{name}: f16[?,{D}]" for name in ("Q", "K", "V", "out"))
    signature = f"{arrays}, scale: f32, keys: i32, window: i32, ADDS={adds}"
    return ct.compile(attention, target=target, signature=signature, hints=hints, stop="ptx")


@WORDINGS
def test_weights_are_exact(ADDS: bool, target: str, random: np.random.Generator) -> None:
    """Scores are 0 or -1024, so that a weight is 1 or 0; the values are integers."""
    queries, keys, window = 256, 240, 150
    q, k = np.zeros((queries, D), np.float16), np.zeros((queries, D), np.float16)
    q[np.arange(queries), np.arange(queries) % D] = 1
    k[:] = -1024 * random.integers(0, 2, k.shape)
    v = random.integers(-8, 9, (queries, D)).astype(np.float16)
    distance = np.arange(queries)[:, None] - np.arange(queries)[None, :]
    sees = (distance >= 0) & (distance < window) & (np.arange(queries) < keys)
    scores = np.where(sees, q.astype(np.float64) @ k.astype(np.float64).T, -np.inf)
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    sums = weights @ v.astype(np.float64)
    expected = (sums.astype(np.float32) / weights.sum(axis=1, keepdims=True).astype(np.float32)).astype(np.float16)
    arguments = [q, k, v, np.zeros_like(v), 1.0, keys, window, ADDS]
    for hints in ({}, HINTS):
        grid = (queries // TM,)
        for (found,) in run_everywhere(attention, grid, arguments, [3], target=target, hints=hints):
            np.testing.assert_array_equal(found, expected)


def test_two_blocks_with_one_slot(target: str) -> None:
    """Bounds of the masks are tiles of one element, which take no registers of the role that loads."""
    made = compiled(target, True, **HINTS)
    assert "tilec.occupancy = 2" in made.gpu
    assert not [remark for remark in made.all_remarks if remark.topic == "hint"]
    assert ".reqntid 256, 1, 1\n.maxnreg 128\n" in made.ptx
    assert "setmaxnreg.inc.sync.aligned.u32 224;" in made.ptx
    assert "stages 1 producer tma" in made.gpu and "stages 2 producer tma" not in made.gpu
    assert assemble(made.ptx, target).spill_bytes == 0


def test_no_multiply_of_two_blocks_is_delayed_with_one_slot() -> None:
    """Another block multiplies while a block waits for its keys and values."""
    made = compiled("sm_90a", False, **HINTS)
    assert "tilec.occupancy = 2" in made.gpu and "pending 1" not in made.gpu
    assert assemble(made.ptx, "sm_90a").spill_bytes == 0
    assert "pending 1" in compiled("sm_90a", False, occupancy=1).gpu


@WORDINGS
def test_threads_store_the_weights_of_their_own_scores(ADDS: bool) -> None:
    """As 16 lanes of cells of two elements; the shuffles are those of maxima and sums, as on sm_90a."""
    ptx = compiled("sm_100a", ADDS, **HINTS).ptx
    assert "tcgen05.st.sync.aligned.16x128b.x" in ptx
    assert ptx.count("shfl.sync") == compiled("sm_90a", ADDS, **HINTS).ptx.count("shfl.sync")
