"""Multiplies of small tiles, of few elements along K, and of f64: each warp multiplies its fragments by mma.sync."""

from __future__ import annotations

import itertools
import re

import ml_dtypes
import numpy as np
import pytest
from compare import SEEDS, assert_within, matrix, product_tolerance, run_everywhere
from matrix_kernels import product

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
F16, F32, F64 = np.float16, np.float32, np.float64
# Whether A and B lie by column.
ORDERS = list(itertools.product((False, True), repeat=2))


@ct.kernel
def product_of_tf32(A, B, C, tm: Const, tn: Const, tk: Const):
    acc = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        acc = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), acc)
    ct.store(C, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def scaled_decode(A, B, S, C, tm: Const, tn: Const, tk: Const):
    """The accumulator is multiplied by a scale of each row in every step, and reduced by rows at the end."""
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a, b = ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, ct.bid(0)), (tk, tn))
        acc = ct.mma(a + a, b, acc * ct.load(S, (0, 0), (tm, 1)))
    ct.store(C, (0, ct.bid(0)), acc - ct.sum(acc, axis=1, keepdims=True))


def operands(random: np.random.Generator, shape: tuple[int, int, int], dtype: type, orders: tuple[bool, bool]):
    M, N, K = shape
    if dtype in (F16, BF16, F32):
        return matrix(random, (M, K), dtype, orders[0]), matrix(random, (K, N), dtype, orders[1])
    low = 0 if dtype == np.uint8 else -8
    a, b = random.integers(low, 9, (M, K)), random.integers(low, 9, (K, N))
    return tuple(
        np.array(values.astype(dtype), order="F" if by_column else "C")
        for values, by_column in zip((a, b), orders, strict=True)
    )


