"""Arrays whose tensor map would violate a rule run all the same: the rules that the values of a launch can violate.

The cases have the names of the rules; docs/tensor_maps.md shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
import pytest

import tilec as ct
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.lowering.tile_to_gpu.access.tensor_maps import MOVED_AS
from tilec.lowering.tma.tensor_map import ELEMENTS

ZERO = ct.PaddingMode.ZERO


Wide = ct.IndexedWithInt64[ct.Array]
WideOfKnownExtents = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0, 1, 2), index_dtype=ct.int64)]


def _product(x, y, first):
    """The product of 64 rows of the first matrix of x, from the tile `first` on, and y."""
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.cdiv(y.shape[0], 64)):
        a = ct.load(x, (0, first, k), (1, 64, 64), padding_mode=ZERO).reshape((64, 64))
        total = ct.mma(a, ct.load(y, (k, 0), (64, 64), padding_mode=ZERO), total)
    return total


@ct.kernel
def narrow(x, y, z, first: int):
    ct.store(z, (0, 0), _product(x, y, first))


@ct.kernel
def wide(x: Wide, y, z, first: int):
    ct.store(z, (0, 0), _product(x, y, first))


@ct.kernel
def wide_of_known_extents(x: WideOfKnownExtents, y, z, first: int):
    ct.store(z, (0, 0), _product(x, y, first))


def aligned(*shape: int) -> np.ndarray:
    """Small integers at an address that is a multiple of 128 bytes."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 64, np.float16)
    start = -memory.ctypes.data % 128 // 2
    array = memory[start : start + size].reshape(shape)
    array[...] = np.arange(size).reshape(shape) % 5 - 2
    return array


def shifted() -> np.ndarray:
    return aligned(64 * 64 + 8)[1 : 1 + 64 * 64].reshape(1, 64, 64)


def batch_of_far_matrices() -> np.ndarray:
    """Two matrices that are 2**40 bytes apart; the second one has no memory, and the kernel does not read it."""
    return np.lib.stride_tricks.as_strided(aligned(64, 64), (2, 64, 64), (2**40, 128, 2))


def repeated(rows: int) -> np.ndarray:
    return np.broadcast_to(aligned(1, 1, 64), (1, rows, 64))


# By rule: the array, the kernel, and the tile of rows that is read.
CASES: dict[str, tuple[Callable[[], np.ndarray], ct.Kernel, int]] = {
    "base_alignment": (shifted, narrow, 0),
    "extent_range: 0": (lambda: aligned(1, 0, 64), narrow, 0),
    "extent_range: 2**32 + 64": (lambda: repeated(2**32 + 64), wide, 2**26),
    "large_extent": (lambda: repeated(2**31 + 64), wide, 2**25),
    "stride_range: 130 bytes": (lambda: aligned(1, 64, 65)[:, :, :64], narrow, 0),
    "stride_range: 2**40 bytes": (batch_of_far_matrices, wide_of_known_extents, 0),
    "broadcast": (lambda: repeated(64), narrow, 0),
}


@pytest.mark.parametrize("rule", CASES)
def test_launch_runs(rule: str, target: str) -> None:
    made, kernel, first = CASES[rule]
    x, y = made(), aligned(64, 64)
    rows = x[0, 64 * first : 64 * first + 64].astype(np.float32)
    expected = np.zeros((64, 64), np.float32)
    expected[: len(rows)] = rows @ y.astype(np.float32)
    for backend, options in [("interpret", {}), ("simulate", {"target": target})]:
        z = np.full((64, 64), -1, np.float32)
        ct.launch(None, 1, kernel, (x, y, z, first), backend=backend, **options)
        np.testing.assert_array_equal(z, expected, backend)


def test_maps_of_kernels_have_no_padded_elements() -> None:
    """Their innermost extent would be a multiple of 128 elements: rule packed_extent."""
    moved = {MOVED_AS.get(name, name) for name in ELEMENT_BITS}
    assert {name: ELEMENTS[name].group for name in moved if name in ELEMENTS and ELEMENTS[name].group > 1} == {}
