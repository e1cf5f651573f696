"""Products of benchmarks/sheet: operands are integers and scales powers of two, so that each result has one value."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare import assert_within, product_tolerance, run_everywhere
from sheet_kernels import kernels_of

scaled, weights = kernels_of("scaled"), kernels_of("weights")
E4M3, E8M0, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.bfloat16
FORMATS = {"mxfp8": (E4M3, E8M0, 32), "mxfp4": (None, E8M0, 32), "nvfp4": (None, E4M3, 16)}
ROWS, COLUMNS, DEPTH = 256, 256, 512


def integers(random: np.random.Generator, shape: tuple[int, ...], dtype: Any, most: int = 4) -> np.ndarray:
    return random.integers(-most, most + 1, shape).astype(np.float32).astype(dtype)


def powers(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """1/2, 1 or 2."""
    return np.exp2(random.integers(-1, 2, shape)).astype(np.float32).astype(dtype)


def equal(found: np.ndarray, exact: np.ndarray) -> None:
    """The exact value, rounded once."""
    np.testing.assert_array_equal(found.astype(np.float32), exact.astype(found.dtype).astype(np.float32))


def packed_scales(scales: np.ndarray) -> np.ndarray:
    """Blocks of 128 rows by 4 scales as 32 rows of 16 bytes: the scales of rows r, r + 32, r + 64 and r + 96."""
    rows, count = scales.shape
    blocks = scales.reshape(rows // 128, 4, 32, count // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(blocks).reshape(rows // 128, count // 4, 32, 16)


def operand(random: np.random.Generator, form: str, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elements in memory, the scales [row, block], and the scaled values."""
    dtype, scale, block = FORMATS[form]
    values = integers(random, (rows, DEPTH), np.float32)
    stored = values.astype(dtype or ml_dtypes.float4_e2m1fn)
    if dtype is None:
        codes = stored.view(np.uint8)
        stored = codes[:, 0::2] & 15 | (codes[:, 1::2] & 15) << 4
    scales = powers(random, (rows, DEPTH // block), scale)
    return stored, scales, values * scales.astype(np.float32).repeat(block, 1)


@pytest.mark.parametrize(
    ("form", "kernel", "tile"),
    [
        ("mxfp8", "scaled_matmul", (128, 128, 128)),
        ("mxfp8", "scaled_matmul", (128, 256, 128)),
        ("mxfp8", "scaled_matmul_of_pairs", (256, 128, 128)),
        ("mxfp8", "scaled_matmul_of_pairs", (256, 256, 128)),
        ("mxfp4", "scaled_matmul", (128, 256, 256)),
        ("mxfp4", "scaled_matmul_of_pairs", (256, 256, 256)),
        ("nvfp4", "scaled_matmul", (128, 256, 256)),
        ("nvfp4", "scaled_matmul_of_pairs", (256, 256, 256)),
    ],
)
def test_scaled_products(
    form: str, kernel: str, tile: tuple[int, int, int], random: np.random.Generator, target: str
) -> None:
    (a, a_scales, exact_a), (b, b_scales, exact_b) = operand(random, form, ROWS), operand(random, form, COLUMNS)
    arrays = [a, packed_scales(a_scales), b, packed_scales(b_scales), np.zeros((ROWS, COLUMNS), BF16)]
    args = [*arrays, *tile, FORMATS[form][2], 1 if form == "mxfp8" else 2]
    grid = (ROWS // tile[0], COLUMNS // tile[1])
    for (found,) in run_everywhere(getattr(scaled, kernel), grid, args, (4,), target=target, hints={}):
        equal(found, exact_a @ exact_b.T)


def test_scales_in_rows(random: np.random.Generator, target: str) -> None:
    (a, a_scales, exact_a), (b, b_scales, exact_b) = operand(random, "mxfp8", ROWS), operand(random, "mxfp8", COLUMNS)
    args = [a, a_scales, b, b_scales, np.zeros((ROWS, COLUMNS), BF16), 128, 128, 128, 32]
    for (found,) in run_everywhere(scaled.rows_scaled_matmul, (2, 2), args, (4,), target=target, hints={}):
        equal(found, exact_a @ exact_b.T)


@pytest.mark.parametrize("tile", [(64, 128, 128), (128, 128, 128), (128, 256, 128), (256, 128, 128), (128, 256, 256)])
def test_scales_of_blocks(tile: tuple[int, int, int], random: np.random.Generator, target: str) -> None:
    rows, columns, depth = tile
    a, b = integers(random, (ROWS, DEPTH), E4M3), integers(random, (COLUMNS, DEPTH), E4M3)
    blocks = DEPTH // depth
    a_scales = powers(random, (blocks, ROWS), np.float32)
    b_scales = powers(random, (COLUMNS // columns, blocks), np.float32)
    args = [a, a_scales, b, b_scales, np.zeros((ROWS, COLUMNS), BF16), *tile]
    exact_a = a.astype(np.float32) * a_scales.T.repeat(depth, 1)
    exact_b = b.astype(np.float32) * b_scales.repeat(columns, 0).repeat(depth, 1)
    grid = (ROWS // rows, COLUMNS // columns)
    for (found,) in run_everywhere(scaled.block_matmul, grid, args, (4,), target=target, hints={}):
        equal(found, exact_a @ exact_b.T)


@pytest.mark.parametrize("columns", [128, 256])
def test_grouped(columns: int, random: np.random.Generator, target: str) -> None:
    x, w = integers(random, (384, 128), BF16), integers(random, (4, COLUMNS, 128), BF16)
    owners = np.array([3, 0, 3], np.int32)
    args = [x, w, owners, np.zeros((384, COLUMNS), BF16), 128, columns, 64]
    exact = np.einsum("rk,rnk->rn", x.astype(np.float32), w[owners.repeat(128)].astype(np.float32))
    grid = (3, COLUMNS // columns)
    for (found,) in run_everywhere(weights.grouped_matmul, grid, args, (3,), target=target, hints={}):
        equal(found, exact)


@pytest.mark.parametrize("columns", [128, 256])
def test_grouped_by_slices(columns: int, random: np.random.Generator, target: str) -> None:
    """Groups of 150, 0, 3 and 130 rows; rows of other groups and those after the last one keep their values."""
    starts = np.array([0, 150, 150, 153, 283], np.int32)
    x, w = integers(random, (300, 128), BF16), integers(random, (4, COLUMNS, 128), BF16)
    args = [x, w, starts, np.full((300, COLUMNS), 99, BF16), 128, columns, 64]
    exact = np.full((300, COLUMNS), 99, np.float32)
    for group, (begin, end) in enumerate(zip(starts, starts[1:], strict=False)):
        exact[begin:end] = x[begin:end].astype(np.float32) @ w[group].astype(np.float32).T
    grid = (2, COLUMNS // columns, 4)
    for (found,) in run_everywhere(weights.grouped_matmul_of_slices, grid, args, (3,), target=target, hints={}):
        equal(found, exact)


@pytest.mark.parametrize("tile", [(128, 128, 64), (128, 256, 64), (16, 128, 128)])
def test_byte_weights(tile: tuple[int, int, int], random: np.random.Generator, target: str) -> None:
    rows = 2 * tile[0] - 5
    a, w = integers(random, (rows, 256), np.float16), random.integers(-128, 128, (256, 256)).astype(np.int8)
    factors = powers(random, (256,), np.float16) / np.float16(64)
    args = [a, w, factors, np.zeros((rows, 256), np.float16), *tile]
    exact = a.astype(np.float32) @ w.astype(np.float32).T * factors.astype(np.float32)
    for (found,) in run_everywhere(
        weights.matmul_of_byte_weights, (2, 256 // tile[1]), args, (3,), target=target, hints={}
    ):
        equal(found, exact)


@pytest.mark.parametrize("tile", [(128, 128, 128), (16, 128, 128)])
def test_nibble_weights(tile: tuple[int, int, int], random: np.random.Generator, target: str) -> None:
    rows = 2 * tile[0] - 5
    a, codes = integers(random, (rows, 256), np.float16, 2), random.integers(0, 16, (256, 256)).astype(np.uint8)
    factors, zeros = powers(random, (2, 256), np.float16), random.integers(0, 16, (2, 256)).astype(np.float16)
    args = [a, codes[0::2] | codes[1::2] << 4, factors, zeros, np.zeros((rows, 256), np.float16), *tile]
    w = (codes.astype(np.float32) - zeros.astype(np.float32).repeat(128, 0)) * factors.repeat(128, 0)
    for (found,) in run_everywhere(weights.matmul_of_nibble_weights, (2, 2), args, (4,), target=target, hints={}):
        equal(found, a.astype(np.float32) @ w)


@pytest.mark.parametrize("columns", [128, 256])
@pytest.mark.parametrize("blocks", [3, 7])
def test_equal_parts(columns: int, blocks: int, random: np.random.Generator, target: str) -> None:
    """Parts begin and end within tiles, and with 7 blocks one tile has more than two parts."""
    a, b = integers(random, (200, 320), np.float16), integers(random, (320, 256), np.float16)
    args = [a, b, np.zeros((200, 256), np.float32), 128, columns, 64]
    for (found,) in run_everywhere(weights.matmul_of_equal_parts, (blocks,), args, (2,), target=target, hints={}):
        equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("tile", [(128, 128, 64), (64, 64, 128)])
def test_split_depth(tile: tuple[int, int, int], random: np.random.Generator, target: str) -> None:
    a, b = integers(random, (200, 448), np.float16), integers(random, (448, 128), np.float16)
    args = [a, b, np.zeros((200, 128), np.float32), 4, *tile]
    grid = (-(-200 // tile[0]), 128 // tile[1], 4)
    for (found,) in run_everywhere(weights.split_matmul, grid, args, (2,), target=target, hints={}):
        equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("columns", [128, 256])
def test_linear_cross_entropy(columns: int, random: np.random.Generator, target: str) -> None:
    """300 words, so that the last tile has words that do not exist."""
    x, w = (random.standard_normal((rows, 128), np.float32).astype(BF16) for rows in (200, 300))
    w = (w.astype(np.float32) / 8).astype(BF16)
    labels = random.integers(0, 300, 200).astype(np.int32)
    args = [x, w, labels, np.zeros(200, np.float32), 128, columns, 64]
    logits = x.astype(np.float64) @ w.astype(np.float64).T
    largest = logits.max(-1)
    losses = largest + np.log(np.exp(logits - largest[:, None]).sum(-1)) - logits[np.arange(200), labels]
    # The error of a logit counts in the logarithm and in the logit of the label; sums of 300 exponentials are rounded.
    tolerance = 2 * product_tolerance(x.astype(np.float64), w.astype(np.float64).T, logits, np.float32).max(-1)
    for (found,) in run_everywhere(weights.linear_cross_entropy, (2,), args, (3,), target=target, hints={}):
        assert_within(found, losses, tolerance + 2.0**-16)


@pytest.mark.parametrize("tile", [(128, 128, 32), (64, 64, 32)])
@pytest.mark.parametrize(("of_a", "of_b"), [(4095, 63), (63, 4095)])
def test_products_of_floats(
    tile: tuple[int, int, int], of_a: int, of_b: int, random: np.random.Generator, target: str
) -> None:
    """One operand has 12 significant bits, and tf32 keeps 11 of them. Sums stay below 2^24."""
    a, b = integers(random, (150, 48), np.float32, of_a), integers(random, (48, 200), np.float32, of_b)
    args = [a, b, np.zeros((150, 200), np.float32), *tile]
    grid = (-(-150 // tile[0]), -(-200 // tile[1]))
    for (found,) in run_everywhere(weights.float_matmul, grid, args, (2,), target=target, hints={}):
        equal(found, a.astype(np.float64) @ b.astype(np.float64))
