"""Products that are added to the array that they are stored to: tiles are loaded and stored by slices of columns."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Integer = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
DEPTH = 64


@ct.kernel
def update(A, B, C, alpha: float, beta: float, M: Integer, N: Integer):
    """C = alpha * A @ B + beta * C, for several tiles per block."""
    columns = ct.num_tiles(C, 1, (M, N))
    for tile in range(ct.bid(0), ct.num_tiles(C, 0, (M, N)) * columns, ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        acc = ct.zeros((M, N), ct.float32)
        for k in range(ct.num_tiles(A, 1, (M, DEPTH))):
            a = ct.load(A, (i, k), (M, DEPTH), padding_mode=ZERO)
            acc = ct.mma(a, ct.load(B, (k, j), (DEPTH, N), padding_mode=ZERO), acc)
        c = ct.load(C, (i, j), (M, N), padding_mode=ZERO)
        ct.store(C, (i, j), (alpha * acc + beta * c.astype(ct.float32)).astype(C.dtype))


@ct.kernel
def update_transposed(A, B, C, N: Integer):
    """C = A @ B + C.T on tiles of the diagonal."""
    i = ct.bid(0)
    acc = ct.zeros((N, N), ct.float32)
    for k in range(ct.num_tiles(A, 1, (N, DEPTH))):
        acc = ct.mma(ct.load(A, (i, k), (N, DEPTH)), ct.load(B, (k, i), (DEPTH, N)), acc)
    c = ct.transpose(ct.load(C, (i, i), (N, N)))
    ct.store(C, (i, i), (acc + c.astype(ct.float32)).astype(C.dtype))


@ct.kernel
def update_and_copy(A, B, C, D, N: Integer):
    """C = A @ B + C, where D gets the old values."""
    i = ct.bid(0)
    acc = ct.zeros((N, N), ct.float32)
    for k in range(ct.num_tiles(A, 1, (N, DEPTH))):
        acc = ct.mma(ct.load(A, (i, k), (N, DEPTH)), ct.load(B, (k, 0), (DEPTH, N)), acc)
    c = ct.load(C, (i, 0), (N, N))
    ct.store(C, (i, 0), (acc + c.astype(ct.float32)).astype(C.dtype))
    ct.store(D, (i, 0), c)


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Values whose products and sums are exact in f16."""
    return random.integers(-2, 3, shape).astype(np.float16)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


def stored_shapes(kernel: object, args: tuple[object, ...], target: str) -> list[str]:
    """The shapes of the tiles that the kernel stores to its views, after the passes over Tile IR."""
    text = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args)).stage("tile-opt").text
    lines = [line for line in text.splitlines() if "store_view_tko" in line]
    return [line.partition(": tile<")[2].partition("xf16")[0] for line in lines]


@pytest.mark.parametrize(("m", "n"), [(128, 256), (128, 128), (64, 256)])
def test_update(random: np.random.Generator, target: str, m: int, n: int) -> None:
    """A slice is loaded before it is stored, and after the stores of earlier tiles; borders of arrays are kept."""
    rows, columns, depth = 2 * m, 2 * n - 8, 128
    a, b, c = integers(random, rows, depth), integers(random, depth, columns), integers(random, rows, columns)
    args = a, b, c, 2.0, -3.0, m, n
    for (found,) in run_everywhere(update, (2,), args, [2], target=target, hints={}):
        assert np.array_equal(found, (2 * product(a, b) - 3 * c).astype(np.float16))
    assert set(stored_shapes(update, args, target)) == {f"{m}x{min(n, 128 * 64 // m)}"}


def test_the_remark_names_the_store(random: np.random.Generator, target: str) -> None:
    """The load of a tile may not run ahead of the store of the tile before."""
    args = integers(random, 64, 64), integers(random, 64, 64), integers(random, 64, 64), 2.0, -3.0, 64, 64
    signature = Signature.from_arguments(update, args)
    messages = [remark.message for remark in ct.compile(update, target=target, signature=signature).all_remarks]
    line = update.function.__code__.co_firstlineno + 11
    assert any(f"comes after 'cuda_tile.store_view_tko' in line {line}, and may not precede it" in m for m in messages)


def test_a_tile_that_is_loaded_transposed(random: np.random.Generator, target: str) -> None:
    """Slices of columns need slices of rows that other slices overwrite, so that the tile is loaded first."""
    n = 128
    a, b, c = integers(random, 2 * n, DEPTH), integers(random, DEPTH, 2 * n), integers(random, 2 * n, 2 * n)
    expected, x = c.copy(), product(a, b)
    for tile in (slice(0, n), slice(n, 2 * n)):
        expected[tile, tile] = x[tile, tile] + c[tile, tile].T
    args = a, b, c, n
    for (found,) in run_everywhere(update_transposed, (2,), args, [2], target=target, hints={}):
        assert np.array_equal(found, expected)
    assert stored_shapes(update_transposed, args, target) == [f"{n}x{n}"]


def test_a_tile_with_another_use(random: np.random.Generator, target: str) -> None:
    """The values before the update go to another array."""
    n = 128
    a, b, c = integers(random, 2 * n, DEPTH), integers(random, DEPTH, n), integers(random, 2 * n, n)
    args = a, b, c, np.zeros_like(c), n
    for found, old in run_everywhere(update_and_copy, (2,), args, [2, 3], target=target, hints={}):
        assert np.array_equal(found, (product(a, b) + c).astype(np.float16))
        assert np.array_equal(old, c)
