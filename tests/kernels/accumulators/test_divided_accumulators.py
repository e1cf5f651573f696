"""Accumulators of more columns than an instruction of the tensor cores has, in one CTA and in clusters.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Integer = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
DEPTH = 80


def product(A, B, C, tm: Integer, tn: Integer):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (64, tn), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total.astype(C.dtype))


ALONE = ct.kernel(product)
IN_CLUSTERS = {ctas: ct.kernel(num_ctas=ctas)(product) for ctas in (2, 4)}


@ct.kernel
def transposed(A, B, C, tm: Integer, tn: Integer):
    """C = A @ B[0].T, with a batch of one matrix."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        b = ct.load(B, (0, ct.bid(1), k), (1, tn, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.transpose(ct.reshape(b, (tn, 64))), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def batched(A, B, C, tm: Integer, tn: Integer):
    """C = A @ B[0], whose rows are contiguous."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        b = ct.load(B, (0, k, ct.bid(1)), (1, 64, tn), padding_mode=ZERO)
        total = ct.mma(a, ct.reshape(b, (64, tn)), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def gated(A, B, C, tm: Integer, tn: Integer):
    """C = (A @ B[0]) * (A @ B[1] + the number of the column)."""
    first = ct.zeros((tm, tn), ct.float32)
    second = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        b = ct.load(B, (0, k, ct.bid(1)), (1, 64, tn), padding_mode=ZERO)
        first = ct.mma(a, ct.reshape(b, (64, tn)), first)
        b = ct.load(B, (1, k, ct.bid(1)), (1, 64, tn), padding_mode=ZERO)
        second = ct.mma(a, ct.reshape(b, (64, tn)), second)
    numbers = ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn)).astype(ct.float32)
    ct.store(C, (ct.bid(0), ct.bid(1)), first * (second + numbers))


@ct.kernel
def centered(A, B, bias, C, tm: Integer, tn: Integer):
    """C = x - max(x) along the rows, x = A @ B + bias."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, (k, 0), (64, tn), padding_mode=ZERO), total)
    x = total + ct.reshape(ct.load(bias, (0,), (tn,)), (1, tn))
    ct.store(C, (ct.bid(0), 0), x - ct.max(x, axis=1, keepdims=True))


def integers(random: np.random.Generator, *shape: int, dtype: object = np.float16) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(dtype)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


def compiled(kernel: object, args: tuple[object, ...], target: str) -> tuple[str, str]:
    """The PTX and the remarks."""
    found = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="ptx")
    return found.ptx, "\n".join(map(str, found.all_remarks))


def check_instructions(ptx: str) -> None:
    assert not re.search(r"\bmma\.sync", ptx)
    assert re.search(r"tcgen05\.mma|wgmma\.mma_async", ptx)


