"""Sparse multiplies beside other work: persistent loops, metadata of an outer scope, other multiplies of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere
from sparse_matrices import KINDS, Const, product, sparse_matrix

import tilec as ct

F16 = KINDS["f16"]
# Rows, columns, K.
WITHOUT_ROLES = (64, 64, 64)
TILES = [(128, 64, 128), WITHOUT_ROLES, (256, 64, 128)]


@ct.kernel
def persistent(A, E, B, C, tm: Const, tn: Const, tk: Const):
    rows, columns = ct.num_tiles(C, axis=0, shape=(tm, tn)), ct.num_tiles(C, axis=1, shape=(tm, tn))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(B, axis=1, shape=(tn, tk))):
            a, metadata = ct.load(A, (i, k), (tm, tk // 2)), ct.load(E, (i, k), (tm, tk // 32))
            total = ct.mma_sparse(a, metadata, ct.load(B, (j, k), (tn, tk)).transpose(), total)
        ct.store(C, (i, j), ct.maximum(total, 0.0))


@ct.kernel
def one_pattern(A, E, B, C, tm: Const, tn: Const, tk: Const):
    """All tiles along K have the metadata of the first."""
    total, metadata = ct.zeros((tm, tn), ct.float32), ct.load(E, (0, 0), (tm, tk // 32))
    for k in range(ct.num_tiles(B, axis=1, shape=(tn, tk))):
        b = ct.load(B, (0, k), (tn, tk)).transpose()
        total = ct.mma_sparse(ct.load(A, (0, k), (tm, tk // 2)), metadata, b, total)
    ct.store(C, (0, 0), total)


@ct.kernel
def product_of_product(A, E, B, D, C, tm: Const, tn: Const, tk: Const):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(B, axis=1, shape=(tn, tk))):
        a, metadata = ct.load(A, (0, k), (tm, tk // 2)), ct.load(E, (0, k), (tm, tk // 32))
        total = ct.mma_sparse(a, metadata, ct.load(B, (0, k), (tn, tk)).transpose(), total)
    again = ct.mma(total.astype(ct.float16), ct.load(D, (0, 0), (tn, tn)), ct.zeros((tm, tn), ct.float32))
    ct.store(C, (0, 0), again)


@ct.kernel
def sparse_and_dense(A, E, B, D, C, tm: Const, tn: Const, tk: Const):
    """Both products are in one accumulator."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(B, axis=1, shape=(tn, tk))):
        a, metadata = ct.load(A, (0, k), (tm, tk // 2)), ct.load(E, (0, k), (tm, tk // 32))
        b = ct.load(B, (0, k), (tn, tk)).transpose()
        total = ct.mma_sparse(a, metadata, b, total)
        total = ct.mma(ct.load(D, (0, k), (tm, tk)), b, total)
    ct.store(C, (0, 0), total)


def check(kernel: Any, arguments: tuple[Any, ...], tile: tuple[int, int, int], exact: np.ndarray, target: str) -> None:
    c = np.zeros(exact.shape, np.float32)
    args = (*arguments, c, *tile)
    hints = {"roles": tile != WITHOUT_ROLES}
    output, grid = len(arguments), (3,) if kernel is persistent else (1,)
    for (found,) in run_everywhere(kernel, grid, args, (output,), target=target, hints=hints, seeds=range(3)):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_persistent_loop(tile: tuple[int, int, int], target: str) -> None:
    (tm, tn, tk), random = tile, np.random.default_rng(0)
    a, b = sparse_matrix(random, 2 * tm, 3 * tk, F16), random.integers(-3, 4, (2 * tn, 3 * tk)).astype(np.float16)
    check(persistent, (*ct.compress_2_4(a), b), tile, np.maximum(product(a, b.T), 0), target)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_metadata_of_an_outer_scope(tile: tuple[int, int, int], target: str) -> None:
    """A copy of metadata to tensor memory must not overtake a multiply that reads the metadata before it."""
    (tm, tn, tk), random = tile, np.random.default_rng(0)
    kept = np.tile(sparse_matrix(random, tm, tk, F16) != 0, (1, 3))
    a = np.where(kept, random.integers(1, 4, kept.shape), 0).astype(np.float16)
    b = random.integers(-3, 4, (tn, 3 * tk)).astype(np.float16)
    check(one_pattern, (*ct.compress_2_4(a), b), tile, product(a, b.T), target)


@pytest.mark.parametrize("kernel", [product_of_product, sparse_and_dense], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_other_multiplies(kernel: Any, tile: tuple[int, int, int], target: str) -> None:
    (tm, tn, tk), random = tile, np.random.default_rng(0)
    a, b = sparse_matrix(random, tm, 3 * tk, F16), random.integers(-1, 2, (tn, 3 * tk)).astype(np.float16)
    first = product(a, b.T)
    assert abs(first).max() < 2048
    is_second = kernel is product_of_product
    d = random.integers(-1, 2, (tn, tn) if is_second else (tm, 3 * tk)).astype(np.float16)
    exact = first @ d.astype(np.int64) if is_second else first + product(d, b.T)
    check(kernel, (*ct.compress_2_4(a), b, d), tile, exact, target)
