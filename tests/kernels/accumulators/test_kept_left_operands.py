"""Multiplies side by side that read one left operand: a collector keeps it, and the sums are exact."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import run_everywhere

import tilec
import tilec as ct
from tilec.errors import TilecError
from tilec.runtime.cubin.cubin import assemble
from tilec.signature import Signature

Const = ct.Constant[int]
USAGES = re.compile(r"tcgen05\.mma\.[^ ;]*\.collector::a::(\w+) ")
DEPTH, STEPS = 256, 4
TILE = DEPTH // STEPS


@ct.kernel
def wide(A, B, C, tm: Const, tn: Const, tk: Const):
    """More columns than an instruction has."""
    total = ct.zeros((tm, tn), C.dtype)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a, b, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def two_products(A, B, D, C, tm: Const, tn: Const, tk: Const, is_late: ct.Constant[bool]):
    """A gate and an up projection, whose right operands are loaded before both multiplies or just before each."""
    gate, up = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn))
        if is_late:
            gate = ct.mma(a, b, gate)
            up = ct.mma(a, ct.load(D, (k, ct.bid(1)), (tk, tn)), up)
        else:
            d = ct.load(D, (k, ct.bid(1)), (tk, tn))
            gate, up = ct.mma(a, b, gate), ct.mma(a, d, up)
    ct.store(C, (ct.bid(0), ct.bid(1)), gate * up)


@ct.kernel
def three_products(A, B, C, tm: Const, tn: Const, tk: Const):
    """The columns of B have three parts, of which each multiply has one."""
    n = ct.num_tiles(B, axis=1, shape=(tk, tn)) // 3
    x, y, z = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (ct.bid(0), k), (tm, tk))
        x = ct.mma(a, ct.load(B, (k, ct.bid(1)), (tk, tn)), x)
        y = ct.mma(a, ct.load(B, (k, ct.bid(1) + n), (tk, tn)), y)
        z = ct.mma(a, ct.load(B, (k, ct.bid(1) + 2 * n), (tk, tn)), z)
    ct.store(C, (ct.bid(0), ct.bid(1)), x)
    ct.store(C, (ct.bid(0), ct.bid(1) + n), y)
    ct.store(C, (ct.bid(0), ct.bid(1) + 2 * n), z)


@ct.kernel
def computed(A, B, D, C, tm: Const, tn: Const, tk: Const):
    """Threads compute the left operand, which is in tensor memory."""
    gate, up = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (ct.bid(0), k), (tm, tk)) * 2
        b, d = ct.load(B, (k, ct.bid(1)), (tk, tn)), ct.load(D, (k, ct.bid(1)), (tk, tn))
        gate, up = ct.mma(a, b, gate), ct.mma(a, d, up)
    ct.store(C, (ct.bid(0), ct.bid(1)), gate + up)


@ct.kernel
def wide_by_threads(A, B, C, tn: Const, tk: Const):
    """Threads compute the right operand, whose parts use one slot in turn."""
    total = ct.zeros((128, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(128, tk))):
        a, b = ct.load(A, (0, k), (128, tk)), ct.load(B, (k, 0), (tk, tn)) * 2
        total = ct.mma(a, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def alternating(A, B, D, C, tm: Const, tn: Const, tk: Const):
    """Both products add to one accumulator, so that no step along K has two of them."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (ct.bid(0), k), (tm, tk))
        b, d = ct.load(B, (k, ct.bid(1)), (tk, tn)), ct.load(D, (k, ct.bid(1)), (tk, tn))
        total = ct.mma(a, d, ct.mma(a, b, total))
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


def integers(seed: int, *shape: int, dtype: Any = np.float16) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def usages(kernel: Any, args: tuple[Any, ...], **hints: Any) -> list[str]:
    signature = Signature.from_arguments(kernel, args)
    return USAGES.findall(tilec.compile(kernel, target="sm_100a", signature=signature, hints=hints, stop="ptx").ptx)


def check(
    kernel: Any, args: tuple[Any, ...], number: int, grid: Any, exact: np.ndarray, target: str, **hints: Any
) -> None:
    for (found,) in run_everywhere(kernel, grid, args, (number,), target=target, hints=hints, seeds=(0, 1)):
        np.testing.assert_array_equal(found, exact)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(float) @ b.astype(float)


