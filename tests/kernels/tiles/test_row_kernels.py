"""Kernels that stream rows: softmax, norms, sums, copies and gathers, with tails, on both targets and interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Constant = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def softmax(x, y, columns: Constant):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, columns), padding_mode=ct.PaddingMode.NEG_INF)
    numerator = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(y, index=(ct.bid(0), 0), tile=numerator / ct.sum(numerator, axis=1, keepdims=True))


@ct.kernel
def softmax_persistent(x, y, columns: Constant):
    for i in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        row = ct.load(x, index=(i, 0), shape=(1, columns))
        numerator = ct.exp(row - ct.max(row, axis=1, keepdims=True))
        ct.store(y, index=(i, 0), tile=numerator / ct.sum(numerator, axis=1, keepdims=True))


@ct.kernel
def layer_norm(x, weight, bias, y, columns: Constant):
    """Three passes over the blocks of a row; elements after the end of the row are zero, and masked in the second."""
    i, n = ct.bid(0), x.shape[1]
    count = ct.num_tiles(x, axis=1, shape=(1, columns))
    mean = ct.full((1, columns), 0, dtype=ct.float32)
    for j in range(count):
        mean += ct.load(x, index=(i, j), shape=(1, columns), padding_mode=ZERO)
    mean = ct.sum(mean, axis=1) / n
    variance = ct.full((1, columns), 0, dtype=ct.float32)
    for j in range(count):
        tile = ct.load(x, index=(i, j), shape=(1, columns), padding_mode=ZERO)
        is_inside = j * columns + ct.arange(columns, dtype=ct.int32) < n
        variance += ct.where(is_inside, tile - mean, 0) ** 2
    deviation = ct.sqrt(ct.sum(variance, axis=1) / n + 1e-3)
    for j in range(count):
        tile = ct.load(x, index=(i, j), shape=(1, columns), padding_mode=ZERO)
        factor = ct.load(weight, index=(j,), shape=(columns,), padding_mode=ZERO)
        added = ct.load(bias, index=(j,), shape=(columns,), padding_mode=ZERO)
        ct.store(y, index=(i, j), tile=((tile - mean) / deviation * factor + added).astype(y.dtype))


@ct.kernel
def rms_norm_persistent(x, weight, bias, y, columns: Constant):
    """Two rows per tile; the same rows are loaded twice, by two loops."""
    count = ct.num_tiles(x, axis=1, shape=(2, columns))
    for i in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(2, columns)), ct.num_blocks(0)):
        squares = ct.full((2, 1), 0, dtype=ct.float32)
        for j in range(count):
            tile = ct.load(x, index=(i, j), shape=(2, columns), padding_mode=ZERO).astype(ct.float32)
            squares += ct.sum(tile * tile, axis=1, keepdims=True)
        scale = ct.rsqrt(squares / x.shape[1] + 1e-3)
        for j in range(count):
            tile = ct.load(x, index=(i, j), shape=(2, columns), padding_mode=ZERO).astype(ct.float32)
            factor = ct.load(weight, index=(j,), shape=(columns,), padding_mode=ZERO)
            ct.store(y, index=(i, j), tile=(tile * scale * factor).astype(y.dtype))


@ct.kernel
def sums(x, rows, columns, height: Constant, width: Constant):
    """Streams the columns of a band of rows, then the rows of a band of columns."""
    i = ct.bid(0)
    total = ct.full((height,), 0, dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(height, width))):
        total += ct.sum(ct.load(x, index=(i, j), shape=(height, width), padding_mode=ZERO), axis=1)
    ct.store(rows, index=(i,), tile=total)
    down = ct.full((1, width), 0, dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=0, shape=(height, width))):
        down += ct.sum(ct.load(x, index=(j, i), shape=(height, width), padding_mode=ZERO), axis=0, keepdims=True)
    ct.store(columns, index=(0, i), tile=down)


@ct.kernel
def copy_persistent(x, y, height: Constant, width: Constant):
    for i in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(height, width)), ct.num_blocks(0)):
        for j in range(ct.num_tiles(x, axis=1, shape=(height, width))):
            ct.store(y, index=(i, j), tile=ct.load(x, index=(i, j), shape=(height, width), padding_mode=ZERO))


@ct.kernel
def embedding(table, indices, y, height: Constant, width: Constant):
    i, j = ct.bid(0), ct.bid(1)
    rows = ct.load(indices, index=(i,), shape=(height,), padding_mode=ZERO)
    columns = j * width + ct.arange(width, dtype=ct.int32)
    ct.store(y, index=(i, j), tile=ct.gather(table, (rows[:, None], columns[None, :])))


@ct.kernel
def add_row(x, row, y, height: Constant, width: Constant):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(height, width)) + ct.load(row, index=(j,), shape=(width,))
    ct.store(y, index=(i, j), tile=tile)


@ct.kernel
def sum_by_pointers(x, y, width: Constant, steps: Constant):
    i, total = ct.bid(0), ct.full((width,), 0, dtype=ct.float32)
    for k in range(steps):
        total += ct.gather(x, (i * steps + k) * width + ct.arange(width, dtype=ct.int32)).astype(ct.float32)
    ct.store(y, index=(i,), tile=ct.sum(total, axis=0, keepdims=True))


@ct.kernel
def sum_of_blocks(x, y, first: int, last: int, step: int, width: Constant):
    """Threads load the blocks themselves; the loop has any number of iterations."""
    total = ct.full((width,), 0, dtype=ct.float32)
    for j in range(first, last, step):
        total += ct.load(x, index=(j,), shape=(width,), padding_mode=ZERO, allow_tma=False)
    ct.store(y, index=(0,), tile=total)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Multiples of 1/4 of at most 4, whose sums and products are exact in f32."""
    random = np.random.default_rng(5)
    return (random.integers(-16, 17, shape) / 4).astype(dtype)


