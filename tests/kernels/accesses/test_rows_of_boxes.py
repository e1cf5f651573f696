"""Rows that threads hold in other than row-major order: TMA stores them in few boxes, and they equal numpy's."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.lowering.model.constants import device_of
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
TARGETS = ("sm_100a", "sm_90a")
SIZE = 1024


@ct.kernel
def interleaved(X, Y, Z, rows: Const, size: Const):
    """Columns 2 j and 2 j + 1 of Z are columns j of X and Y."""
    i, j = ct.bid(0), ct.bid(1)
    x = ct.load(X, (i, j), (rows, size), padding_mode=ZERO).reshape((rows, size, 1))
    y = ct.load(Y, (i, j), (rows, size), padding_mode=ZERO).reshape((rows, size, 1))
    ct.store(Z, (i, j), ct.cat((x, y), axis=2).reshape((rows, 2 * size)))


def arguments(dtype, rows: int, count: int = 5, columns: int = SIZE + 48) -> list:
    x, y = (np.random.default_rng(seed).integers(-99, 99, (count, columns)).astype(dtype) for seed in (0, 1))
    return [x, y, np.zeros((count, 2 * columns), dtype), rows, SIZE]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, ml_dtypes.bfloat16])
def test_interleaved_columns(dtype, rows: int, target: str) -> None:
    args = arguments(dtype, rows)
    x, y, z, *_ = args
    expected = np.stack([x, y], axis=2).reshape(z.shape)
    grid = (math.ceil(len(x) / rows), 2, 1)
    for (found,) in run_everywhere(interleaved, grid, args, [2], target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_tma_issues_the_boxes_before_memory_has_read_and_written_the_rows(rows: int, target: str) -> None:
    args, device = arguments(np.float16, rows, 16, 4 * SIZE), device_of(target)
    compiled = ct.compile(interleaved, target=target, signature=Signature.from_arguments(interleaved, args), stop="ptx")
    boxes, size_bytes = compiled.ptx.count("cp.async.bulk.tensor.2d.global"), rows * 2 * SIZE * 2
    assert boxes * device.tma_issue_cycles <= 2 * size_bytes / device.hbm_bytes_per_cycle
