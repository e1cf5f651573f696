"""Attention with two blocks on an SM, by itself or by the hint `occupancy`, if they are faster by the cost model."""

from __future__ import annotations

import numpy as np
import pytest
from attention_kernels import attention_in_words
from compare import run_everywhere

import tilec as ct

SIGNATURE = (
    "Q: f16[?,{columns}], K: f16[?,{columns}], V: f16[?,{columns}], out: f16[?,{columns}], scale: f32, D={columns}, "
    "TM={rows}, FLUSHES=True, LATE=True, DIVIDES=True"
)
TARGET = "sm_100a"


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