@pytest.mark.parametrize(("tm", "dtype"), [(128, np.float16), (64, ml_dtypes.bfloat16), (256, np.float16)])
def test_one_cta(random: np.random.Generator, target: str, tm: int, dtype: object) -> None:
    """512 columns, the last of which, with the last rows, are outside of the matrices."""
    a, b = integers(random, tm + 8, DEPTH, dtype=dtype), integers(random, DEPTH, 488, dtype=dtype)
    args = a, b, np.full((tm + 8, 488), np.nan, np.float32), tm, 512
    for (found,) in run_everywhere(ALONE, (2, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, exact(a, b))
    check_instructions(compiled(ALONE, args, target)[0])


@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize(("tm", "tn"), [(128, 512), (256, 512), (128, 256)])
def test_clusters(random: np.random.Generator, target: str, ctas: int, tm: int, tn: int) -> None:
    a, b = integers(random, tm - 24, DEPTH), integers(random, DEPTH, tn + 16)
    args = a, b, np.full((tm - 24, tn + 16), np.nan, np.float32), tm, tn
    kernel = IN_CLUSTERS[ctas]
    for (found,) in run_everywhere(kernel, (1, 2), args, [2], target=target, hints={}):
        assert np.array_equal(found, exact(a, b))
    ptx, remarks = compiled(kernel, args, target)
    check_instructions(ptx)
    assert "is not followed" not in remarks
    assert f".reqnctapercluster {ctas}" in ptx
    # CTAs that divide rows and columns multiply in pairs of equal columns.
    assert "tcgen05.mma.cta_group::1" not in ptx


def test_transposed_operand(random: np.random.Generator, target: str) -> None:
    a, b = integers(random, 128, DEPTH), integers(random, 1, 500, DEPTH)
    args = a, b, np.full((128, 500), np.nan, np.float32), 128, 512
    for (found,) in run_everywhere(transposed, (1, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, exact(a, b[0].T))
    ptx, remarks = compiled(transposed, args, target)
    check_instructions(ptx)
    assert "TMA does not load" not in remarks


def test_batch_of_one(random: np.random.Generator, target: str) -> None:
    """The columns of an operand that a reshape makes from a tile of rank 3 are loaded in parts."""
    a, b = integers(random, 128, DEPTH), integers(random, 1, DEPTH, 488)
    args = a, b, np.full((128, 488), np.nan, np.float32), 128, 512
    for (found,) in run_everywhere(batched, (1, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, exact(a, b[0]))
    ptx, remarks = compiled(batched, args, target)
    check_instructions(ptx)
    assert "TMA does not load" not in remarks


@pytest.mark.parametrize("tm", [128, 256])
def test_two_accumulators(random: np.random.Generator, target: str, tm: int) -> None:
    """Two accumulators of 512 columns are computed in turn, in parts that fit."""
    a, b = integers(random, tm, DEPTH), integers(random, 2, DEPTH, 488)
    args = a, b, np.full((tm, 488), np.nan, np.float32), tm, 512
    expected = exact(a, b[0]) * (exact(a, b[1]) + np.arange(488))
    for (found,) in run_everywhere(gated, (1, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, expected)
    ptx, remarks = compiled(gated, args, target)
    check_instructions(ptx)
    if target == "sm_100a" and tm == 128:
        needed = "the accumulators need 1024 of 512 columns of tensor memory: the block computes the columns in 2 parts"
        assert needed in remarks


def test_reduction_and_bias(random: np.random.Generator, target: str) -> None:
    """A reduction along all columns, whose parts are in several accumulators."""
    a, b = integers(random, 128, DEPTH), integers(random, DEPTH, 512)
    bias = random.integers(-9, 10, 512).astype(np.float32)
    args = a, b, bias, np.full((128, 512), np.nan, np.float32), 128, 512
    x = exact(a, b) + bias
    for (found,) in run_everywhere(centered, (1, 1), args, [3], target=target, hints={}):
        assert np.array_equal(found, x - x.max(1, keepdims=True))


@ct.kernel
def printed(A, B, C, tm: Integer, tn: Integer):
    ct.printf("once")
    total = ct.mma(ct.load(A, (0, 0), (tm, 64)), ct.load(B, (0, 0), (64, tn)), ct.zeros((tm, tn), ct.float32))
    ct.store(C, (0, 0), total)


def test_tile_that_cannot_be_divided() -> None:
    """The block does not compute the rows in turn, since the print would run twice."""
    args = np.zeros((512, 64), np.float16), np.zeros((64, 256), np.float16), np.zeros((512, 256), np.float32), 512, 256
    expected = "an accumulator of 512x256 needs more than the 512 columns of tensor memory"
    assert expected in compiled(printed, args, "sm_100a")[1]


def test_unequal_rows(random: np.random.Generator, target: str) -> None:
    """32 rows are not those of an instruction, whose rows are the 512 columns then."""
    a, b = integers(random, 32, DEPTH), integers(random, DEPTH, 512)
    args = a, b, np.full((32, 512), np.nan, np.float32), 32, 512
    for (found,) in run_everywhere(ALONE, (1, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, exact(a, b))
