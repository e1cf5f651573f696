"""Stores of large matrix products in slices of columns: ends of tensors, element types, transposed and loaded tiles.

All sums are of small integers and exact, so every result equals numpy's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
# The second tiles lie partly beyond the ends of C, and so do slices of them.
M, N, K = 136, 336, 48


def product(A, B, row, column, tm, tn, tk, dtype):
    total = ct.zeros((tm, tn), dtype)
    for k in range(ct.cdiv(A.shape[1], tk)):
        a = ct.load(A, (row, k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, column), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    return total


@ct.kernel
def plain(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = product(A, B, row, column, tm, tn, tk, ct.float32)
    ct.store(C, (row, column), total.astype(C.dtype))


@ct.kernel
def until_the_last(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """The number of iterations is not known before the loop."""
    row, column = ct.bid(0), ct.bid(1)
    total, k = ct.zeros((tm, tn), ct.float32), 0
    while k * tk < A.shape[1]:
        a = ct.load(A, (row, k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, column), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
        k += 1
    ct.store(C, (row, column), total.astype(C.dtype))


@ct.kernel
def integers(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    ct.store(C, (row, column), product(A, B, row, column, tm, tn, tk, ct.int32))


@ct.kernel
def chained(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Adds a row that is loaded, multiplies by a comparison with the number of the column, and adds another tile."""
    row, column = ct.bid(0), ct.bid(1)
    total = product(A, B, row, column, tm, tn, tk, ct.float32)
    first = ct.load(D, (0, column), (1, tn), padding_mode=ct.PaddingMode.ZERO)
    whole = ct.load(D, (row, column), (tm, tn), padding_mode=ct.PaddingMode.ZERO)
    numbers = ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn)) + column * tn
    total = ct.where(numbers % 3 == 0, total + first.astype(ct.float32), -total)
    ct.store(C, (row, column), (total + whole.astype(ct.float32)).astype(C.dtype))


