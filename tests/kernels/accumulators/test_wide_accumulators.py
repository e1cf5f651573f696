"""Accumulators of more columns than one instruction multiplies: several instructions side by side.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import matrix_kernels
import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

ZERO = ct.PaddingMode.ZERO
WIDTH = 512


@ct.kernel
def row_sums(A, B, C, S, tm: ct.Constant[int], tn: ct.Constant[int]):
    """C = A @ B - the largest element of the row, and the sums of its rows: registers need whole rows."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, (k, 0), (64, tn), padding_mode=ZERO), total)
    total = total - ct.max(total, axis=1, keepdims=True)
    ct.store(S, (ct.bid(0),), ct.sum(total, axis=1))
    ct.store(C, (ct.bid(0), 0), total)


@ct.kernel
def scaled_sums(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    """C = sum over k of A[k] @ B[k] * 2^(number of tiles after k): threads scale the accumulator in the loop."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, (k, 0), (64, tn), padding_mode=ZERO), total * 2.0)
    ct.store(C, (ct.bid(0), 0), total)


def integers(random: np.random.Generator, shape: tuple[int, ...], dtype: object) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(dtype)


def units(kernel: object, args: tuple[object, ...], target: str) -> set[str]:
    """The operations that multiply."""
    text = ct.compile(kernel, signature=Signature.from_arguments(kernel, args), target=target, stop="ptx").ptx
    return {name for name in ("tcgen05.mma", "wgmma.mma_async", "mma.sync", "fma.rn") if name in text}


@pytest.mark.parametrize("order", ["K contiguous", "N contiguous"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.int8])
@pytest.mark.parametrize("rows", [64, 128])
def test_product(target, random, rows, dtype, order):
    A, B = integers(random, (rows + 40, 208), dtype), integers(random, (208, WIDTH + 80), dtype)
    exact = A.astype("i8") @ B.astype("i8")
    B = np.asfortranarray(B) if order == "K contiguous" else B
    args = (A, B, np.zeros(exact.shape, np.int32 if dtype == np.int8 else np.float32), rows, WIDTH, 64)
    assert units(matrix_kernels.product, args, target) == {UNITS[target]}
    for (found,) in run_everywhere(matrix_kernels.product, (2, 2), args, (2,), target=target, hints={}):
        assert np.array_equal(found, exact)


UNITS = {"sm_100a": "tcgen05.mma", "sm_90a": "wgmma.mma_async"}


@pytest.mark.parametrize("rows", [64, 128])
def test_whole_rows_in_registers(target, random, rows):
    A, B = integers(random, (rows + 8, 136), np.float16), integers(random, (136, WIDTH), np.float16)
    exact = A.astype("i8") @ B.astype("i8")
    exact -= exact.max(axis=1, keepdims=True)
    args = (A, B, np.zeros(exact.shape, np.float32), np.zeros(len(A), np.float32), rows, WIDTH)
    for found, sums in run_everywhere(row_sums, (2,), args, (2, 3), target=target, hints={}):
        assert np.array_equal(found, exact)
        assert np.array_equal(sums, exact.sum(axis=1))


@pytest.mark.parametrize("rows", [64, 128])
def test_sums_that_a_loop_scales(target, random, rows):
    A, B = integers(random, (rows + 8, 192), np.float16), integers(random, (192, WIDTH), np.float16)
    exact = np.zeros((len(A), WIDTH))
    for k in range(0, 192, 64):
        exact = 2 * exact + A[:, k : k + 64].astype("i8") @ B[k : k + 64].astype("i8")
    args = (A, B, np.zeros(exact.shape, np.float32), rows, WIDTH)
    for (found,) in run_everywhere(scaled_sums, (2,), args, (2,), target=target, hints={}):
        assert np.array_equal(found, exact)


@pytest.mark.parametrize("order", ["K contiguous", "N contiguous"])
@pytest.mark.parametrize("warps", [8, 16])
@pytest.mark.parametrize("columns", [64, 128, 256, 512])
def test_warpgroups_side_by_side(random, columns, warps, order):
    """On sm_90a 64 rows leave columns to all warpgroups but the first, or mma.sync multiplies."""
    A, B = integers(random, (72, 136), np.float16), integers(random, (136, columns + 40), np.float16)
    exact = A.astype("i8") @ B.astype("i8")
    B = np.asfortranarray(B) if order == "K contiguous" else B
    args = (A, B, np.zeros(exact.shape, np.float32), 64, columns, 64)
    hints = {"warps": warps}
    for (found,) in run_everywhere(matrix_kernels.product, (2, 2), args, (2,), target="sm_90a", hints=hints):
        assert np.array_equal(found, exact)
