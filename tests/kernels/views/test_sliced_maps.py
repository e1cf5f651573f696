"""Slices of arrays by TMA: one tensor map for all slices, whose bounds end at the end of each slice.

Rows beside a slice are NaN where a kernel loads, and must keep their values where it stores.
"""

from __future__ import annotations

import itertools
import mmap
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

ZERO = ct.PaddingMode.ZERO
LOAD, STORE = "cp.async.bulk.tensor.{}d.shared::", "cp.async.bulk.tensor.{}d.global.shared::cta"
ROWS, DEPTH, COLUMNS = 64, 32, 64


@ct.kernel
def grouped(A, B, C, S, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """C[s[g]:s[g+1]] = A[s[g]:s[g+1]] @ B[g], where the rows of a group end at any row of a tile."""
    g, i, j = ct.bid(0), ct.bid(1), ct.bid(2)
    start, stop = ct.load(S, 2 * g, 1).item(), ct.load(S, 2 * g + 1, 1).item()
    if i * TM < stop - start:
        a_rows, c_rows = A.slice(0, start, stop), C.slice(0, start, stop)
        total = ct.zeros((TM, TN), ct.float32)
        for k in range(ct.num_tiles(A, 1, (TM, TK))):
            a = ct.load(a_rows, (i, k), (TM, TK), padding_mode=ZERO)
            b = ct.load(B, (g, k, j), (1, TK, TN), padding_mode=ZERO).reshape((TK, TN))
            total = ct.mma(a, b, total)
        ct.store(c_rows, (i, j), total.astype(C.dtype))


def simulate(kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], target: str) -> str:
    """The PTX, after a run in the simulator."""
    signature = Signature.from_arguments(kernel, arguments)
    compiled = ct.compile(kernel, target=target, signature=signature, stop="ptx")
    ct.run(compiled, grid, arguments, backend="simulate")
    return compiled.ptx


@pytest.mark.parametrize("size", [1, 7, 63, 64, 65])
@pytest.mark.parametrize(("start", "dtype"), [(0, np.int32), (1, np.int64), (5, np.int32), (64, np.int32)])
def test_rows_beside_a_slice_are_neither_read_nor_written(
    start: int, dtype: type, size: int, target: str, random: np.random.Generator
) -> None:
    total = 140
    a = np.full((total, DEPTH), np.nan, np.float16)
    a[start : start + size] = random.integers(-3, 4, (size, DEPTH))
    b = random.integers(-3, 4, (1, DEPTH, COLUMNS)).astype(np.float16)
    c = np.full((total, COLUMNS), 9, np.float16)
    bounds = np.array([start, start + size], dtype)
    ptx = simulate(grouped, (1, 3, 1), (a, b, c, bounds, ROWS, COLUMNS, DEPTH), target)
    assert LOAD.format(4) in ptx and STORE.format(4) in ptx
    expected = np.full((total, COLUMNS), 9, np.float32)
    expected[start : start + size] = a[start : start + size].astype(np.float32) @ b[0].astype(np.float32)
    np.testing.assert_array_equal(c, expected)


# A flag of Linux, which Python 3.11 does not name.
MAP_NORESERVE = 0x4000
MOST_ROWS = 2**31 - 1


@ct.kernel
def one_tile(A, B, C, S):
    """Tile S[2] of the rows S[0] to S[1] of A, times B."""
    start, stop, first = ct.load(S, 0, 1).item(), ct.load(S, 1, 1).item(), ct.load(S, 2, 1).item()
    rows, total = A.slice(0, start, stop), ct.zeros((64, 64), ct.float32)
    for k in range(ct.num_tiles(A, 1, (64, 16))):
        total = ct.mma(ct.load(rows, (first, k), (64, 16), padding_mode=ZERO), ct.load(B, (k, 0), (16, 64)), total)
    ct.store(C, (0, 0), total)


