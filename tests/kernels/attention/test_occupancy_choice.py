"""Attention with two blocks on an SM, by itself or by the hint `occupancy`, if they are faster by the cost model."""

from __future__ import annotations

import numpy as np
import pytest
from attention_kernels import attention_in_words, softmax_step
from compare import run_everywhere

import tilec as ct

SIGNATURE = (
    "Q: f16[?,{columns}], K: f16[?,{columns}], V: f16[?,{columns}], out: f16[?,{columns}], scale: f32, D={columns}, "
    "TM={rows}, FLUSHES=True, LATE=True, DIVIDES=True"
)
TARGET = "sm_100a"


@ct.kernel
def attention_of_64_keys(Q, K, V, out, scale: float, D: ct.Constant[int]):
    """64 rows and 64 keys at once: one warpgroup has an accumulator of all columns."""
    query = ct.load(Q, (ct.bid(0), 0), (64, D))
    largest, total = ct.full((64, 1), -1e30, ct.float32), ct.zeros((64, 1), ct.float32)
    output = ct.zeros((64, D), ct.float32)
    for j in range(ct.num_tiles(K, 0, (64, D))):
        scores = ct.mma(query, ct.transpose(ct.load(K, (j, 0), (64, D))), ct.zeros((64, 64), ct.float32)) * scale
        powers, factor, largest, total = softmax_step(scores, largest, total)
        output = ct.mma(ct.astype(powers, V.dtype), ct.load(V, (j, 0), (64, D)), output * factor)
    ct.store(out, (ct.bid(0), 0), ct.astype(output / total, out.dtype))


def compiled(columns: int, rows: int = 128, **hints: int) -> ct.Compiled:
    signature = SIGNATURE.format(columns=columns, rows=rows)
    return ct.compile(attention_in_words, target=TARGET, signature=signature, hints=hints, stop="ptx")


@pytest.mark.parametrize("hints", [{}, {"occupancy": 2}], ids=str)
def test_two_blocks_of_64_columns_share_an_sm(hints):
    made = compiled(64, **hints)
    assert "tilec.occupancy = 2" in made.gpu
    # One role computes and scales, with what two roles that issue leave of half of the registers.
    assert ".reqntid 256, 1, 1\n.maxnreg 128\n" in made.ptx
    assert "setmaxnreg.inc.sync.aligned.u32 224;" in made.ptx
    assert "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r23], 256;" in made.ptx
    assert 2 * (made.metadata.shared_bytes + 1024) <= 228 * 1024
    assert not [remark for remark in made.all_remarks if remark.topic == "hint"]


def test_one_block_if_a_hint_asks_for_it():
    made = compiled(64, occupancy=1)
    assert ".reqntid 384, 1, 1\n.maxnreg 168\n" in made.ptx


def test_blocks_leave_a_wide_multiply_its_registers_at_launch():
    """ptxas refuses (C7602) a wgmma with 128 registers of accumulator in kernels whose threads start with 128."""
    arrays = ", ".join(f"{name}: f16[?,256]" for name in ("Q", "K", "V", "out"))
    made = ct.compile(attention_of_64_keys, target="sm_90a", signature=f"{arrays}, scale: f32, D=256")
    assert "wgmma.mma_async.sync.aligned.m64n256k16" in made.ptx
    assert ".maxnreg 128\n" not in made.ptx
    assert made.stage("cubin") is not None


def test_no_constant_is_live_across_the_change_of_registers():
    """ptxas spills initial values of loops that are: 8 bytes in the loop."""
    before, _, after = compiled(64).ptx.partition("setmaxnreg.inc")
    assert "0fFF800000" not in before
    assert "0fFF800000" in after


@pytest.mark.parametrize(
    ("columns", "rows", "reason"),
    [(128, 128, "with the memory of 2 blocks, loops have one slot"), (64, 256, "a block needs 512 columns")],
)
def test_hint_that_costs_time_or_memory_is_a_remark(columns, rows, reason):
    made = compiled(columns, rows, occupancy=2)
    (remark,) = [remark for remark in made.all_remarks if remark.topic == "hint"]
    assert remark.message.startswith(f"occupancy=2 is not followed: {reason}")
    assert remark.location is not None
    assert made.ptx == compiled(columns, rows).ptx


def test_results_do_not_depend_on_the_number_of_blocks(target, random):
    """Scores of equal keys: the mean of integers is exact."""
    queries, keys = 128, 256
    q = random.integers(-2, 3, (queries, 64)).astype(np.float16)
    k = np.ones((keys, 64), np.float16)
    v = (random.integers(-4, 5, (keys, 64)) * 2).astype(np.float16)
    out = np.zeros((queries, 64), np.float16)
    expected = np.broadcast_to(v.astype(np.float64).mean(axis=0), out.shape).astype(np.float16)
    arguments = [q, k, v, out, 0.125, 64, 128, True, True, True]
    for hints in ({}, {"occupancy": 1}, {"occupancy": 2}):
        for (found,) in run_everywhere(attention_in_words, (1,), arguments, [3], target=target, hints=hints):
            np.testing.assert_array_equal(found, expected)
