"""Multiplies with fewer rows than an instruction of the tensor cores: operands change sides (turn_multiplies.py)."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Integer = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
DEPTH = 80
# f16 probabilities, and exponentials of the GPU (PTX ISA: 2 ulp), of values that are at most 4.
TOLERANCE = 2e-3


@ct.kernel
def decode(Q, K, V, OUT, LSE, length: int, G: Integer, D: Integer, TN: Integer):
    q = ct.load(Q, (ct.bid(0), 0, 0), (1, G, D), padding_mode=ZERO).reshape((G, D))
    m = ct.full((G, 1), -math.inf, ct.float32)
    total = ct.zeros((G, 1), ct.float32)
    acc = ct.zeros((G, D), ct.float32)
    for j in range(ct.cdiv(length, TN)):
        k = ct.load(K, (ct.bid(0), j, 0), (1, TN, D), padding_mode=ZERO).reshape((TN, D))
        s = ct.mma(q, ct.transpose(k), ct.zeros((G, TN), ct.float32)) * 0.125
        s = ct.where(j * TN + ct.arange(TN, dtype=ct.int32)[None, :] < length, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, (ct.bid(0), j, 0), (1, TN, D), padding_mode=ZERO).reshape((TN, D))
        acc = ct.mma(p.astype(V.dtype), v, acc * alpha)
        m = new
    ct.store(OUT, (ct.bid(0), 0, 0), (acc / total).reshape((1, G, D)))
    ct.store(LSE, (ct.bid(0), 0), (m + ct.log2(total)).reshape((1, G)))


@ct.kernel
def rows(A, B, bias, C, tm: Integer, tn: Integer):
    """C = (A @ B + bias) * (1 + the number of the row) - the greatest element of the column."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (64, tn), padding_mode=ZERO), total)
    x = total + ct.load(bias, (ct.bid(1),), (tn,)).reshape((1, tn)).astype(ct.float32)
    x = x * (1 + ct.arange(tm, dtype=ct.int32).astype(ct.float32)).reshape((tm, 1))
    ct.store(C, (ct.bid(0), ct.bid(1)), x - ct.max(x, axis=0, keepdims=True))


@ct.kernel
def in_branches(A, B, C, tm: Integer, tn: Integer):
    """C = A @ B, but the third step subtracts its product; the sums along the rows are added to all of them."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (0, k), (tm, 64), padding_mode=ZERO)
        product = ct.mma(a, ct.load(B, (k, 0), (64, tn), padding_mode=ZERO), ct.zeros((tm, tn), ct.float32))
        if k == 2:
            total = total - product
        else:
            total = total + product
    ct.store(C, (0, 0), ct.cumsum(total, axis=1) + ct.sum(total, axis=1, keepdims=True))


@ct.kernel
def of_integers(A, B, C, tm: Integer, tn: Integer):
    total = ct.zeros((tm, tn), ct.int32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (0, k), (tm, 64), padding_mode=ZERO)
        total = ct.mma(a, ct.transpose(ct.load(B, (0, k), (tn, 64), padding_mode=ZERO)), total)
    ct.store(C, (0, 0), total)


def integers(random: np.random.Generator, *shape: int, dtype: object = np.float16) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(dtype)


def ptx_of(kernel: object, args: tuple[object, ...], target: str) -> str:
    return ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="ptx").ptx


def check_instructions(kernel: object, args: tuple[object, ...], target: str) -> None:
    ptx = ptx_of(kernel, args, target)
    assert not re.search(r"\bmma\.sync", ptx)
    assert re.search(r"tcgen05\.mma|wgmma\.mma_async", ptx)


@pytest.mark.parametrize("heads", [1, 4, 8, 32])
def test_decode(random: np.random.Generator, target: str, heads: int) -> None:
    """Softmax and its mask are turned with the products; heads are repeated up to the columns of an instruction."""
    length, d, tn = 150, 64, 64
    q = random.standard_normal((2, heads, d)).astype(np.float16)
    k, v = (random.standard_normal((2, length + 10, d)).astype(np.float16) for _ in range(2))
    out, lse = np.full((2, heads, d), np.nan, np.float32), np.full((2, heads), np.nan, np.float32)
    args = q, k, v, out, lse, length, heads, d, tn
    s = q.astype(np.float64) @ k[:, :length].astype(np.float64).transpose(0, 2, 1) * 0.125
    p = np.exp2(s - s.max(2, keepdims=True))
    expected = p @ v[:, :length].astype(np.float64) / p.sum(2, keepdims=True)
    of_lse = s.max(2) + np.log2(p.sum(2))
    for found, sums in run_everywhere(decode, (2,), args, [3, 4], target=target, hints={}, interpret=False):
        assert np.abs(found - expected).max() < TOLERANCE
        assert np.abs(sums - of_lse).max() < TOLERANCE
    if heads == 32:
        # The model prefers mma.sync where 32 rows are reduced along the columns.
        assert "mma.sync.aligned.m16" in ptx_of(decode, args, target)
    else:
        check_instructions(decode, args, target)


@pytest.mark.parametrize(("tm", "tn"), [(8, 128), (16, 64), (2, 128), (1, 256), (32, 128)])
def test_epilogue(random: np.random.Generator, target: str, tm: int, tn: int) -> None:
    """Values that differ by row or by column, and a reduction along the columns, which needs the tile as it was."""
    a, b, bias = integers(random, tm, DEPTH), integers(random, DEPTH, tn), integers(random, tn)
    args = a, b, bias, np.full((tm, tn), np.nan, np.float32), tm, tn
    x = (a.astype(np.float32) @ b.astype(np.float32) + bias) * (1 + np.arange(tm))[:, None]
    for (found,) in run_everywhere(rows, (1, 1), args, [3], target=target, hints={}):
        assert np.array_equal(found, x - x.max(0))
    check_instructions(rows, args, target)


def test_branches(random: np.random.Generator, target: str) -> None:
    """Values that branches give are turned; a scan is not."""
    a, b = integers(random, 8, 256), integers(random, 256, 128)
    args = a, b, np.full((8, 128), np.nan, np.float32), 8, 128
    signs = np.repeat([1, 1, -1, 1], 64).astype(np.float32)
    x = a.astype(np.float32) * signs @ b.astype(np.float32)
    for (found,) in run_everywhere(in_branches, (1,), args, [2], target=target, hints={}):
        assert np.array_equal(found, np.cumsum(x, 1) + x.sum(1, keepdims=True))
    check_instructions(in_branches, args, target)


def test_signs(random: np.random.Generator, target: str) -> None:
    """The signs of integers change sides with the operands."""
    a = random.integers(0, 256, (8, 128)).astype(np.uint8)
    b = random.integers(-128, 128, (128, 128)).astype(np.int8)
    args = a, b, np.zeros((8, 128), np.int32), 8, 128
    for (found,) in run_everywhere(of_integers, (1,), args, [2], target=target, hints={}):
        assert np.array_equal(found, a.astype(np.int32) @ b.astype(np.int32).T)
