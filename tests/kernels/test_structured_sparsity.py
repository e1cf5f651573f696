"""ct.mma_sparse: the interpreter and the simulator of both targets equal the product of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere
from sparse_matrices import KINDS, Kind, dense_matrix, matmul, matmul_of_rows, product, sparse_matrix

import tilec as ct

# Tiles, then extents. The last tiles of a row, a column and K may be partial.
SHAPES = [
    ((128, 64, 64), (256, 128, 192)),
    ((64, 32, 128), (64, 64, 256)),
    ((128, 128, 128), (128, 128, 256)),
    ((16, 8, 64), (32, 16, 128)),
    ((128, 64, 64), (100, 40, 136)),
]


def check(kind: Kind, shape: Any, target: str, *, kernel: Any = matmul, seed: int = 0, hints: Any = None) -> None:
    (tm, tn, tk), (m, n, depth) = shape
    random = np.random.default_rng(seed)
    a = sparse_matrix(random, m, depth, kind)
    b = dense_matrix(random, depth, n, kind) if kernel is matmul else dense_matrix(random, n, depth, kind)
    c = np.zeros((m, n), kind.accumulator)
    args = (*ct.compress_2_4(a), b, c, tm, tn, tk, kind.word)
    grid = -(-m // tm), -(-n // tn)
    for (found,) in run_everywhere(kernel, grid, args, (3,), target=target, hints=hints or {}, seeds=(seed,)):
        np.testing.assert_array_equal(found, product(a, b if kernel is matmul else b.T))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_matmul(kind: Kind, shape: Any, target: str) -> None:
    check(kind, shape, target)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_columns_of_the_right_operand_are_contiguous(kind: Kind, target: str) -> None:
    check(kind, ((128, 64, 128), (128, 64, 256)), target, kernel=matmul_of_rows)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_ten_seeds(kind: Kind, seed: int, target: str) -> None:
    check(kind, ((128, 32, 64), (128, 64, 128)), target, seed=seed)


@pytest.mark.parametrize("kind", [KINDS["f16"], KINDS["e4m3"], KINDS["tf32"]], ids=["f16", "e4m3", "tf32"])
def test_switches(kind: Kind, target: str, switches: dict[str, bool]) -> None:
    check(kind, SHAPES[0], target, hints=switches)


@ct.kernel
def product_of_constants(A, B, C):
    """Every nibble of the metadata keeps the second and the fourth element."""
    metadata = ct.full((16, 1), 0xDDDDDDDD, ct.uint32)
    acc = ct.load(C, (0, 0), (16, 16))
    ct.store(C, (0, 0), ct.mma_sparse(ct.load(A, (0, 0), (16, 16)), metadata, ct.load(B, (0, 0), (32, 16)), acc))


def test_metadata_may_be_computed(target: str) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((16, 16), (32, 16)))
    c = random.integers(-3, 4, (16, 16)).astype(np.float32)
    for (found,) in run_everywhere(product_of_constants, (1,), (a, b, c), (2,), target=target, hints={}):
        np.testing.assert_array_equal(found, c + product(a, b[1::2]))


@ct.kernel
def product_of_unlike_signs(A, E, B, C):
    a, b = ct.load(A, (0, 0), (64, 32)), ct.load(B, (0, 0), (64, 32))
    ct.store(C, (0, 0), ct.mma_sparse(a, ct.load(E, (0, 0), (64, 2)), b, ct.zeros((64, 32), ct.int32)))


@pytest.mark.parametrize("names", [("i8", "u8"), ("u8", "i8")], ids=str)
def test_signs_of_bytes_may_differ(names: tuple[str, str], target: str) -> None:
    random = np.random.default_rng(0)
    left, right = (KINDS[name] for name in names)
    a, b = sparse_matrix(random, 64, 64, left), dense_matrix(random, 64, 32, right)
    args = (*ct.compress_2_4(a), b, np.zeros((64, 32), np.int32))
    for (found,) in run_everywhere(product_of_unlike_signs, (1,), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(found, product(a, b))