def soft(x: np.ndarray) -> np.ndarray:
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return exact / exact.sum(axis=1, keepdims=True)


def normalized(x: np.ndarray, center: np.ndarray) -> np.ndarray:
    exact = x.astype(np.float64) - center
    return exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + 1e-3)


def check(
    kernel: Any,
    grid: Sequence[int],
    arguments: Sequence[Any],
    exact: dict[int, np.ndarray],
    target: str,
    tolerance: float = 0.0,
    hints: dict[str, Any] | None = None,
) -> None:
    outputs = list(exact)
    for found in run_everywhere(
        kernel, grid, arguments, outputs, target=target, hints=hints or {}, seeds=(0, 1)
    ):  # fmt: skip
        for number, array in zip(outputs, found, strict=True):
            np.testing.assert_allclose(array.astype(np.float64), exact[number], rtol=tolerance, atol=tolerance)


# The largest error of exp, division and sums of 512 positive numbers in f32, and of a result in f16.
F32, F16 = 2.0**-17, 2.0**-9


# 504 elements are whole vectors, 502 are not: then TMA cuts the rows at their end.
@pytest.mark.parametrize("columns", [504, 502])
def test_softmax(columns: int, target: str) -> None:
    x = numbers(3, 504)[:, :columns]
    check(softmax, (3, 1, 1), (x, np.zeros((3, 504), np.float32)[:, :columns], 512), {1: soft(x)}, target, F32)


def test_softmax_persistent(switches: dict[str, bool], target: str) -> None:
    x = numbers(7, 512)
    check(softmax_persistent, (2, 1, 1), (x, np.zeros_like(x), 512), {1: soft(x)}, target, F32, switches)


@pytest.mark.parametrize(("columns", "dtype"), [(376, np.float16), (374, np.float32)])
def test_layer_norm(columns: int, dtype: Any, target: str) -> None:
    x, weight, bias = (
        numbers(2, 376, dtype=dtype)[:, :columns],
        numbers(columns, dtype=dtype),
        numbers(columns, dtype=dtype),
    )
    exact = normalized(x, x.astype(np.float64).mean(axis=1, keepdims=True)) * weight + bias
    y = np.zeros((2, 376), dtype)[:, :columns]
    tolerance = F16 * 8 if dtype == np.float16 else F32 * 8
    check(layer_norm, (2, 1, 1), (x, weight, bias, y, 128), {3: exact}, target, tolerance)


def test_rms_norm_persistent(target: str) -> None:
    x, weight = numbers(9, 504, dtype=np.float16), numbers(504, dtype=np.float16)
    exact = normalized(x, np.zeros((9, 1))) * weight
    check(rms_norm_persistent, (2, 1, 1), (x, weight, weight, np.zeros_like(x), 256), {3: exact}, target, F16 * 8)


