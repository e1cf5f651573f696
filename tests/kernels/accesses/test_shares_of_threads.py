"""Tiles with fewer elements than all threads load in their widest vectors: each thread has elements of its own."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
TARGETS = ("sm_100a", "sm_90a")
WARPS, LANES = 4, 32


@ct.kernel
def square(X, Y, rows: Const, columns: Const):
    """Loads by a view."""
    x = ct.load(X, (ct.bid(0), 0), (rows, columns), padding_mode=ZERO).astype(ct.float32)
    ct.store(Y, (ct.bid(0), 0), (x * x).astype(Y.dtype))


@ct.kernel
def gathered_square(X, Y, rows: Const, columns: Const):
    """Loads by pointers."""
    i, j = ct.bid(0) * rows + ct.arange(rows, dtype=ct.int32), ct.arange(columns, dtype=ct.int32)
    x = ct.gather(X, (i[:, None], j[None, :])).astype(ct.float32)
    ct.scatter(Y, (i[:, None], j[None, :]), (x * x).astype(Y.dtype))


@ct.kernel
def normalized(X, Y, rows: Const, columns: Const):
    """Rows are divided among warps."""
    x = ct.load(X, (ct.bid(0), 0), (rows, columns), padding_mode=ZERO).astype(ct.float32)
    ct.store(Y, (ct.bid(0), 0), (x - ct.max(x, axis=1, keepdims=True)).astype(Y.dtype))


KERNELS = (square, gathered_square, normalized)
SHAPES = ((1, 64), (1, 256), (1, 512), (2, 128), (8, 64), (16, 8))
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def arguments(shape: tuple[int, int]) -> list:
    x = np.random.default_rng(0).integers(-15, 16, (3 * shape[0], shape[1])).astype(np.float16)
    return [x, np.zeros(x.shape, np.float32), *shape]


@pytest.mark.parametrize("target", TARGETS)
@shapes
@kernels
def test_results(kernel, shape: tuple[int, int], target: str) -> None:
    args = arguments(shape)
    x = args[0].astype(np.float64)
    exact = x - x.max(axis=1, keepdims=True) if kernel is normalized else x * x
    for (found,) in run_everywhere(kernel, (3, 1, 1), args, [1], target=target, hints={}, seeds=(0, 1)):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("target", TARGETS)
@shapes
@pytest.mark.parametrize("kernel", [square, gathered_square], ids=lambda kernel: kernel.name)
def test_no_two_threads_square_the_same_element(kernel, shape: tuple[int, int], target: str) -> None:
    signature = Signature.from_arguments(kernel, arguments(shape))
    ptx = ct.compile(kernel, target=target, signature=signature, stop="ptx").ptx
    products = len(re.findall(r"mul.rn\S*f32 ", ptx)) + 2 * len(re.findall(r"mul.rn\S*f32x2 ", ptx))
    assert products == max(1, shape[0] * shape[1] // (WARPS * LANES))
