"""Kernels whose accumulators do not fit the registers of sm_90a: the block computes parts of its tile in turn.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

DEPTH = 80


@ct.kernel
def product(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (64, tn), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def gated(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    """C = (A @ B[0]) * (A @ B[1] + the number of the column)."""
    first = ct.zeros((tm, tn), ct.float32)
    second = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, 64))):
        a = ct.load(A, (ct.bid(0), k), (tm, 64), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (0, k, ct.bid(1)), (1, 64, tn), padding_mode=ct.PaddingMode.ZERO)
        first = ct.mma(a, ct.reshape(b, (64, tn)), first)
        b = ct.load(B, (1, k, ct.bid(1)), (1, 64, tn), padding_mode=ct.PaddingMode.ZERO)
        second = ct.mma(a, ct.reshape(b, (64, tn)), second)
    numbers = ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn)).astype(ct.float32)
    ct.store(C, (ct.bid(0), ct.bid(1)), first * (second + numbers))


@ct.kernel
def right_in_place(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    """C = A @ C[:64]: rows of C that one part of the rows would write are read for all."""
    total = ct.mma(ct.load(A, (0, 0), (tm, 64)), ct.load(C, (0, 0), (64, tn)), ct.zeros((tm, tn), ct.float32))
    ct.store(C, (0, 0), total.astype(C.dtype))


@ct.kernel
def left_in_place(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    """C = C[:, :64] @ B: columns of C that one part of the columns would write are read for all."""
    total = ct.mma(ct.load(C, (0, 0), (tm, 64)), ct.load(B, (0, 0), (64, tn)), ct.zeros((tm, tn), ct.float32))
    ct.store(C, (0, 0), total.astype(C.dtype))


@ct.kernel
def printed(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    total = ct.mma(ct.load(A, (0, 0), (tm, 64)), ct.load(B, (0, 0), (64, tn)), ct.zeros((tm, tn), ct.float32))
    ct.printf("once")
    ct.store(C, (0, 0), total)


@ct.kernel
def in_turns(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    """Sums along the rows, so that no part of the rows is independent, and along the columns."""
    a = ct.load(A, (0, 0), (tm, 64), padding_mode=ct.PaddingMode.ZERO)
    total = ct.mma(a, ct.load(B, (0, 0), (64, tn), padding_mode=ct.PaddingMode.ZERO), ct.zeros((tm, tn), ct.float32))
    ct.store(C, (0, 0), ct.cumsum(ct.cumsum(total, axis=0), axis=1))


@ct.kernel
def returning(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int]):
    total = ct.mma(ct.load(A, (0, 0), (tm, 64)), ct.load(B, (0, 0), (64, tn)), ct.zeros((tm, tn), ct.float32))
    if ct.bid(0) > 0:
        return
    ct.store(C, (0, 0), total)


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(np.float16)


def remarks(kernel: object, args: tuple[object, ...], target: str) -> str:
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="gpu")
    return "\n".join(map(str, compiled.all_remarks))


def test_rows(random: np.random.Generator, target: str) -> None:
    """Two tiles of 256x256, whose last rows and columns are outside of the matrices."""
    a, b = integers(random, 300, DEPTH), integers(random, DEPTH, 200)
    args = a, b, np.full((300, 200), np.nan, np.float32), 256, 256
    for (found,) in run_everywhere(product, (2, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))
    assert ("the block computes the rows in 2 parts" in remarks(product, args, target)) == (target == "sm_90a")


def test_columns(random: np.random.Generator, target: str) -> None:
    """Two accumulators of 128x256: the columns of both, of what is added to one, and of the store are divided."""
    a, b = integers(random, 100, DEPTH), integers(random, 2, DEPTH, 300)
    args = a, b, np.full((100, 300), np.nan, np.float32), 128, 256
    first, second = (a.astype(np.float32) @ each.astype(np.float32) for each in b)
    expected = first * (second + np.arange(300) % 256)
    for (found,) in run_everywhere(gated, (1, 2), args, [2], target=target, hints={}):
        assert np.array_equal(found, expected)
    assert ("the block computes the columns in 2 parts" in remarks(gated, args, target)) == (target == "sm_90a")


@pytest.mark.parametrize(("kernel", "divided"), [(right_in_place, "columns"), (left_in_place, "rows")])
def test_memory_that_is_read_and_written(
    random: np.random.Generator, target: str, kernel: object, divided: str
) -> None:
    """The dimension is divided along which each part reads and writes elements of its own."""
    a, b, c = (integers(random, *shape) for shape in ((256, 64), (64, 256), (256, 256)))
    left, right = (a, c[:64]) if kernel is right_in_place else (c[:, :64], b)
    args = a, b, c, 256, 256
    for (found,) in run_everywhere(kernel, (1, 1), args, [2], target=target, hints={}):
        assert np.array_equal(found, (left.astype(np.float32) @ right.astype(np.float32)).astype(np.float16))
    assert (f"the block computes the {divided} in 2 parts" in remarks(kernel, args, target)) == (target == "sm_90a")


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (in_turns, "'scan' needs whole tiles"),
        (printed, "'print_tko' would run once for each part"),
        (returning, "an early 'return' ends all parts"),
    ],
)
def test_tile_that_cannot_be_divided(random: np.random.Generator, kernel: object, reason: str) -> None:
    """The remark has the reason and what to do."""
    args = integers(random, 256, 64), integers(random, 64, 256), np.zeros((256, 256), np.float32), 256, 256
    expected = f"the accumulators need 65536 of 65536 registers, so that values spill: {reason}; use a smaller tile"
    assert expected in remarks(kernel, args, "sm_90a")