@pytest.mark.parametrize(
    ("dtype", "accumulator"),
    [
        (np.float16, np.float32),
        (np.float16, np.float16),
        (ml_dtypes.bfloat16, np.float32),
        (ml_dtypes.float8_e4m3fn, np.float32),
        (np.int8, np.int32),
    ],
    ids=["f16", "f16 sums", "bf16", "e4m3", "i8"],
)
def test_wide_products(dtype: Any, accumulator: Any, target: str) -> None:
    a, b = integers(1, 128, DEPTH, dtype=dtype), integers(2, DEPTH, 512, dtype=dtype)
    args = (a, b, np.zeros((128, 512), accumulator), 128, 512, TILE)
    check(wide, args, 2, (1, 1), product(a, b), target)
    found = usages(wide, args)
    assert found == ["fill", "lastuse"] * (len(found) // 2) and found


@pytest.mark.parametrize(("rows", "ctas"), [(64, 1), (128, 2), (256, 2), (256, 4)])
def test_rows_and_clusters(rows: int, ctas: int, target: str) -> None:
    a, b = integers(1, 256, DEPTH), integers(2, DEPTH, 512)
    args = (a, b, np.zeros((256, 512), np.float32), rows, 512, TILE)
    check(wide, args, 2, (256 // rows, 1), product(a, b), target, num_ctas=ctas)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("columns", [64, 256])
def test_two_products(columns: int, ctas: int, is_late: bool, target: str) -> None:
    rows = 128 * ctas
    a, b, d = integers(1, rows, DEPTH), integers(2, DEPTH, columns), integers(3, DEPTH, columns)
    args = (a, b, d, np.zeros((rows, columns), np.float32), rows, columns, TILE, is_late)
    check(two_products, args, 3, (1, 1), product(a, b) * product(a, d), target, num_ctas=ctas)
    found = usages(two_products, args, num_ctas=ctas)
    assert found == ["fill", "lastuse"] * (len(found) // 2) and found


@pytest.mark.parametrize("columns", [32, 128])
def test_two_blocks_of_rows(columns: int, target: str) -> None:
    a, b, d = integers(1, 256, DEPTH), integers(2, DEPTH, columns), integers(3, DEPTH, columns)
    args = (a, b, d, np.zeros((256, columns), np.float32), 256, columns, TILE, False)
    check(two_products, args, 3, (1, 1), product(a, b) * product(a, d), target)
    found = usages(two_products, args)
    assert found == ["fill", "lastuse"] * (len(found) // 2) and found


def test_three_products(target: str) -> None:
    a, b = integers(1, 256, DEPTH), integers(2, DEPTH, 384)
    args = (a, b, np.zeros((256, 384), np.float32), 128, 64, TILE)
    check(three_products, args, 2, (2, 2), product(a, b), target)
    assert usages(three_products, args) == ["fill", "use", "lastuse"] * (TILE // 16)


def test_a_left_operand_in_tensor_memory(target: str) -> None:
    a, b, d = integers(1, 128, DEPTH), integers(2, DEPTH, 128), integers(3, DEPTH, 128)
    args = (a, b, d, np.zeros((128, 128), np.float32), 128, 128, TILE)
    check(computed, args, 3, (1, 1), 2 * product(a, b + d), target)
    assert set(usages(computed, args)) == {"fill", "lastuse"}


@pytest.mark.parametrize("columns", [256, 512])
def test_a_right_operand_of_threads(columns: int, target: str) -> None:
    a, b = integers(1, 128, DEPTH), integers(2, DEPTH, columns)
    args = (a, b, np.zeros((128, columns), np.float32), columns, TILE)
    check(wide_by_threads, args, 2, (1,), 2 * product(a, b), target)


def test_one_accumulator(target: str) -> None:
    a, b, d = integers(1, 128, DEPTH), integers(2, DEPTH, 128), integers(3, DEPTH, 128)
    args = (a, b, d, np.zeros((128, 128), np.float32), 128, 128, TILE)
    check(alternating, args, 3, (1, 1), product(a, b + d), target)
    assert usages(alternating, args) == []


@pytest.mark.parametrize("hints", [{"roles": False}, {"pipeline": False}, {"roles": False, "pipeline": False}], ids=str)
@pytest.mark.parametrize("is_late", [False, True])
def test_without_roles(hints: dict[str, Any], is_late: bool, target: str) -> None:
    a, b, d = integers(1, 128, DEPTH), integers(2, DEPTH, 64), integers(3, DEPTH, 64)
    args = (a, b, d, np.zeros((128, 64), np.float32), 128, 64, TILE, is_late)
    check(two_products, args, 3, (1, 1), product(a, b) * product(a, d), target, **hints)


@pytest.mark.parametrize("ctas", [1, 2])
def test_ptxas_accepts_the_ptx(ctas: int) -> None:
    args = (*(integers(1, 512, 512) for _ in range(2)), np.zeros((512, 512), np.float32), 128 * ctas, 512, TILE)
    signature = Signature.from_arguments(wide, args)
    ptx = tilec.compile(wide, target="sm_100a", signature=signature, hints={"num_ctas": ctas}, stop="ptx").ptx
    assert USAGES.findall(ptx) and assemble(ptx, "sm_100a").warnings == ()


def test_changed_usages_are_noticed() -> None:
    """A use without a fill, after a discard, after the last use, and of the operand of another step along K."""
    a, b, d = integers(1, 128, DEPTH), integers(2, DEPTH, 64), integers(3, DEPTH, 64)
    exact, result = product(a, b) * product(a, d), np.zeros((128, 64), np.float32)
    args = (a, b, d, result, 128, 64, TILE, False)
    signature = Signature.from_arguments(two_products, args)
    artifact = tilec.compile(two_products, target="sm_100a", signature=signature, stop="ptx").artifact

    def is_right(ptx: str) -> bool:
        result[:] = 0
        try:
            tilec.run(dataclasses.replace(artifact, ptx=ptx), (1, 1), args, backend="simulate", seed=0)
        except TilecError:
            return False
        return np.array_equal(result, exact)

    ptx = artifact.ptx
    lines = [line for line in ptx.splitlines() if "tcgen05.mma" in line]
    swapped = ptx.replace(lines[1], "@").replace(lines[2], lines[1]).replace("@", lines[2])
    mutants = [
        ptx.replace("::fill", "::use"),
        ptx.replace("::fill", "::discard"),
        ptx.replace("::fill", "::lastuse"),
        ptx.replace(lines[0], lines[0].replace(".collector::a::fill", "")),
        swapped,
    ]
    assert is_right(ptx) and len({*mutants, ptx}) == 6
    assert not any(map(is_right, mutants))
