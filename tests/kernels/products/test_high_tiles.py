"""Tiles of more than 256 rows, the most of a box of TMA: several boxes copy them, with the results of numpy.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere
from narrow_floats import operand, product, values

import tilec as ct
from tilec.signature import Signature

TARGETS = ("sm_100a", "sm_90a")
Extent = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
COPY = re.compile(r"cp\.async\.bulk\.tensor\.\dd\.shared::\w+\.global")
STORE = re.compile(r"cp\.async\.bulk\.tensor\.\dd\.global\.shared::cta")
REDUCTION = re.compile(r"cp\.reduce\.async\.bulk\.tensor")


def integers(*shape: int, dtype: Any = np.float16) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)


def compiled(kernel: Any, args: tuple[Any, ...], target: str, **hints: Any) -> str:
    return ct.compile(kernel, signature=Signature.from_arguments(kernel, args), target=target, stop="ptx", **hints).ptx


def assert_everywhere(
    kernel: Any,
    grid: tuple[int, ...],
    args: tuple[Any, ...],
    output: int,
    expected: np.ndarray,
    target: str,
    **hints: Any,
) -> None:
    for (found,) in run_everywhere(kernel, grid, args, (output,), target=target, hints=hints, seeds=(3,)):
        np.testing.assert_array_equal(found, expected)


@ct.kernel
def columns_in_rows(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """The columns of the product are the rows of B."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (i, k), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (j, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(a, ct.transpose(b), total)
    ct.store(C, (i, j), total)


