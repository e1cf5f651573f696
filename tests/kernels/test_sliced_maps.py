"""Slices of arrays by TMA: one tensor map for all slices, whose bounds end at the end of each slice.

Rows beside a slice are NaN where a kernel loads, and must keep their values where it stores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.signature import Signature

ZERO = ct.PaddingMode.ZERO
LOAD, STORE = "cp.async.bulk.tensor.5d.shared::", "cp.async.bulk.tensor.5d.global.shared::cta"
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


def _simulate(kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], target: str) -> str:
    """The PTX, after a run in the simulator."""
    signature = Signature.from_arguments(kernel, arguments)
    compiled = ct.compile(kernel, target=target, signature=signature, stop="ptx")
    ct.run(compiled, grid, arguments, backend="simulate")
    return compiled.ptx


@pytest.mark.parametrize("size", [1, 7, 63, 64, 65])
@pytest.mark.parametrize("start", [0, 1, 5, 64])
def test_rows_beside_a_slice_are_neither_read_nor_written(start: int, size: int, target: str, random) -> None:
    total = 140
    a = np.full((total, DEPTH), np.nan, np.float16)
    a[start : start + size] = random.integers(-3, 4, (size, DEPTH))
    b = random.integers(-3, 4, (1, DEPTH, COLUMNS)).astype(np.float16)
    c = np.full((total, COLUMNS), 9, np.float16)
    bounds = np.array([start, start + size], np.int32)
    ptx = _simulate(grouped, (1, 3, 1), (a, b, c, bounds, ROWS, COLUMNS, DEPTH), target)
    assert ptx.count("cp.async.bulk.tensor.4d.shared::") and ptx.count("cp.async.bulk.tensor.4d.global.shared::cta")
    expected = np.full((total, COLUMNS), 9, np.float32)
    expected[start : start + size] = a[start : start + size].astype(np.float32) @ b[0].astype(np.float32)
    np.testing.assert_array_equal(c, expected)