@ct.kernel
def transposed(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Stores the product twice: in D, and transposed in C."""
    row, column = ct.bid(0), ct.bid(1)
    total = product(A, B, row, column, tm, tn, tk, ct.float32)
    ct.store(D, (row, column), total.astype(D.dtype))
    ct.store(C, (column, row), ct.transpose(total * 2.0).astype(C.dtype))


@ct.kernel
def persistent(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    columns = ct.cdiv(B.shape[1], tn)
    for tile in range(ct.bid(0), ct.cdiv(A.shape[0], tm) * columns, ct.num_blocks(0)):
        total = product(A, B, tile // columns, tile % columns, tm, tn, tk, ct.float32)
        ct.store(C, (tile // columns, tile % columns), total.astype(C.dtype))


@ct.kernel
def persistent_from_ones(A, B, C):
    """C = (A + 1) @ B + 1 four times: threads write each accumulator where they have read slices of the one before."""
    for tile in range(4):
        total = ct.full((128, 64), 1, ct.float32)
        for _ in range(ct.num_tiles(A, 1, (128, 16))):
            total = ct.mma(ct.load(A, (0, 0), (128, 16)) + 1, ct.load(B, (0, 0), (16, 64)), total)
        ct.store(C, (tile, 0), total)


@ct.kernel
def overwritten(A, B, C, D, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Stores the sum after each step, so that the slices of a step overwrite those of the step before."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(A.shape[1], tk)):
        a = ct.load(A, (row, k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, column), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
        ct.store(C, (row, column), total.astype(C.dtype))


def whole_numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def chain(total: np.ndarray, D: np.ndarray) -> np.ndarray:
    total = np.where(np.arange(N) % 3 == 0, total + D[:1], -total)
    return total + D


def same(total: np.ndarray, D: np.ndarray) -> np.ndarray:
    return total


F8, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16
# By name: kernel, type of A and B, type of C, tile, grid, expected C.
CASES: dict[str, tuple[Any, Any, Any, tuple[int, int, int], tuple[int, int], Callable[..., np.ndarray]]] = {
    "f16": (plain, np.float16, np.float16, (128, 256, 32), (2, 2), same),
    "f32": (plain, np.float16, np.float32, (128, 128, 32), (2, 3), same),
    "loop": (until_the_last, np.float16, np.float16, (128, 256, 32), (2, 2), same),
    "f8": (plain, BF16, F8, (128, 256, 32), (2, 2), same),
    "256 rows": (plain, np.float16, np.float16, (256, 128, 32), (1, 3), same),
    "64 rows": (plain, np.float16, np.float32, (64, 128, 32), (3, 3), same),
    "i32": (integers, np.int8, np.int32, (128, 128, 32), (2, 3), same),
    "chained": (chained, np.float16, np.float16, (128, 256, 32), (2, 2), chain),
    "transposed": (transposed, np.float16, np.float32, (128, 256, 32), (2, 2), lambda total, D: 2 * total.T),
    "persistent": (persistent, np.float16, np.float16, (128, 256, 32), (2, 1), same),
}


HINTS: list[dict[str, Any]] = [{"warps": 8}, {"roles": False}, {"tma": False}]
RUNS = [*((name, {}) for name in CASES), *((name, hints) for name in ("f16", "256 rows") for hints in HINTS)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "hints"), RUNS, ids=str)
def test_every_element_is_stored_once(name: str, target: str, hints: dict[str, Any]) -> None:
    kernel, dtype, result, tile, grid, expected = CASES[name]
    A, B = whole_numbers(1, (M, K), dtype), whole_numbers(2, (K, N), dtype)
    D = whole_numbers(3, (M, N), np.float16)
    total = A.astype(np.float64) @ B.astype(np.float64)
    C = np.full(expected(total, D).shape, 99, result)
    made = run_everywhere(kernel, grid, (A, B, C, D, *tile), (2,), target=target, hints=hints)
    for (found,) in made:
        np.testing.assert_array_equal(found, expected(total, D).astype(result))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_slices_are_stored_by_tma(name: str, target: str) -> None:
    """The staging buffer of a slice has at most 16 KB, or one span of the swizzle in each of 256 rows."""
    kernel, dtype, result, tile, _, _ = CASES[name]
    A, B, D = np.zeros((M, K), dtype), np.zeros((K, N), dtype), np.zeros((M, N), np.float16)
    C = np.zeros((N, M) if kernel is transposed else (M, N), result)
    signature = Signature.from_arguments(kernel, (A, B, C, D, *tile))
    text = ct.compile(kernel, target=target, signature=signature, stop="gpu").gpu
    assert "tile_gpu.store_view" not in text and "tile_gpu.extract" not in text or target == "sm_90a"
    sizes = re.findall(r"tma_store .* : !shared_(\d+)x(\d+)x[a-z]+(\d+)", text)
    assert sizes
    assert all(int(a) * int(b) * int(bits) // 8 <= (32768 if tile[0] == 256 else 16384) for a, b, bits in sizes)


@pytest.mark.parametrize("target", TARGETS)
def test_slices_overwrite_those_before(target: str) -> None:
    A, B, D = whole_numbers(1, (M, K), np.float16), whole_numbers(2, (K, N), np.float16), np.zeros((M, N), np.float16)
    args = A, B, np.full((M, N), 99, np.float16), D, 128, 256, 16
    for (found,) in run_everywhere(overwritten, (2, 2), args, (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, A @ B)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("target", TARGETS)
def test_accumulators_of_threads_are_written_after_all_slices_of_the_one_before_are_read(
    target: str, warps: int
) -> None:
    A, B = whole_numbers(1, (128, 16), np.float16), whole_numbers(2, (16, 64), np.float16)
    C = np.zeros((512, 64), np.float32)
    compiled = ct.compile(
        persistent_from_ones,
        target=target,
        signature=Signature.from_arguments(persistent_from_ones, [A, B, C]),
        hints={"warps": warps},
    )
    ct.run(compiled, (1,), (A, B, C), backend="simulate")
    product = (A.astype(np.float32) + 1) @ B.astype(np.float32) + 1
    np.testing.assert_array_equal(C, np.tile(product, (4, 1)))
