"""Masks of operands split a loop where the cost model finds that TMA feeds the multiplies of the other part faster."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
DEPTH, ROWS, COLUMNS, WIDTH = 300, 300, 72, 80
LIMIT = 201


@ct.kernel
def lower(A, B, C, limit, M: Const, N: Const, K: Const):
    """A triangular left operand; the loop ends at the diagonal."""
    i = ct.bid(0)
    total = ct.zeros((M, N), ct.float32)
    row = i * M + ct.arange(M, dtype=ct.int32)[:, None]
    for k in range(ct.cdiv((i + 1) * M, K)):
        a = ct.load(A, (i, k), (M, K), padding_mode=ZERO)
        a = ct.where(row >= k * K + ct.arange(K, dtype=ct.int32)[None, :], a, ct.zeros((M, K), A.dtype))
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (i, ct.bid(1)), total)


@ct.kernel
def lower_of_all(A, B, C, limit, M: Const, N: Const, K: Const):
    """Another wording, without an end at the diagonal."""
    total = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(A, 1, (M, K))):
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        column = ct.arange(K, dtype=ct.int32) + k * K
        is_above = column[None, :] > (ct.arange(M, dtype=ct.int32) + ct.bid(0) * M)[:, None]
        b = ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        total = ct.mma(ct.where(is_above, 0, a), b, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def upper(A, B, C, limit, M: Const, N: Const, K: Const):
    """The iterations with a mask are the first ones."""
    i = ct.bid(0)
    total = ct.zeros((M, N), ct.float32)
    for k in range(i * M // K, ct.num_tiles(A, 1, (M, K))):
        a = ct.load(A, (i, k), (M, K), padding_mode=ZERO)
        is_below = k * K + ct.arange(K, dtype=ct.int32)[None, :] < i * M + ct.arange(M, dtype=ct.int32)[:, None]
        a = ct.where(is_below, ct.zeros((M, K), A.dtype), a)
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (i, ct.bid(1)), total)


@ct.kernel
def transposed(A, B, C, limit, M: Const, N: Const, K: Const):
    """The mask is on the tile before it is transposed."""
    i = ct.bid(0)
    total = ct.zeros((M, N), ct.float32)
    for k in range(i * M // K, ct.num_tiles(A, 0, (K, M))):
        a = ct.load(A, (k, i), (K, M), padding_mode=ZERO)
        row = k * K + ct.arange(K, dtype=ct.int32)[:, None]
        a = ct.where(row >= i * M + ct.arange(M, dtype=ct.int32)[None, :], a, ct.zeros((K, M), A.dtype))
        total = ct.mma(a.transpose(), ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (i, ct.bid(1)), total)


@ct.kernel
def band(A, B, C, limit, M: Const, N: Const, K: Const):
    """Two masks, one of each end: three loops."""
    i = ct.bid(0)
    total = ct.zeros((M, N), ct.float32)
    row = i * M + ct.arange(M, dtype=ct.int32)[:, None]
    for k in range(ct.num_tiles(A, 1, (M, K))):
        column = k * K + ct.arange(K, dtype=ct.int32)[None, :]
        a = ct.load(A, (i, k), (M, K), padding_mode=ZERO)
        a = ct.where(column <= row + 200, a, ct.zeros((M, K), A.dtype))
        a = ct.where(column >= row - 200, a, ct.zeros((M, K), A.dtype))
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (i, ct.bid(1)), total)


@ct.kernel
def short_depth(A, B, C, limit, M: Const, N: Const, K: Const):
    """Both operands are masked at the end of the depth."""
    total = ct.zeros((M, N), ct.float32)
    for k in range(ct.cdiv(limit, K)):
        depth = k * K + ct.arange(K, dtype=ct.int32)
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        b = ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO)
        a, b = ct.where(depth[None, :] < limit, a, 0.0), ct.where(depth[:, None] < limit, b, 0.0)
        total = ct.mma(a, b, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def lower_by_difference(A, B, C, limit, M: Const, N: Const, K: Const):
    """Column numbers wrap if the limit is large enough."""
    total = ct.zeros((M, N), ct.float32)
    row = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)[:, None]
    for k in range(limit):
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        a = ct.where(row - (k * K + ct.arange(K, dtype=ct.int32)[None, :]) >= 0, a, ct.zeros((M, K), A.dtype))
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def lower_by_other_difference(A, B, C, limit, M: Const, N: Const, K: Const):
    total = ct.zeros((M, N), ct.float32)
    row = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)[:, None]
    for k in range(limit):
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        a = ct.where(k * K + ct.arange(K, dtype=ct.int32)[None, :] - row > 0, ct.zeros((M, K), A.dtype), a)
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def below_diagonal(A, B, C, limit, M: Const, N: Const, K: Const):
    """Sums with one, in place of a strict comparison, may wrap as well."""
    total = ct.zeros((M, N), ct.float32)
    row = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)[:, None]
    for k in range(limit):
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        a = ct.where(row >= k * K + ct.arange(K, dtype=ct.int32)[None, :] + 1, a, ct.zeros((M, K), A.dtype))
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


def within(a: np.ndarray, least: int, most: int) -> np.ndarray:
    row, column = np.indices(a.shape)
    return np.where((column - row >= least) & (column - row <= most), a, 0)


# The masked left operand of each kernel, and the loops that multiply on sm_100a.
KERNELS: dict[str, tuple[Any, Callable[[np.ndarray, int], np.ndarray], int]] = {
    "lower": (lower, lambda a, limit: np.tril(a), 2),
    "lower_of_all": (lower_of_all, lambda a, limit: np.tril(a), 2),
    "upper": (upper, lambda a, limit: np.triu(a), 2),
    "transposed": (transposed, lambda a, limit: np.tril(a).T, 2),
    "band": (band, lambda a, limit: within(a, -200, 200), 3),
    "short_depth": (short_depth, lambda a, limit: np.where(np.arange(DEPTH) < limit, a, 0), 2),
    "lower_by_difference": (lower_by_difference, lambda a, limit: np.tril(a), 2),
    "lower_by_other_difference": (lower_by_other_difference, lambda a, limit: np.tril(a), 2),
    "below_diagonal": (below_diagonal, lambda a, limit: np.tril(a, -1), 2),
}


def aligned(values: np.ndarray) -> np.ndarray:
    """The same elements in rows of a multiple of 16 bytes, which TMA needs."""
    padded = np.zeros((values.shape[0], -(-values.shape[1] // 8) * 8), values.dtype)
    padded[:, : values.shape[1]] = values
    return padded[:, : values.shape[1]]


def arguments(random: np.random.Generator, limit: int, tile: tuple[int, int, int]) -> tuple[Any, ...]:
    a, b = (aligned(random.integers(-3, 4, shape).astype(np.float16)) for shape in ((ROWS, DEPTH), (DEPTH, COLUMNS)))
    return a, b, np.zeros((ROWS, WIDTH), np.float32)[:, :COLUMNS], limit, *tile


def loops(kernel: Any, given: tuple[Any, ...], target: str) -> list[str]:
    """The loops that multiply, in Tile IR."""
    signature = Signature.from_arguments(kernel, given)
    compiled = ct.compile(kernel, target=target, signature=signature, stop="tile-opt")
    return [part for part in re.split(r"\bfor %", compiled.stage("tile-opt").text)[1:] if "mmaf" in part]


@pytest.mark.parametrize(
    ("name", "limit"), [*((name, LIMIT) for name in KERNELS), *(("short_depth", limit) for limit in (64, 300, 1, 0))]
)
def test_results(name: str, limit: int, target: str, random: np.random.Generator) -> None:
    """Parts without iterations, and tiles that extend beyond the arrays; all sums are exact."""
    kernel, masked, _ = KERNELS[name]
    given = arguments(random, limit, (128, 64, 64))
    exact = masked(given[0].astype(np.float64), limit) @ given[1].astype(np.float64)
    for (found,) in run_everywhere(kernel, (-(-ROWS // 128), 2), given, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("name", KERNELS)
def test_a_loop_has_no_mask(name: str, random: np.random.Generator) -> None:
    """The same division for each wording; the operands of a loop without a mask come by TMA."""
    kernel, _, count = KERNELS[name]
    given = arguments(random, LIMIT, (128, 128, 64))
    found = loops(kernel, given, "sm_100a")
    assert len(found) == count
    assert sum("select" not in loop.split("mmaf")[0] for loop in found) == 1
    signature = Signature.from_arguments(kernel, given)
    text = ct.compile(kernel, target="sm_100a", signature=signature, stop="gpu").stage("gpu").text
    # As many slots as the loop of a plain product has, but for those of the part with masks.
    slots = re.search(r"stages (\d+) producer tma consumers \[mma\]", text)
    assert slots is not None and int(slots[1]) >= 4


@ct.kernel
def wrapping(A, B, C, limit, M: Const, N: Const, K: Const, FIRST: Const, PITCH: Const, WORDING: Const):
    """Numbers of columns, or differences, wrap in some iterations, or in some elements of a tile."""
    total = ct.zeros((M, N), ct.float32)
    row = ct.bid(0) * M + ct.arange(M, dtype=ct.int32)[:, None]
    last = 2147483400 + ct.arange(M, dtype=ct.int32)[:, None]
    for k in range(FIRST, limit):
        a = ct.load(A, (ct.bid(0), k - FIRST), (M, K), padding_mode=ZERO)
        column = k * PITCH + ct.arange(K, dtype=ct.int32)[None, :]
        if WORDING == 0:
            mask = row >= column + 1
        elif WORDING == 1:
            mask = row - column >= 0
        elif WORDING == 2:
            mask = column - row <= 0
        elif WORDING == 3:
            mask = 2147483647 - k + ct.arange(K, dtype=ct.int32)[None, :] >= row
        elif WORDING == 4:
            mask = last - column >= 0
        elif WORDING == 5:
            mask = column - last <= 0
        elif WORDING == 6:
            mask = column >= row
        else:
            mask = column - row >= 0
        a = ct.where(mask, a, ct.zeros((M, K), A.dtype))
        total = ct.mma(a, ct.load(B, (k - FIRST, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


WRAPPING = [*((0, 2**30, wording) for wording in (0, 1, 2, 6, 7)), (0, 1, 3), (-3, 64, 4), (-3, 64, 5)]


@pytest.mark.parametrize(("first", "pitch", "wording"), WRAPPING)
def test_numbers_that_wrap(first: int, pitch: int, wording: int, target: str, random: np.random.Generator) -> None:
    given = (*arguments(random, first + 5, (128, 128, 64)), first, pitch, wording)
    row, place = np.indices((ROWS, DEPTH))
    step, last = first + place // 64, 2147483400 + row % 128
    column = step * pitch + place % 64
    left, right = [
        (row, column + 1), (row - column, 0), (0, column - row), (2**31 - 1 - step + place % 64, row),
        (last - column, 0), (0, column - last), (column, row), (column - row, 0),
    ][wording]  # fmt: skip
    # int32 numbers wrap, and so does the conversion.
    mask = np.asarray(left).astype(np.int32) >= np.asarray(right).astype(np.int32)
    exact = np.where(mask, given[0], 0).astype(np.float64) @ given[1].astype(np.float64)
    for (found,) in run_everywhere(wrapping, (-(-ROWS // 128), 1), given, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, exact)


@ct.kernel
def scaled(A, B, C, limit, M: Const, N: Const, K: Const):
    """Threads compute the operand in any case."""
    total = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(A, 1, (M, K))):
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO) * ct.float16(2)
        a = ct.where(k * K + ct.arange(K, dtype=ct.int32)[None, :] < limit, a, ct.zeros((M, K), A.dtype))
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def chosen_of_two(A, B, C, limit, M: Const, N: Const, K: Const):
    """The mask chooses between two loaded tiles."""
    total = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(A, 1, (M, K))):
        a = ct.load(A, (ct.bid(0), k), (M, K), padding_mode=ZERO)
        other = ct.load(A, (0, k), (M, K), padding_mode=ZERO)
        a = ct.where(k * K + ct.arange(K, dtype=ct.int32)[None, :] < limit, a, other)
        total = ct.mma(a, ct.load(B, (k, ct.bid(1)), (K, N), padding_mode=ZERO), total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@pytest.mark.parametrize("kernel", [scaled, chosen_of_two])
def test_other_loops_stay(kernel: Any, target: str, random: np.random.Generator) -> None:
    assert len(loops(kernel, arguments(random, LIMIT, (128, 128, 64)), target)) == 1
