"""Chains of multiplies whose tiles exceed a block: CTAs of a cluster divide their columns and rows, as for MLA.

Without num_ctas a block of 64 rows and 512 columns becomes a cluster; with num_ctas=1 it computes columns in turn.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.errors import UnsupportedError
from tilec.signature import Signature

ZERO = ct.PaddingMode.ZERO
LATENT, ROTARY = 512, 64
CONSTANT = ct.Constant[int]


@ct.kernel
def latent_attention(Q, QR, KV, KR, OUT, LSE, length: int, h: CONSTANT, dc: CONSTANT, dr: CONSTANT, tn: CONSTANT):
    """Decoding with latent attention: dc columns are keys and values, dr further columns are keys alone."""
    b = ct.bid(0)
    q = ct.load(Q, (b, 0, 0), (1, h, dc), padding_mode=ZERO).reshape((h, dc))
    qr = ct.load(QR, (b, 0, 0), (1, h, dr), padding_mode=ZERO).reshape((h, dr))
    m = ct.full((h, 1), -math.inf, ct.float32)
    total = ct.zeros((h, 1), ct.float32)
    acc = ct.zeros((h, dc), ct.float32)
    for j in range(ct.cdiv(length, tn)):
        kv = ct.load(KV, (b, j, 0), (1, tn, dc), padding_mode=ZERO).reshape((tn, dc))
        kr = ct.load(KR, (b, j, 0), (1, tn, dr), padding_mode=ZERO).reshape((tn, dr))
        s = ct.mma(q, ct.transpose(kv), ct.zeros((h, tn), ct.float32))
        s = ct.mma(qr, ct.transpose(kr), s)
        s = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] < length, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new, flush_to_zero=True)
        alpha = ct.exp2(m - new, flush_to_zero=True)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(KV.dtype), kv, acc * alpha)
        m = new
    ct.store(OUT, (b, 0, 0), (acc / total).reshape((1, h, dc)))
    ct.store(LSE, (b, 0), (m + ct.log2(total)).reshape((1, h)))


@ct.kernel
def separate_values(Q, K, V, OUT, tm: CONSTANT, d: CONSTANT, dv: CONSTANT, tn: CONSTANT):
    """OUT = sum over j of (Q @ K[j]^T) @ V[j], over the tiles of rows that the blocks share: no tile is read twice."""
    for i in range(ct.bid(0), ct.num_tiles(Q, 0, (tm, d)), ct.num_blocks(0)):
        q = ct.load(Q, (i, 0), (tm, d), padding_mode=ZERO)
        acc = ct.zeros((tm, dv), ct.float32)
        for j in range(ct.num_tiles(K, 0, (tn, d))):
            s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (tn, d), padding_mode=ZERO)), ct.zeros((tm, tn), ct.float32))
            acc = ct.mma(s.astype(V.dtype), ct.load(V, (j, 0), (tn, dv), padding_mode=ZERO), acc)
        ct.store(OUT, (i, 0), acc)


@ct.kernel
def gathered_rows(Q, KV, ROWS, OUT, h: CONSTANT, dc: CONSTANT, dr: CONSTANT, tn: CONSTANT):
    """OUT = sum over j of (Q @ KV[rows j]^T) @ KV[rows j, :dc]: threads load the keys; rows below 0 are zero."""
    q = ct.load(Q, (0, 0), (h, dc))
    qr = ct.load(Q, (0, dc // dr), (h, dr))
    acc = ct.zeros((h, dc), ct.float32)
    for j in range(ct.num_tiles(ROWS, 0, (tn,))):
        rows = ct.load(ROWS, (j,), (tn,))[:, None]
        kv = ct.gather(KV, (rows, ct.arange(dc, dtype=ct.int32)[None, :]), padding_value=0)
        kr = ct.gather(KV, (rows, dc + ct.arange(dr, dtype=ct.int32)[None, :]), padding_value=0)
        s = ct.mma(q, ct.transpose(kv), ct.zeros((h, tn), ct.float32))
        s = ct.mma(qr, ct.transpose(kr), s)
        acc = ct.mma(s.astype(KV.dtype), kv, acc)
    ct.store(OUT, (0, 0), acc)


def arguments(h: int, tn: int, length: int, random: np.random.Generator) -> tuple[object, ...]:
    q, qr = (random.standard_normal((1, h, d)) / 16 for d in (LATENT, ROTARY))
    kv, kr = (random.standard_normal((1, length + 5, d)) for d in (LATENT, ROTARY))
    tiles = [tile.astype(ml_dtypes.bfloat16) for tile in (q, qr, kv, kr)]
    outputs = np.zeros((1, h, LATENT), np.float32), np.zeros((1, h), np.float32)
    return (*tiles, *outputs, length, h, LATENT, ROTARY, tn)


def compiled(h: int, tn: int, target: str, **hints: object) -> ct.Compiled:
    args = arguments(h, tn, tn, np.random.default_rng(0))
    signature = Signature.from_arguments(latent_attention, args)
    return ct.compile(latent_attention, signature=signature, target=target, stop="ptx", hints=hints)


@pytest.mark.parametrize("heads", [64, 128])
def test_hint_occupancy_is_a_remark(target, heads):
    """Tiles that exceed a block leave no room for another block on the SM."""
    made = compiled(heads, 128, target, occupancy=2)
    (remark,) = (each for each in made.all_remarks if each.topic == "hint")
    assert remark.message.startswith("occupancy=2 is not followed: ")
    assert ".reqnctapercluster" in made.ptx and "mma.sync" not in made.ptx


@pytest.mark.parametrize("tn", [32, 64, 128])
@pytest.mark.parametrize("heads", [64, 128])
def test_all_multiplies_on_the_fast_unit(target, heads, tn):
    """128 heads need 512 columns of tensor memory, or all registers of an SM, for one accumulator."""
    made = compiled(heads, tn, target)
    assert "mma.sync" not in made.ptx and ".reqnctapercluster" in made.ptx
    assert not [remark for remark in made.all_remarks if remark.topic in ("hint", "matrix-unit", "registers")]
    report = made.explain("plan")
    assert "the memory or the registers of one CTA do not hold the tiles of a chain" in report
    assert "division among CTAs: " in report and "columns of the last multiplies of chains in " in report


def test_few_rows_whose_operands_exceed_shared_memory(target):
    """32 rows of mma.sync would need 241,664 bytes. Other units take the rows as columns, without scratch memory."""
    assert "mma.sync" not in compiled(32, 128, target).ptx and "mma.sync" in compiled(32, 64, target).ptx


@pytest.mark.parametrize(
    ("heads", "tn", "length", "hints"),
    [
        (64, 32, 50, {}),
        (64, 64, 70, {}),
        (64, 32, 50, {"num_ctas": 1}),
        (128, 64, 70, {"num_ctas": 1}),
        (32, 128, 140, {}),
    ],
)
def test_latent_attention(target, random, heads, tn, length, hints):
    """The error: p and 1/sum are rounded to bf16 and f32, and the output is a mean of values, weighted by p."""
    args = arguments(heads, tn, length, random)
    q, qr, kv, kr = (tile.astype(np.float32) for tile in args[:4])
    s = (q @ kv.transpose(0, 2, 1) + qr @ kr.transpose(0, 2, 1))[:, :, :length]
    p = np.exp2(s - s.max(axis=2, keepdims=True))
    total = p.sum(axis=2, keepdims=True)
    exact, lse = p @ kv[:, :length] / total, (s.max(axis=2) + np.log2(total[:, :, 0]))
    bound = (2**-8 + 2**-12) * np.abs(kv).max()
    for out, found in run_everywhere(latent_attention, (1,), args, (4, 5), target=target, hints=hints):
        assert np.abs(out - exact).max() < bound and np.abs(found - lse).max() < 2**-12


def test_one_block_that_lacks_shared_memory(target):
    """The operands of 128 rows and 128 keys exceed it: the error names the hint that excludes other blocks."""
    with pytest.raises(UnsupportedError, match="or leave num_ctas=1 out: several CTAs may divide"):
        compiled(128, 128, target, num_ctas=1)


@pytest.mark.parametrize("tm", [64, 128])
def test_persistent_blocks(target, random, tm):
    """Small integers: every sum is exact. Two clusters compute three tiles of rows."""
    d, dv, tn = 64, 512, 32
    q, k, v = (random.integers(-1, 2, shape).astype(np.float16) for shape in ((2 * tm + 8, d), (40, d), (40, dv)))
    exact = (q.astype(np.int64) @ k.T.astype(np.int64)) @ v.astype(np.int64)
    args = (q, k, v, np.zeros(exact.shape, np.float32), tm, d, dv, tn)
    for (out,) in run_everywhere(separate_values, (2,), args, (3,), target=target, hints={}):
        assert np.array_equal(out, exact)


def test_parts_of_the_rows_come_first():
    """Parts of the rows repeat no multiply: 128 rows with 65,536 registers of accumulators on sm_90a."""
    args = (*(np.zeros(shape, np.float16) for shape in ((128, 64), (256, 64), (256, 256))), np.zeros((128, 256), "f4"))
    signature = Signature.from_arguments(separate_values, (*args, 128, 64, 256, 256))
    made = ct.compile(separate_values, signature=signature, target="sm_90a", stop="ptx")
    assert any("the block computes the rows in 2 parts" in remark.message for remark in made.all_remarks)
    assert ".reqnctapercluster" not in made.ptx


@pytest.mark.parametrize(("heads", "rotary"), [(64, 64), (128, 64), (64, 16)])
def test_gathered_rows(target, random, heads, rotary):
    """On sm_90a no division has registers for the loaded rows: a cluster is for what exceeds the memory of a block.

    One block would need 238,592 bytes with 64 rotary columns. With 16 it has the memory, and multiplies by mma.sync.
    """
    tn = 64
    q, kv = (random.integers(-1, 2, (rows, LATENT + rotary)) for rows in (heads, 100))
    rows = random.integers(-1, 100, 2 * tn)
    keys = np.where(rows[:, None] < 0, 0, kv[rows])
    args = [tile.astype(ml_dtypes.bfloat16) for tile in (q, kv)]
    args += [rows.astype(np.int32), np.zeros((heads, LATENT), np.float32), heads, LATENT, rotary, tn]
    exact = (q @ keys.T) @ keys[:, :LATENT]
    signature = Signature.from_arguments(gathered_rows, args)
    ptx = ct.compile(gathered_rows, signature=signature, target=target, stop="ptx").ptx
    is_cluster = ".reqnctapercluster" in ptx
    assert is_cluster != ("mma.sync" in ptx) and is_cluster == (rotary == 64 or target == "sm_100a")
    for (out,) in run_everywhere(gathered_rows, (1,), args, (3,), target=target, hints={}):
        assert np.array_equal(out, exact)
