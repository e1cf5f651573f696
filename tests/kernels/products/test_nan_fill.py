"""Operands of multiplies whose padding is NaN: TMA fills them where the hint `allow_unconfirmed` permits it."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
NAN, ZERO = ct.PaddingMode.NAN, ct.PaddingMode.ZERO
ALLOWED = {"allow_unconfirmed": True}
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64}


@ct.kernel
def product(X, W, Y, tm: Const, tn: Const, tk: Const):
    """Y = X @ W, where rows that X does not have are NaN."""
    i = ct.bid(0)
    total = ct.zeros((tm, tn), Y.dtype)
    for k in range(ct.num_tiles(W, axis=0, shape=(tk, tn))):
        x = ct.load(X, (i, k), (tm, tk), padding_mode=NAN)
        w = ct.load(W, (k, 0), (tk, tn), padding_mode=ZERO)
        if X.dtype == ct.float32:
            x, w = x.astype(ct.tfloat32), w.astype(ct.tfloat32)
        total = ct.mma(x, w, total)
    ct.store(Y, (i, 0), total)


@ct.kernel
def gathered(X, Row, W, Y, tm: Const, tn: Const, tk: Const):
    """Y[i] = X[Row[i]] @ W, NaN where X has no such row."""
    rows, total = ct.load(Row, (ct.bid(0),), (tm,)), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(W, axis=0, shape=(tk, tn))):
        x = ct.load_advanced_indexing(X, (rows, ct.Slice(k * tk, tk)), padding_mode=NAN)
        total = ct.mma(x, ct.load(W, (k, 0), (tk, tn)), total)
    ct.store(Y, (ct.bid(0), 0), total)


@ct.kernel
def read_by_threads(X, W, Y, S):
    """The tile is an operand, and its largest elements are stored: their bits can be observed."""
    x = ct.load(X, (ct.bid(0), 0), (128, 64), padding_mode=NAN)
    ct.store(Y, (ct.bid(0), 0), ct.mma(x, ct.load(W, (0, 0), (64, 64)), ct.zeros((128, 64), ct.float32)))
    ct.store(S, (ct.bid(0), 0), -x)


def compiled(kernel, args, target, hints):
    signature = Signature.from_arguments(kernel, args)
    return ct.compile(kernel, signature=signature, target=target, hints=hints, stop="ptx")


def fills(kernel):
    return re.findall(r" fill (zero|nan)", kernel.stage("gpu").text)


def operands(random, rows, depth, columns, dtype):
    return random.integers(-3, 4, (rows, depth)).astype(dtype), random.integers(-3, 4, (depth, columns)).astype(dtype)


@pytest.mark.parametrize("hints", [{}, ALLOWED], ids=["default", "allowed"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_outside_are_nan(target, random, kind, hints):
    dtype = KINDS[kind]
    X, W = operands(random, 150, 64, 64, dtype)
    exact = np.full((256, 64), np.nan, np.float64 if kind == "f64" else np.float32)
    exact[:150] = X.astype("f8") @ W.astype("f8")
    args = (X, W, np.zeros_like(exact), 64 if kind == "f64" else 128, 64, 16 if kind == "f64" else 32)
    kernel = compiled(product, args, target, hints)
    assert fills(kernel).count("nan") == (1 if hints else 0)
    for (found,) in run_everywhere(
        product, (-(-256 // args[3]),), args, (2,), target=target, hints=hints, seeds=(0, 1)
    ):
        np.testing.assert_array_equal(found, exact)


def test_gathered_rows_outside_are_nan(target, random):
    X, W = operands(random, 60, 128, 64, np.float16)
    rows = random.integers(-20, 80, 256).astype(np.int32)
    has_row = (rows >= 0) & (rows < 60)
    exact = np.where(has_row[:, None], X.astype("f4")[np.clip(rows, 0, 59)] @ W.astype("f4"), np.float32(np.nan))
    args = (X, rows, W, np.zeros((256, 64), np.float32), 128, 64, 64)
    assert ("nan" in fills(compiled(gathered, args, target, ALLOWED))) == (target == "sm_100a")
    for (found,) in run_everywhere(gathered, (2,), args, (3,), target=target, hints=ALLOWED, seeds=(0, 1)):
        np.testing.assert_array_equal(found, exact)


def test_a_tile_that_threads_read_has_the_nan_of_tile_ir(target, random):
    X, W = operands(random, 100, 64, 64, np.float16)
    args = (X, W, np.zeros((128, 64), np.float32), np.zeros((128, 64), np.float16))
    kernel = compiled(read_by_threads, args, target, ALLOWED)
    assert "nan" not in fills(kernel)
    assert any("threads read the tile too, and NVIDIA does not publish" in str(each) for each in kernel.all_remarks)
    for found in run_everywhere(read_by_threads, (1,), args, (2, 3), target=target, hints=ALLOWED):
        assert np.isnan(found[0][100:]).all() and np.isfinite(found[0][:100]).all()
        assert (found[1][100:].view(np.uint16) == 0xFE00).all() and np.array_equal(found[1][:100], -X)


def test_remark_names_the_hint(target, random):
    args = (*operands(random, 150, 64, 64, np.float16), np.zeros((256, 64), np.float32), 128, 64, 32)
    remarks = [str(each) for each in compiled(product, args, target, {}).all_remarks]
    assert any("with zeros, not with nan: hint allow_unconfirmed lets it fill with a NaN" in each for each in remarks)
