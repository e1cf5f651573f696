"""Arrays whose tensor map would violate a rule run all the same: the rules that the values of a launch can violate.

The cases have the names of the rules; docs/tensor_maps.md shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import ml_dtypes
import numpy as np
import pytest

import tilec as ct

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


@ct.kernel
def packed(x, y, z):
    """The product of 64 rows of floats of 4 bits and 64 columns."""
    view = ct.packed_view(x, dtype=ct.float4_e2m1fn, tile=(64, 128))
    total = ct.zeros((64, 64), ct.float32)
    for k in range(view.num_tiles(1)):
        total = ct.mma(view.load((0, k)), ct.load(y, (0, k), (64, 128), padding_mode=ZERO).transpose(), total)
    ct.store(z, (0, 0), total)


@pytest.mark.parametrize("columns", [160, 256])
def test_rows_of_padded_types(columns: int, target: str) -> None:
    """TMA unpacks multiples of 128 elements, if that and the address are in the signature; else threads do."""
    random = np.random.default_rng(columns)
    left = random.choice(np.array([0, 0.5, 1, -1, 2, -3], np.float32), (64, columns))
    right = random.integers(-2, 3, (64, columns)).astype(np.float32)
    x, z = aligned(64, columns // 4).view(np.uint8), np.zeros((64, 64), np.float32)
    x[...] = ct.pack_rows(left, ct.float4_e2m1fn)
    arguments = (x, right.astype(ml_dtypes.float8_e4m3fn), z)
    given, *others = ct.Signature.from_arguments(packed, arguments).arguments
    divisors = {"shape_divisors": (1, 16 if columns % 128 else 64), "stride_divisors": (16 if columns % 64 else 32, 1)}
    known = replace(given, alignment=32, **divisors)
    for first, unpacks in ((given, False), (known, target == "sm_100a" and columns % 128 == 0)):
        signature = ct.Signature((first, *others))
        kernel = ct.compile(packed, target=target, signature=signature, stop="ptx")
        maps = [recipe.element for recipe in kernel.metadata.tensor_maps]
        assert ("u4_align16b" in maps) == unpacks
        for backend in ("interpret", "simulate"):
            z[...] = -1
            ct.run(kernel, (1,), arguments, backend=backend)
            np.testing.assert_array_equal(z, left @ right.T, backend)