@pytest.mark.parametrize(("num_ctas", "m", "n"), [(None, 70, 700), (2, 64, 500), (4, 64, 520)])
@pytest.mark.parametrize("target", TARGETS)
def test_product_with_512_rows_of_the_right_operand(target: str, num_ctas: int | None, m: int, n: int) -> None:
    a, b = integers(m, 72), integers(n, 72)
    hints = {} if num_ctas is None else {"num_ctas": num_ctas}
    args = (a, b, np.zeros((m, n), np.float32), 64, 512, 64)
    grid = (-(-m // 64), -(-n // 512))
    assert_everywhere(columns_in_rows, grid, args, 2, a.astype(np.float32) @ b.T.astype(np.float32), target, **hints)


@pytest.mark.parametrize("target", TARGETS)
def test_tma_copies_a_right_operand_of_512_rows(target: str) -> None:
    args = (integers(64, 128), integers(512, 128), np.zeros((64, 512), np.float32), 64, 512, 64)
    ptx = compiled(columns_in_rows, args, target)
    assert len(COPY.findall(ptx)) >= 3
    assert "ld.global" not in ptx


def test_packed_rows_of_a_tile_of_512() -> None:
    """TMA unpacks elements of 6 bits in boxes as well."""
    random = np.random.default_rng(7)
    a, b = values(random, "float6_e2m3fn", (600, 128)), values(random, "float8_e4m3fn", (16, 128))
    given = (operand(a, "float6_e2m3fn"), operand(b, "float8_e4m3fn"), np.zeros((600, 16), np.float32))
    args = (*given, 512, 16, 128, ct.float6_e2m3fn, ct.float8_e4m3fn)
    signature = (
        "A: u8[?,96] align 32, B: f8E4M3FN[?,?], C: f32[?,?], tm=512, tn=16, tk=128, a_type=f6E2M3FN, b_type=f8E4M3FN"
    )
    made = ct.compile(product, signature=signature, target="sm_100a")
    assert "u6_align16b" in [recipe.element for recipe in made.metadata.tensor_maps]
    ct.run(made, (2, 1), args, backend="simulate")
    np.testing.assert_array_equal(given[2], a @ b.T)


@ct.kernel
def copied(X, Y, rows: Extent, columns: Extent):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(Y, (i, j), ct.load(X, (i, j), (rows, columns), padding_mode=ZERO) * 2)


# The last rows of the arrays are in the first box of a tile, or in the second; rows end at 16 bytes, or not.
@pytest.mark.parametrize("columns", [64, 60])
@pytest.mark.parametrize("rows", [512, 1024, 700, 1200])
@pytest.mark.parametrize("target", TARGETS)
def test_copies_end_at_the_edges(target: str, rows: int, columns: int) -> None:
    # Neighbours of the array must keep their values.
    memory = integers(rows + 8, 128)
    x, y = memory[4 : 4 + rows, :columns], np.full((rows + 8, 128), 7, np.float16)
    args = (x, y[4 : 4 + rows, :columns], 512, 32)
    expected = y.copy()
    expected[4 : 4 + rows, :columns] = 2 * x
    ct.run(copied, (-(-rows // 512), -(-columns // 32)), args, backend="simulate", target=target)
    np.testing.assert_array_equal(y, expected)
    assert_everywhere(copied, (-(-rows // 512), -(-columns // 32)), args, 1, 2 * x, target)


@ct.kernel
def reduced(X, Y, rows: Extent, columns: Extent):
    Y.tiled_view((rows, columns)).atomic_store_add((0, 0), ct.load(X, (ct.bid(0), 0), (rows, columns)))


@pytest.mark.parametrize("target", TARGETS)
def test_tma_adds_each_box(target: str) -> None:
    x = integers(3 * 512, 32, dtype=np.int32)
    args = (x, np.zeros((500, 32), np.int32), 512, 32)
    assert len(REDUCTION.findall(compiled(reduced, args, target))) == 2
    assert_everywhere(reduced, (3,), args, 1, x.reshape(3, 512, 32).sum(0)[:500], target)


@ct.kernel
def of_three_dimensions(X, Y, planes: Extent, rows: Extent):
    """The rows of a plane, or the planes, are more than a box has."""
    ct.store(Y, (ct.bid(0), 0, 0), ct.load(X, (ct.bid(0), 0, 0), (planes, rows, 32), padding_mode=ZERO) + 1)


@pytest.mark.parametrize(("planes", "rows"), [(1, 512), (512, 1), (512, 2), (2, 512)])
@pytest.mark.parametrize("target", TARGETS)
def test_boxes_follow_each_other_along_the_outermost_dimension(target: str, planes: int, rows: int) -> None:
    x = integers(planes + 3, rows, 32)
    args = (x, np.zeros_like(x), planes, rows)
    assert_everywhere(of_three_dimensions, (-(-len(x) // planes),), args, 1, x + 1, target)


@ct.kernel
def of_a_slice(X, starts, Y, rows: Extent):
    """Each block copies rows of the array between two starts, as many as there are."""
    start, stop = ct.load(starts, (ct.bid(0),), (1,)).item(), ct.load(starts, (ct.bid(0) + 1,), (1,)).item()
    part, result = X.slice(axis=0, start=start, stop=stop), Y.slice(axis=0, start=start, stop=stop)
    for i in range(ct.cdiv(stop - start, rows)):
        ct.store(result, (i, 0), ct.load(part, (i, 0), (rows, 32), padding_mode=ZERO) + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_boxes_end_with_a_slice(target: str) -> None:
    starts = np.array([0, 3, 260, 1030, 1030, 1600], np.int32)
    x = integers(1600, 32)
    args = (x, starts, np.zeros_like(x), 512)
    assert_everywhere(of_a_slice, (5,), args, 2, x + 1, target)


@ct.kernel
def prefetched(X, Y):
    ct.prefetch(X, (0, 0), (512, 64))
    ct.store(Y, (0, 0), ct.load(X, (0, 0), (512, 64)))


@pytest.mark.parametrize("target", TARGETS)
def test_each_box_is_prefetched(target: str) -> None:
    x = integers(512, 64)
    ptx = compiled(prefetched, (x, np.zeros_like(x)), target)
    starts = re.findall(r"cp\.async\.bulk\.prefetch\.tensor\.2d.*\{(.*)\}\]", ptx)
    assert len(starts) == len(set(starts)) == 2
    assert_everywhere(prefetched, (1,), (x, np.zeros_like(x)), 1, x, target)