def check(shape, tile, dtype, result, orders, target, kernel=product, hints=None, seeds=(0,)) -> str:
    """Compares C with numpy: exactly for integers (also as f64 and f8), else within rounding; returns the PTX."""
    M, N, _ = shape
    a, b = operands(np.random.default_rng([*shape]), shape, dtype, orders)
    c = np.zeros((M, -(-N // 16) * 16), result)[:, :N]
    exact = a.astype(F64) @ b.astype(F64)
    tolerance: object = 0.0
    if dtype in (F16, BF16, F32):
        bits = 10 if kernel is product_of_tf32 else None
        tolerance = product_tolerance(a.astype(F64), b.astype(F64), exact, result, operand_bits=bits)
    grid, args = (-(-M // tile[0]), -(-N // tile[1])), (a, b, c, *tile)
    for (found,) in run_everywhere(kernel, grid, args, (2,), target=target, hints=hints or {}, seeds=seeds):
        assert_within(found, exact, tolerance)
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), hints=hints)
    return compiled.ptx


DECODE_ROWS = (1, 8, 16, 32)
# Type of operands, of the accumulator, tile of K.
TYPES = {
    "f16": (F16, F32, 64),
    "bf16": (BF16, F32, 64),
    "e4m3": (E4M3, F32, 64),
    "e5m2-f16": (E5M2, F16, 32),
    "i8": (np.int8, np.int32, 64),
    "f64": (F64, F64, 16),
}


def _unit_of_few_rows(name: str, target: str) -> str:
    """The operands change sides where the unit multiplies their type, wgmma the right one along N too."""
    if name == "f64":
        return "mma.sync.aligned.m16n8k"
    if target == "sm_100a":
        return "tcgen05.mma"
    return "wgmma.mma_async" if name in ("f16", "bf16") else "mma.sync.aligned.m16n8k"


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("rows", DECODE_ROWS)
def test_decode(rows, name, target):
    """Few rows times a large matrix, which lies by row or by column; the last tiles are partial."""
    dtype, result, depth = TYPES[name]
    for by_column in (False, True):
        ptx = check((rows, 208, 5 * depth // 2), (rows, 64, depth), dtype, result, (False, by_column), target)
        assert _unit_of_few_rows(name, target) in ptx and "fma.rn" not in ptx


@pytest.mark.parametrize("rows", DECODE_ROWS)
def test_decode_with_twenty_seeds(rows, target):
    check((rows, 128, 320), (rows, 64, 64), F16, F32, (False, False), target, seeds=SEEDS)


@pytest.mark.parametrize("tile", [(32, 32, 32), (64, 64, 16), (16, 8, 4), (8, 16, 8)], ids=str)
@pytest.mark.parametrize("orders", ORDERS, ids=str)
def test_f64(orders, tile, target):
    ptx = check((64, 48, 40), tile, F64, F64, orders, target)
    assert f"m16n8k{min(tile[2], 16)}.row.col.f64.f64.f64.f64" in ptx


def test_f64_with_twenty_seeds(target):
    check((64, 64, 96), (32, 32, 16), F64, F64, (False, False), target, seeds=SEEDS)


@pytest.mark.parametrize("tma", [True, False], ids=["tma", "registers"])
@pytest.mark.parametrize("orders", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", [F16, BF16, F32, E4M3, np.uint8], ids=lambda dtype: dtype.__name__)
def test_tiles_of_32(dtype, orders, tma, target):
    result = {np.uint8: np.int32}.get(dtype, F32)
    kernel = product_of_tf32 if dtype == F32 else product
    ptx = check((48, 64, 96), (32, 32, 32), dtype, result, orders, target, kernel, {"tma": tma})
    # 32-bit elements that are contiguous along M or N are loaded one by one. Tiles from registers lie along K, but for
    # elements of 16 bits, which lie as in the array.
    assert ("ldmatrix" in ptx) == (dtype != F32 or orders != (True, False) or not tma)
    lies_as_array = dtype != F32 and (tma or dtype in (F16, BF16))
    assert bool(re.search(r"ldmatrix\S*\.trans", ptx)) == (lies_as_array and orders != (False, True))


def test_tiles_of_32_with_twenty_seeds(target):
    check((64, 64, 160), (32, 32, 32), F16, F32, (False, False), target, seeds=SEEDS)


# Type of operands, least depth of an instruction.
SMALL_DEPTHS = {F16: 8, BF16: 8, E4M3: 16, np.int8: 16, F64: 4}


@pytest.mark.parametrize("dtype", SMALL_DEPTHS, ids=lambda dtype: dtype.__name__)
def test_least_depth(dtype, target):
    depth = SMALL_DEPTHS[dtype]
    result = {np.int8: np.int32, F64: F64}.get(dtype, F32)
    ptx = check((128, 64, 3 * depth), (128, 64, depth), dtype, result, (False, False), target)
    assert f"m16n8k{depth}.row.col" in ptx


@pytest.mark.parametrize("warps", [8, 16])
@pytest.mark.parametrize("tile", [(16, 16, 32), (32, 64, 32), (4, 32, 32)], ids=str)
def test_more_warps_than_fragments(tile, warps, target):
    check((64, 64, 64), tile, F16, F32, (False, False), target, hints={"warps": warps})


@pytest.mark.parametrize("rows", DECODE_ROWS)
def test_accumulator_is_used_in_the_loop_and_after_it(rows, target):
    random = np.random.default_rng(rows)
    a, b = random.integers(-2, 3, (rows, 96)).astype(F16), random.integers(-2, 3, (96, 64)).astype(F16)
    scale = random.integers(1, 3, (rows, 1)).astype(F32)
    exact = np.zeros((rows, 64))
    for k in range(0, 96, 32):
        exact = exact * scale + 2 * (a[:, k : k + 32].astype(F64) @ b[k : k + 32].astype(F64))
    # A tile of 32 columns is reduced by itself.
    exact = exact.reshape(rows, 2, 32)
    exact = (exact - exact.sum(2, keepdims=True)).reshape(rows, 64)
    args = (a, b, scale, np.zeros((rows, 64), F32), rows, 32, 32)
    for (found,) in run_everywhere(scaled_decode, (2,), args, (3,), target=target, hints={}, seeds=range(3)):
        np.testing.assert_array_equal(found, exact)