@pytest.mark.parametrize("tile", [(16, 128), (2, 512)])
def test_sums(tile: tuple[int, int], target: str) -> None:
    x = numbers(37, 500)
    blocks = max(-(-37 // tile[0]), -(-500 // tile[1]))
    results = np.zeros(37, np.float32), np.zeros((1, 500), np.float32)
    exact = {1: x.sum(axis=1, dtype=np.float64), 2: x.sum(axis=0, dtype=np.float64, keepdims=True)}
    check(sums, (blocks, 1, 1), (x, *results, *tile), exact, target)


@pytest.mark.parametrize(("shape", "tile"), [((9, 1000), (2, 512)), ((9, 1001), (2, 512)), ((70, 64), (16, 64))])
def test_copy_persistent(shape: tuple[int, int], tile: tuple[int, int], target: str) -> None:
    rows, columns = shape
    x = numbers(rows, 1008)[:, :columns]
    check(copy_persistent, (2, 1, 1), (x, np.zeros((rows, 1008), np.float32)[:, :columns], *tile), {1: x}, target)


def test_embedding(target: str) -> None:
    table, indices = numbers(50, 120, dtype=np.float16), np.random.default_rng(3).integers(0, 50, 40).astype(np.int32)
    y = np.zeros((40, 120), np.float16)
    check(embedding, (2, 2, 1), (table, indices, y, 32, 64), {2: table[indices]}, target)


def test_add_row(target: str) -> None:
    x, row = numbers(30, 120, dtype=np.float16), numbers(120, dtype=np.float16)
    check(add_row, (2, 2, 1), (x, row, np.zeros_like(x), 16, 64), {2: x + row}, target)


def test_sum_by_pointers(target: str) -> None:
    x = numbers(3 * 5 * 256 - 100, dtype=np.float16)
    exact = np.pad(x.astype(np.float64), (0, 100)).reshape(3, -1).sum(axis=1)
    check(sum_by_pointers, (3, 1, 1), (x, np.zeros(3, np.float32), 256, 5), {1: exact}, target)


@pytest.mark.parametrize("blocks", [(0, 9, 1), (3, 7, 1), (2, 16, 3), (5, 5, 1), (7, 2, 1), (0, 17, 4)])
def test_sum_of_blocks(blocks: tuple[int, int, int], target: str) -> None:
    """Rounds of four iterations, what is left, and no iteration; the last block is outside of the array."""
    x = numbers(16 * 256)
    exact = np.zeros(256) + sum((x[256 * j : 256 * (j + 1)].astype(np.float64) for j in range(*blocks) if j < 16), 0.0)
    check(sum_of_blocks, (1, 1, 1), (x, np.zeros(256, np.float32), *blocks, 256), {1: exact}, target)


def stage(kernel: Any, signature: str, target: str, name: str) -> str:
    return ct.compile(kernel, target=target, signature=signature, stop="ptx").stage(name).text


def test_rows_of_whole_vectors_leave_by_vector_stores(target: str) -> None:
    ptx = stage(softmax, "x: f32[?,?%4], y: f32[?,?%4], columns=4096", target, "ptx")
    assert "cp.async.bulk" not in ptx
    assert ptx.count("st.global.v4.f32") == 4096 // (128 * 4)


def test_other_rows_leave_by_the_widest_boxes(target: str) -> None:
    """TMA writes 16 bytes as a whole; a lane stores the elements after the last 16 bytes of the row."""
    ptx = stage(softmax, "x: f32[?,?], y: f32[?,?], columns=4096", target, "ptx")
    assert ptx.count("cp.async.bulk.tensor.2d.global.shared::cta") == 4096 // 256
    assert ptx.count("st.global.f32") == 3


@pytest.mark.parametrize(
    ("kernel", "signature", "copies", "persistent"),
    [
        # tileiras 13.5 makes 16, 16, 20 and 8 copies (4 KB, 1 KB, 512 B, and 512 B by 16 rows).
        (softmax_persistent, "x: f32[?,?%4], y: f32[?,?%4], columns=4096", 8, True),
        (softmax_persistent, "x: f32[?,?], y: f32[?,?], columns=4096", 16, True),
        (layer_norm, "x: f16[?,?%8], weight: f16[?%8], bias: f16[?%8], y: f16[?,?%8], columns=1024", 5, False),
        (sums, "x: f16[?,?%8], rows: f32[?], columns: f32[?,?], height=16, width=512", 2, False),
    ],
)
def test_loads_in_loops_are_few_copies_that_run_ahead(
    kernel: Any, signature: str, copies: int, persistent: bool, target: str
) -> None:
    """On sm_90a only where a block computes several tiles: elsewhere threads are faster, as measured on H200."""
    copies = copies if persistent or target == "sm_100a" else 0
    assert stage(kernel, signature, target, "ptx").count("mbarrier::complete_tx::bytes [") == copies
    assert ("load warps 1" in stage(kernel, signature, target, "gpu")) == bool(copies)


def test_a_persistent_kernel_has_64_kilobytes_in_flight(target: str) -> None:
    """A row of f16 has 8 KB, so that four slots would reach four fifths of the bandwidth of B200."""
    signature = "x: f16[?,?%8], y: f16[?,?%8], columns=4096"
    assert "make_channel stages 8 " in stage(softmax_persistent, signature, target, "gpu")


def test_loads_of_four_iterations_are_in_flight(target: str) -> None:
    signature = "x: f32[?%4], y: f32[?%4], first: i32, last: i32, step: i32, width=512"
    lines = stage(sum_of_blocks, signature, target, "ptx").splitlines()
    loads = [number for number, line in enumerate(lines) if "ld.global.v4" in line]
    sums = [number for number, line in enumerate(lines) if "add.rn.f32" in line or "add.f32" in line]
    assert len(loads) == 5 and max(loads[:4]) < min(sums)


def test_indices_of_an_embedding_are_loaded_where_they_are_used(target: str) -> None:
    """Each thread loads the indices of its rows: nothing goes through shared memory, before or after the rows."""
    signature = "table: f16[?,?%8], indices: i32[?%4], y: f16[?,?%8], height=64, width=64"
    ptx = stage(embedding, signature, target, "ptx")
    assert "shared" not in ptx and "shfl" not in ptx and "bar.sync" not in ptx
