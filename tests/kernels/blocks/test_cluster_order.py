"""Tile blocks whose accesses follow those of rows that another block of a cluster would access stay whole.

Tokens order the accesses of a tile block, but not those of two blocks of a cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

REASON = "a token orders an access after one of the rows of another block"
HINTS = {"num_ctas": 2}
COLUMNS, DEPTH, LONG = 64, 64, 4096


def product(A, B, tm: ct.Constant[int]):
    a, b = ct.load(A, (0, 0), (tm, DEPTH)), ct.load(B, (0, 0), (DEPTH, COLUMNS))
    return ct.mma(a, b, ct.zeros((tm, COLUMNS), ct.float32))


@ct.kernel
def slice_after_store(A, B, C, D):
    """Multiplies rows 128 to 383 of C, of which the product before has stored 128 to 255."""
    ct.store(C, (0, 0), product(A, B, 256).astype(C.dtype))
    lower = C.slice(axis=0, start=128, stop=384)
    ct.store(D, (0, 0), product(lower, B, 256))


@ct.kernel
def store_after_store(A, B, C, D):
    """Stores rows 128 to 383 of D after rows 0 to 255, which have other values."""
    result = product(A, B, 256)
    ct.store(D, (0, 0), result)
    ct.store(D.slice(axis=0, start=128, stop=384), (0, 0), result + 1)


@ct.kernel
def store_after_load(A, B, C, D):
    """Loads rows 128 to 383 of D, and stores sums with them in rows 0 to 255: a block would overwrite what it loads."""
    below = ct.load(D.slice(axis=0, start=128, stop=384), (0, 0), (256, COLUMNS))
    ct.store(D, (0, 0), product(A, B, 256) + below)


@ct.kernel
def other_tile(A, B, C, D):
    """Multiplies a tile of 512 rows after a store of one of 256: a block has rows 0 to 255 of it."""
    ct.store(C, (1, 0), product(A, B, 256).astype(C.dtype))
    ct.store(D, (0, 0), product(C, B, 512))


@ct.kernel
def transposed(A, B, C, D):
    """Multiplies the transpose of a square of C that is stored before."""
    a, square = ct.load(A, (0, 0), (256, DEPTH)), ct.load(B, (0, 0), (DEPTH, 256))
    ct.store(C, (0, 0), ct.mma(a, square, ct.zeros((256, 256), ct.float32)).astype(C.dtype))
    left = ct.load(C, (0, 0), (256, 256), order=(1, 0))
    ct.store(D, (0, 0), ct.mma(left, ct.load(A, (1, 0), (256, DEPTH)), ct.zeros((256, DEPTH), ct.float32)))


def matrices(random: np.random.Generator, columns: int) -> tuple[np.ndarray, ...]:
    """A of 512 rows, B, C of 512 rows, and D; products of products are exact in float32."""
    shapes = (512, DEPTH), (DEPTH, columns), (512, columns), (512, columns)
    a, b, c, d = (random.integers(-1, 2, shape).astype(np.float16) for shape in shapes)
    return a, b, c, d.astype(np.float32)


def after_rows(name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """D after a kernel."""
    exact, c = d.copy(), c.astype(np.float64)
    first = a[:256].astype(np.float64) @ b.astype(np.float64)
    if name == "store_after_store":
        exact[:256], exact[128:384] = first, first + 1
    elif name == "store_after_load":
        exact[:256] = first + d[128:384]
    elif name == "slice_after_store":
        c[:256] = first
        exact[:256] = c[128:384] @ b.astype(np.float64)
    elif name == "other_tile":
        c[256:] = first
        exact[:] = c @ b.astype(np.float64)
    else:
        exact[:256, :DEPTH] = first.T @ a[256:].astype(np.float64)
    return exact


def check(kernel: Any, args: tuple[Any, ...], output: int, exact: np.ndarray, target: str) -> None:
    """The kernel is right with the hint, and a remark says why it is not divided."""
    signature = Signature.from_arguments(kernel, args)
    compiled = ct.compile(kernel, target=target, signature=signature, hints=HINTS, stop="ptx")
    assert [REASON in remark.message for remark in compiled.all_remarks if remark.topic == "hint"] == [True]
    for (found,) in run_everywhere(kernel, (1,), args, [output], target=target, hints=HINTS, seeds=range(3)):
        np.testing.assert_array_equal(found, exact)


ROWS = [slice_after_store, store_after_store, store_after_load, other_tile]


@pytest.mark.parametrize("kernel", ROWS, ids=lambda kernel: kernel.__name__)
def test_rows_of_another_block(random: np.random.Generator, target: str, kernel: Any) -> None:
    args = matrices(random, COLUMNS)
    check(kernel, args, 3, after_rows(kernel.__name__, *args), target)


def test_rows_of_another_block_in_columns(random: np.random.Generator, target: str) -> None:
    args = matrices(random, 256)
    check(transposed, args, 3, after_rows("transposed", *args), target)


@ct.kernel
def scalar_after_store(X, Y, R):
    """One block stores the sum of a row, which both load."""
    x = ct.load(X, (0, 0), (1, LONG))
    ct.store(R, (0,), ct.sum(x))
    ct.store(Y, (0, 0), x + ct.load(R, (0,), ()))


@ct.kernel
def row_after_part(X, Y, R):
    """The columns 2048 to 4095 of Y are a tile of their own, of which each block has half."""
    x = ct.load(X, (0, 0), (1, LONG))
    ct.store(Y, (0, 0), x + ct.sum(x))
    half = ct.load(Y, (0, 1), (1, LONG // 2))
    ct.store(Y, (0, 1), half * 2 + ct.sum(half))


@pytest.mark.parametrize("kernel", [scalar_after_store, row_after_part], ids=lambda kernel: kernel.__name__)
def test_elements_of_another_block(random: np.random.Generator, target: str, kernel: Any) -> None:
    x = random.integers(-2, 3, (1, LONG)).astype(np.float32)
    y, r = np.zeros_like(x), np.zeros(1, np.float32)
    exact = x + x.sum()
    if kernel is row_after_part:
        half = exact[:, LONG // 2 :]
        exact = np.concatenate([exact[:, : LONG // 2], half * 2 + half.sum()], 1)
    check(kernel, (x, y, r), 1, exact, target)


@ct.kernel
def same_rows(A, B, C, D):
    """Each block loads the rows that it has stored."""
    ct.store(C, (0, 0), product(A, B, 256).astype(C.dtype))
    ct.store(D, (0, 0), product(C, B, 256))


def test_rows_of_one_block_are_divided(random: np.random.Generator, target: str) -> None:
    args = a, b, _, d = matrices(random, COLUMNS)
    compiled = ct.compile(
        same_rows, target=target, signature=Signature.from_arguments(same_rows, args), hints=HINTS, stop="ptx"
    )
    assert not any(REASON in remark.message for remark in compiled.all_remarks) and ".cluster" in compiled.ptx
    exact = d.copy()
    exact[:256] = a[:256].astype(np.float64) @ b.astype(np.float64) @ b.astype(np.float64)
    for (found,) in run_everywhere(same_rows, (1,), args, [3], target=target, hints=HINTS, seeds=range(3)):
        np.testing.assert_array_equal(found, exact)
