"""Products on sm_90a whose operands are both stored by threads: wgmma reads them while threads store the next ones.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Extent = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
TARGET = "sm_90a"
# A wait that leaves the multiply of this iteration in flight.
IN_FLIGHT = re.compile(r"wgmma\.wait_group\.sync\.aligned 1;")


@ct.kernel
def gradient_of_weights(X, DY, DW, tm: Extent, tn: Extent, tk: Extent, is_tf32: ct.Constant[bool]):
    """X^T times DY: no operand has its depth along rows, as wgmma needs it for types other than 16-bit floats."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(X, 0, (tk, tm))):
        x = ct.load(X, (k, i), (tk, tm), padding_mode=ZERO)
        dy = ct.load(DY, (k, j), (tk, tn), padding_mode=ZERO)
        if is_tf32:
            x, dy = x.astype(ct.tfloat32), dy.astype(ct.tfloat32)
        total = ct.mma(ct.transpose(x), dy, total)
    ct.store(DW, (i, j), total)


@ct.kernel
def of_computed_operands(X, DY, DW, tm: Extent, tn: Extent, tk: Extent, is_tf32: ct.Constant[bool]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(X, 0, (tk, tm))):
        x = ct.load(X, (k, i), (tk, tm), padding_mode=ZERO).astype(ct.float16) * 2
        dy = ct.load(DY, (k, j), (tk, tn), padding_mode=ZERO).astype(ct.float16) + 1
        if k % 2 == 0:
            total = ct.mma(ct.transpose(x), dy, total)
    ct.store(DW, (i, j), total)


def integers(*shape: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(shape).integers(-3, 4, shape).astype(dtype)


CASES = [("tf32", np.float32, 32), ("f8", ml_dtypes.float8_e4m3fn, 64)]


@pytest.mark.parametrize("depth", [0, 1, 3, 5])
@pytest.mark.parametrize("tile", [(64, 64), (128, 128)])
@pytest.mark.parametrize(("name", "dtype", "tk"), CASES, ids=[case[0] for case in CASES])
def test_gradient_of_weights(name: str, dtype: Any, tk: int, tile: tuple[int, int], depth: int) -> None:
    """The depth is that many tiles, the last one in part."""
    rows = max(depth * tk - 16, 0)
    x, dy = integers(rows, 144, dtype=dtype), integers(rows, 80, dtype=dtype)
    args = (x, dy, np.ones((144, 80), np.float32), *tile, tk, name == "tf32")
    grid = (-(-144 // tile[0]), -(-80 // tile[1]))
    expected = x.astype(np.float32).T @ dy.astype(np.float32)
    for (found,) in run_everywhere(gradient_of_weights, grid, args, (2,), target=TARGET, hints={}, seeds=range(3)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_multiplies_of_some_iterations(depth: int) -> None:
    x, dy = integers(depth * 32, 64, dtype=np.float32), integers(depth * 32, 64, dtype=np.float32)
    args = (x, dy, np.ones((64, 64), np.float32), 64, 64, 32, False)
    parts = [slice(k * 32, k * 32 + 32) for k in range(0, depth, 2)]
    expected = sum((2 * x[part]).T @ (dy[part] + 1) for part in parts)
    for (found,) in run_everywhere(of_computed_operands, (1, 1), args, (2,), target=TARGET, hints={}, seeds=range(3)):
        np.testing.assert_array_equal(found, expected)


def test_the_next_operands_are_stored_beside_a_multiply() -> None:
    """Products of f8 are added in parts, for which threads wait."""
    args = (*(integers(64, 128, dtype=np.float32) for _ in range(2)), np.zeros((128, 128), np.float32))
    signature = Signature.from_arguments(gradient_of_weights, (*args, 128, 128, 32, True))
    made = ct.compile(gradient_of_weights, signature=signature, target=TARGET, stop="ptx")
    assert IN_FLIGHT.search(made.ptx)