def test_slices_of_the_longest_array(target: str, random: np.random.Generator) -> None:
    """All starts and extents below 2**31 are exact; the memory of the array has no pages but those that are used."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    a = np.frombuffer(mmap.mmap(-1, MOST_ROWS * 32, flags=flags), np.float16).reshape(MOST_ROWS, 16)
    b = random.integers(-3, 4, (16, 64)).astype(np.float16)
    for start, stop, first in [
        (0, MOST_ROWS, 0),
        (0, MOST_ROWS, MOST_ROWS // 64),
        (MOST_ROWS - 100, MOST_ROWS, 1),
        (2**30 - 10, 2**30 + 90, 1),
        (2**30, MOST_ROWS, (MOST_ROWS - 2**30) // 64),
        (2**30 - 1, 2**30 + 1, 0),
        (MOST_ROWS, MOST_ROWS, 0),
        (MOST_ROWS - 1, MOST_ROWS, 0),
    ]:
        at = start + 64 * first
        near = np.arange(max(0, at - 70), min(MOST_ROWS, at + 140))
        inside = (start <= near) & (near < stop)
        a[near] = np.where(inside[:, None], random.integers(-3, 4, (len(near), 16)), np.nan)
        exact = np.zeros((64, 64))
        rows = a[at : min(at + 64, stop)].astype(np.float64)
        exact[: len(rows)] = rows @ b
        c = np.zeros((64, 64), np.float32)
        ptx = simulate(one_tile, (1,), (a, b, c, np.array([start, stop, first], np.int32)), target)
        assert LOAD.format(4) in ptx
        np.testing.assert_array_equal(c, exact)


@ct.kernel
def depths(A, B, C, S, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """C[g] = A[:, s[g]:s[g+1]] @ B[s[g]:s[g+1]], with starts and stops at multiples of 16 bytes."""
    g = ct.bid(0)
    start = ct.assume_divisible_by(ct.load(S, g, 1).item(), 16)
    stop = ct.assume_divisible_by(ct.load(S, g + 1, 1).item(), 16)
    a, b, total = A.slice(1, start, stop), B.slice(0, start, stop), ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(stop - start, TK)):
        left = ct.load(a, (0, k), (TM, TK), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (k, 0), (TK, TN), padding_mode=ZERO), total)
    ct.store(C, (g, 0, 0), total.reshape((1, TM, TN)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("bounds", [(0, 16, 48, 176), (16, 16, 144, 160), (32, 96, 160, 208)])
def test_slices_along_adjacent_elements(
    bounds: tuple[int, ...], dtype: type, target: str, random: np.random.Generator
) -> None:
    """The depth of each group ends within a tile; what follows is not read, as it is infinite."""
    a, b = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((64, 256), (256, 64)))
    outside = np.r_[: bounds[0], bounds[-1] : 256]
    a[:, outside], b[outside] = np.nan, np.nan
    exact = np.stack([a[:, i:j].astype(np.float64) @ b[i:j] for i, j in itertools.pairwise(bounds)])
    arguments = a.astype(dtype), b.astype(dtype), np.zeros((3, 64, 64), np.float32), np.array(bounds, np.int32)
    kernel_arguments = (*arguments, 64, 64, 128)
    for (result,) in run_everywhere(depths, (3,), kernel_arguments, (2,), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(result, exact)
    ptx = simulate(depths, (3,), kernel_arguments, target)
    # wgmma reads B of 8 bits along K only.
    loads = 1 if dtype != np.float16 and target == "sm_90a" else 2
    assert len(set(re.findall(r"(?<=cp\.async\.bulk\.tensor\.4d\.shared)\S* \[\S+, \[(\S+),", ptx))) == loads


@ct.kernel
def heads(A, B, C, S, TM: ct.Constant[int], TK: ct.Constant[int]):
    """Rows of a group of slices of slices, and the columns of a head, whose number the kernel does not know."""
    g, h = ct.bid(0), ct.bid(1)
    outer, start, stop = ct.load(S, 0, 1).item(), ct.load(S, g, 1).item(), ct.load(S, g + 1, 1).item()
    a = A.slice(0, outer, A.shape[0]).slice(0, start, stop).slice(1, h * TK, (h + 1) * TK)
    c = C.slice(1, h * TK, (h + 1) * TK).slice(0, start, C.shape[0]).slice(0, 0, stop - start)
    for i in range(ct.cdiv(stop - start, TM)):
        total = ct.zeros((TM, TK), ct.float32)
        for k in range(ct.num_tiles(B, 1, (1, TK // 2, TK))):
            left = ct.load(a, (i, k), (TM, TK // 2), padding_mode=ZERO)
            total = ct.mma(left, ct.load(B, (h, k, 0), (1, TK // 2, TK)).reshape((TK // 2, TK)), total)
        ct.store(c, (i, 0), total.astype(C.dtype))


@pytest.mark.parametrize("bounds", [(3, 60, 130), (5, 5, 70), (1, 66, 66)])
def test_slices_of_slices_along_both_axes(bounds: tuple[int, ...], target: str, random: np.random.Generator) -> None:
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((160, 128), (2, 64, 64)))
    exact = np.full((160, 128), 9, np.float32)
    inside = np.zeros(160, bool)
    for start, stop in itertools.pairwise(bounds):
        rows = slice(bounds[0] + start, bounds[0] + stop)
        inside[rows] = True
        for h, columns in enumerate((slice(0, 64), slice(64, 128))):
            exact[start:stop, columns] = a[rows, columns].astype(np.float64) @ b[h]
    a[~inside] = np.nan
    arguments = a, b, np.full((160, 128), 9, np.float16), np.array(bounds, np.int32), 64, 64
    for (result,) in run_everywhere(heads, (2, 2), arguments, (2,), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(result, exact)
    ptx = simulate(heads, (2, 2), arguments, target)
    assert LOAD.format(5) in ptx and STORE.format(5) in ptx


@ct.kernel
def far_tile(A, B, C, S):
    """The product of a tile far after the end of a slice is 0, and nothing of it is stored."""
    start, stop, far = ct.load(S, 0, 1).item(), ct.load(S, 1, 1).item(), ct.load(S, 2, 1).item()
    a, c, total = A.slice(0, start, stop), C.slice(0, start, stop), ct.zeros((64, 64), ct.float32)
    for k in range(ct.num_tiles(A, 1, (64, 16))):
        total = ct.mma(ct.load(a, (far, k), (64, 16), padding_mode=ZERO), ct.load(B, (k, 0), (16, 64)), total)
    ct.store(c, (far, 0), (total + 1).astype(C.dtype))


@pytest.mark.parametrize("far", [1, 2**25 - 1, 2**25, 2**31 - 1])
def test_tiles_after_the_end_of_a_slice(far: int, target: str) -> None:
    a, b, c = np.full((80, 16), np.nan, np.float16), np.ones((16, 64), np.float16), np.full((80, 64), 9, np.float16)
    ptx = simulate(far_tile, (1,), (a, b, c, np.array([7, 9, far], np.int32)), target)
    assert STORE.format(4) in ptx
    assert (c == 9).all()
