"""Kernels with num_ctas whose blocks have 64 rows of each multiply: sm_100a multiplies in pairs, sm_90a by multicast.

All numbers are small integers, so that every sum is exact in each type of accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

PAIR = "tcgen05.mma.cta_group::2"
ZERO = ct.PaddingMode.ZERO


def numbers(random: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    return random.integers(-2, 3, shape).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def compiled(kernel: Any, args: Sequence[Any], target: str, **hints: Any) -> Any:
    return ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), hints=hints)


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    acc = ct.zeros((tm, tn), ct.int32 if C.dtype == ct.int32 else ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (ct.bid(0), k), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (k, ct.bid(1)), (tk, tn), padding_mode=ZERO)
        if A.dtype == ct.float32:
            a, b = a.astype(ct.tfloat32), b.astype(ct.tfloat32)
        acc = ct.mma(a, b, acc)
    ct.store(C, (ct.bid(0), ct.bid(1)), acc.astype(C.dtype))


CASES = [
    (np.float16, np.float16, 256, False),
    (np.float16, np.float32, 128, True),
    (np.float16, np.float32, 32, True),
    (ml_dtypes.bfloat16, np.float32, 256, True),
    (ml_dtypes.float8_e4m3fn, np.float16, 256, True),
    (ml_dtypes.float8_e4m3fn, np.float32, 256, False),
    (np.float32, np.float32, 64, True),
    (np.int8, np.int32, 128, True),
]


@pytest.mark.parametrize(
    ("dtype", "result", "columns", "by_columns"), CASES, ids=[f"{np.dtype(c[0])}-{c[2]}-{c[3]:d}" for c in CASES]
)
def test_product(
    random: np.random.Generator, target: str, dtype: Any, result: Any, columns: int, by_columns: bool
) -> None:
    """Tiles with parts outside of the matrices, and a last step of K that is not whole."""
    depth = 128 // np.dtype(dtype).itemsize
    shape = 128 + 48, depth + depth // 2, columns + 16
    a, b = numbers(random, shape[:2], dtype), numbers(random, shape[1:], dtype)
    b = numbers(random, (shape[2], shape[1]), dtype).T if by_columns else b
    args = (a, b, np.full((shape[0], shape[2]), 7, result), 128, columns, depth)
    for (found,) in run_everywhere(matmul, (2, 2), args, [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found.astype(np.float64), product(a, b))
    if target == "sm_100a":
        assert PAIR in compiled(matmul, args, target, num_ctas=2).ptx


def test_two_pairs(random: np.random.Generator, target: str) -> None:
    a, b = numbers(random, (256, 128), np.float16), numbers(random, (128, 128), np.float16)
    args = (a, b, np.full((256, 128), np.nan, np.float32), 256, 128, 64)
    for (found,) in run_everywhere(matmul, (1, 1), args, [2], target=target, hints={"num_ctas": 4}):
        assert np.array_equal(found, product(a, b))
    if target == "sm_100a":
        assert PAIR in compiled(matmul, args, target, num_ctas=4).ptx


@pytest.mark.parametrize("hints", [{"roles": False, "pipeline": False}, {"warps": 8}], ids=str)
def test_other_roles_and_warps(random: np.random.Generator, target: str, hints: dict[str, Any]) -> None:
    a, b = numbers(random, (128, 128), np.float16), numbers(random, (128, 128), np.float16)
    args = (a, b, np.full((128, 128), np.nan, np.float32), 128, 128, 64)
    for (found,) in run_everywhere(matmul, (1, 1), args, [2], target=target, hints={"num_ctas": 2, **hints}):
        assert np.array_equal(found, product(a, b))


@ct.kernel
def persistent(A, B, C, bias, blocks: int, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """A bias per column, the maximum of each row, which is in two halves of the lanes, and the number of the row."""
    rows, columns = ct.num_tiles(C, 0, (tm, tn)), ct.num_tiles(C, 1, (tm, tn))
    for tile in range(ct.bid(0), rows * columns, blocks):
        i, j = tile // columns, tile % columns
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, 1, (tm, tk))):
            acc = ct.mma(ct.load(A, (i, k), (tm, tk)), ct.load(B, (k, j), (tk, tn)), acc)
        acc = ct.maximum(acc + ct.load(bias, (j,), (tn,)), 0)
        greatest = ct.max(acc, axis=1, keepdims=True)
        number = ct.reshape(ct.arange(tm, dtype=ct.int32), (tm, 1)).astype(ct.float32)
        ct.store(C, (i, j), acc - greatest + number)


def test_persistent_kernel_with_epilogue(random: np.random.Generator, target: str) -> None:
    a, b = numbers(random, (256, 128), np.float16), numbers(random, (128, 256), np.float16)
    bias, c = numbers(random, (256,), np.float32), np.full((256, 256), np.nan, np.float32)
    acc = np.maximum(product(a, b) + bias, 0).reshape(2, 128, 2, 128)
    exact = acc - acc.max(axis=3, keepdims=True) + np.arange(128)[None, :, None, None]
    args = (a, b, c, bias, 3, 128, 128, 64)
    for (found,) in run_everywhere(persistent, (3,), args, [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, exact.reshape(256, 256))


@ct.kernel
def scaled_sum(A, B, C, steps: int, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """The sum starts with C, is doubled in some steps, and multiplied in others."""
    acc = ct.load(C, (0, 0), (tm, tn))
    for k in range(steps):
        if k % 2 == 1:
            acc = acc * 2
        if k % 3 != 2:
            acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), acc)


@pytest.mark.parametrize("steps", [0, 4])
def test_sum_that_threads_change(random: np.random.Generator, target: str, steps: int) -> None:
    """Threads write and read the accumulator in its lanes."""
    a, b = numbers(random, (128, 256), np.float16), numbers(random, (256, 128), np.float16)
    c = numbers(random, (128, 128), np.float32)
    exact = c.astype(np.float64)
    for k in range(steps):
        exact = exact * (2 if k % 2 else 1)
        if k % 3 != 2:
            exact = exact + product(a[:, 64 * k : 64 * (k + 1)], b[64 * k : 64 * (k + 1)])
    args = (a, b, c, steps, 128, 128, 64)
    for (found,) in run_everywhere(scaled_sum, (1,), args, [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, exact)
    if target == "sm_100a":
        assert PAIR in compiled(scaled_sum, args, target, num_ctas=2).ptx


@ct.kernel
def gated(A, B, D, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Two accumulators, which have one left operand; columns of one of them are stored in another order."""
    i, j = ct.bid(0), ct.bid(1)
    gate, up = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (i, k), (tm, tk))
        gate = ct.mma(a, ct.load(B, (k, j), (tk, tn)), gate)
        up = ct.mma(a, ct.load(D, (k, j), (tk, tn)), up)
    ct.store(C, (i, 2 * j), gate * up)
    ct.store(C, (i, 4 * j + 2), ct.extract(gate, (0, 1), (tm, tn // 2)))
    ct.store(C, (i, 4 * j + 3), ct.extract(gate, (0, 0), (tm, tn // 2)))


def test_two_accumulators_and_columns_of_them(random: np.random.Generator, target: str) -> None:
    a, b, d = (numbers(random, (128, 128), np.float16) for _ in range(3))
    args = (a, b, d, np.full((128, 256), np.nan, np.float32), 128, 128, 64)
    exact = np.hstack([product(a, b) * product(a, d), np.roll(product(a, b), 64, axis=1)])
    for (found,) in run_everywhere(gated, (1, 1), args, [3], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, exact)
    if target == "sm_100a":
        assert PAIR in compiled(gated, args, target, num_ctas=2).ptx


@ct.kernel
def swapped(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Columns alone are read from the accumulator, and without a branch: it has a value in any case."""
    acc = ct.zeros((tm, tn), ct.float32)
    acc = ct.mma(ct.load(A, (0, 0), (tm, tk)), ct.load(B, (0, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), ct.extract(acc, (0, 1), (tm, tn // 2)))
    ct.store(C, (0, 1), ct.extract(acc, (0, 0), (tm, tn // 2)))


def test_columns_alone(random: np.random.Generator, target: str) -> None:
    a, b = numbers(random, (128, 64), np.float16), numbers(random, (64, 128), np.float16)
    args = (a, b, np.full((128, 128), np.nan, np.float32), 128, 128, 64)
    for (found,) in run_everywhere(swapped, (1,), args, [2], target=target, hints={"num_ctas": 2}):
        assert np.array_equal(found, np.roll(product(a, b), 64, axis=1))
    if target == "sm_100a":
        assert PAIR in compiled(swapped, args, target, num_ctas=2).ptx


@ct.kernel
def two_products(Q, K, V, Out, tm: ct.Constant[int], tn: ct.Constant[int], d: ct.Constant[int]):
    """Out = (Q K^T)^2 V: registers have the second left operand, so that two blocks cannot multiply in pairs."""
    acc = ct.zeros((tm, d), ct.float32)
    q = ct.load(Q, (ct.bid(0), 0), (tm, d))
    for j in range(ct.num_tiles(K, 0, (tn, d))):
        s = ct.mma(q, ct.transpose(ct.load(K, (j, 0), (tn, d))), ct.zeros((tm, tn), ct.float32))
        acc = ct.mma((s * s).astype(ct.float16), ct.load(V, (j, 0), (tn, d)), acc)
    ct.store(Out, (ct.bid(0), 0), acc)


def remarks(kernel: Any, args: Sequence[Any], **hints: Any) -> list[str]:
    return [each.message for each in compiled(kernel, args, "sm_100a", num_ctas=2, **hints).all_remarks]


def test_remark_where_tma_does_not_load_an_operand(random: np.random.Generator) -> None:
    q, k, v = (numbers(random, (128, 64), np.float16) for _ in range(3))
    args = (q, k, v, np.zeros((128, 64), np.float32), 128, 64, 64)
    assert (
        "num_ctas=2 is not followed: blocks with 64 rows each must multiply in pairs, but TMA does not load both "
        "operands of each multiply from known positions; each tile block runs as one block"
    ) in remarks(two_products, args)


@ct.kernel
def until_flag(A, B, Flags, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """A product up to the first step whose flag is not zero: threads decide, so that no pair multiplies."""
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        if ct.load(Flags, (k,), ()) != 0:
            break
        acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), acc)


def test_rows_and_columns_of_four_blocks_are_divided_both_or_not_at_all(random: np.random.Generator) -> None:
    a, b = numbers(random, (128, 192), np.float16), numbers(random, (192, 128), np.float16)
    flags, c = np.array([0, 0, 1, 0], np.int32), np.full((128, 128), np.nan, np.float32)
    args = (a, b, flags, c, 128, 128, 64)
    for (found,) in run_everywhere(until_flag, (1,), args, [3], target="sm_100a", hints={"num_ctas": 4}):
        assert np.array_equal(found, product(a[:, :128], b[:128]))
    found = compiled(until_flag, args, "sm_100a", num_ctas=4)
    assert "blocks with 64 rows each must multiply in pairs" in "".join(map(str, found.all_remarks))
    assert ".reqnctapercluster" not in found.ptx


def test_remark_without_tma(random: np.random.Generator) -> None:
    a, b = (numbers(random, (128, 128), np.float16) for _ in range(2))
    args = (a, b, np.zeros((128, 128), np.float32), 128, 128, 64)
    assert any("the option 'tma' is off" in each for each in remarks(matmul, args, tma=False))


def test_remark_of_few_columns(random: np.random.Generator) -> None:
    a, b = numbers(random, (128, 128), np.float16), numbers(random, (128, 16), np.float16)
    args = (a, b, np.zeros((128, 16), np.float32), 128, 16, 64)
    assert any("a pair multiplies 32 to 256 columns, in steps of 32" in each for each in remarks(matmul, args))
