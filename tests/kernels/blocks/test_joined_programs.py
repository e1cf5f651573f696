"""Products on sm_90a whose adjacent tile blocks form a cluster that loads once what both need.

All numbers are small integers, so that float32 holds every sum exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.errors import SimulationError
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.simulate import simulate

Extent = ct.Constant[int]
Input = Callable[[int, int], np.ndarray]
ZERO = ct.PaddingMode.ZERO
RELAXED = ct.MemoryOrder.RELAXED
TILE = 64, 128, 64
TARGET = "sm_90a"


def product(A, B, row, column, tm, tn, tk):
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        a = ct.load(A, (row, k), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (k, column), (tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    return total


@ct.kernel
def by_rows_and_columns(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """The right operand is the same for all tile blocks along axis 0."""
    row, column = ct.bid(0), ct.bid(1)
    ct.store(C, (row, column), product(A, B, row, column, tm, tn, tk))


@ct.kernel
def by_number(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """The left operand is the same for two tile blocks unless a row ends between them."""
    columns = ct.cdiv(C.shape[1], tn)
    row, column = ct.bid(0) // columns, ct.bid(0) % columns
    ct.store(C, (row, column), product(A, B, row, column, tm, tn, tk))


@ct.kernel
def in_bands(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """Bands of two rows, in which tile blocks are numbered along columns; the last band may have one row."""
    rows, columns = ct.cdiv(C.shape[0], tm), ct.cdiv(C.shape[1], tn)
    band = ct.bid(0) // (2 * columns)
    height = min(rows - 2 * band, 2)
    row, column = 2 * band + ct.bid(0) % (2 * columns) % height, ct.bid(0) % (2 * columns) // height
    ct.store(C, (row, column), product(A, B, row, column, tm, tn, tk))


@ct.kernel
def of_a_triangle(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """Tile blocks below the diagonal compute nothing."""
    row, column = ct.bid(0), ct.bid(1)
    if row > column:
        return
    ct.store(C, (row, column), product(A, B, row, column, tm, tn, tk))


@ct.kernel
def of_more_steps(A, B, C, tm: Extent, tn: Extent, tk: Extent):
    """Each tile block has another number of steps."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(row + 1):
        total = ct.mma(ct.load(A, (row, k), (tm, tk)), ct.load(B, (k, column), (tk, tn)), total)
    ct.store(C, (row, column), total)


@ct.kernel
def in_turn(A, B, C, N, tm: Extent, tn: Extent, tk: Extent):
    """Each tile block waits for the one before it."""
    total = product(A, B, ct.bid(0), 0, tm, tn, tk)
    while ct.atomic_add(N, (0,), 0, memory_order=RELAXED).item() < ct.bid(0):
        pass
    ct.store(C, (ct.bid(0), 0), total)
    ct.atomic_add(N, (0,), 1, memory_order=RELAXED)


@pytest.fixture
def integers(random: np.random.Generator) -> Input:
    return lambda rows, columns: random.integers(-3, 4, (rows, columns)).astype(np.float16)


def compiled(kernel: Any, tile: tuple[int, int, int] = TILE, **hints: Any) -> tuple[Artifact, Any]:
    arrays = "A: f16[?,?], B: f16[?,?], C: f32[?,?]" + (", N: i32[?]" if kernel is in_turn else "")
    extents = "tm={}, tn={}, tk={}".format(*tile)
    result = ct.compile(kernel, target=TARGET, signature=f"{arrays}, {extents}", hints=hints)
    return result.artifact, result.all_remarks


# A kernel, the tiles along rows and columns, and its grid.
GRIDS = {
    "whole clusters": (by_rows_and_columns, (2, 3), (2, 3)),
    "odd extent": (by_rows_and_columns, (3, 2), (3, 2)),
    "rows that end inside of clusters": (by_number, (2, 3), (6,)),
    "odd number": (by_number, (3, 1), (3,)),
    "equal columns": (in_bands, (2, 2), (4,)),
    "band of one row": (in_bands, (3, 2), (6,)),
    "odd bands": (in_bands, (3, 3), (9,)),
}


@pytest.mark.parametrize("name", GRIDS)
def test_product(integers: Input, target: str, name: str) -> None:
    """Six steps fill the ring more than once; the last rows, columns and products are outside of the matrices."""
    kernel, (rows, columns), grid = GRIDS[name]
    a, b = integers(TILE[0] * rows - 24, 376), integers(376, TILE[1] * columns - 8)
    c = np.full((a.shape[0], b.shape[1]), np.nan, np.float32)
    for (found,) in run_everywhere(kernel, grid, (a, b, c, *TILE), [2], target=target, hints={}):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("switch", ["roles", "pipeline", "multicast"])
def test_product_without_a_pass(integers: Input, switch: str) -> None:
    a, b, c = integers(192, 384), integers(384, 256), np.full((192, 256), np.nan, np.float32)
    hints = {switch: False}
    for (found,) in run_everywhere(in_bands, (6,), (a, b, c, *TILE), [2], target=TARGET, hints=hints):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


def test_columns_of_the_right_operand(integers: Input) -> None:
    a, b, c = integers(128, 128), np.asfortranarray(integers(128, 128)), np.full((128, 128), np.nan, np.float32)
    for (found,) in run_everywhere(
        by_rows_and_columns, (2, 1), (a, b, c, *TILE), [2], target=TARGET, hints={}, seeds=range(3)
    ):
        assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("kernel", [by_rows_and_columns, by_number, in_bands], ids=lambda kernel: kernel.name)
def test_adjacent_tile_blocks_are_joined(kernel: Any) -> None:
    artifact, _ = compiled(kernel)
    assert (artifact.metadata.cluster, artifact.metadata.cluster_if_divisible) == ((2, 1, 1), True)
    assert ".multicast::cluster" in artifact.ptx and ".reqnctapercluster" not in artifact.ptx


@pytest.mark.parametrize("tile", [(128, 128, 64), (64, 256, 64), (128, 256, 64)], ids=str)
def test_tile_blocks_that_need_little_from_l2_stay_separate(tile: tuple[int, int, int]) -> None:
    """On an H200 clusters of them take 2 to 5 % longer, though L2 bounds the first two in the model."""
    artifact, _ = compiled(by_rows_and_columns, tile)
    assert artifact.metadata.cluster == (1, 1, 1)


# What excludes clusters: a kernel, its hints, and the reason in the remark.
SEPARATE = {
    "hint": (by_rows_and_columns, {"num_ctas": 1}, None),
    "switch": (by_rows_and_columns, {"multicast": False}, None),
    "early return": (of_a_triangle, {}, "a loop or a branch around the loads may differ between them"),
    "other trip counts": (of_more_steps, {}, "a loop or a branch around the loads may differ between them"),
    "wait for another tile block": (in_turn, {}, "a loop of the kernel may wait for another tile block"),
}


@pytest.mark.parametrize("name", SEPARATE)
def test_tile_blocks_stay_separate(name: str) -> None:
    kernel, hints, reason = SEPARATE[name]
    artifact, remarks = compiled(kernel, **hints)
    assert artifact.metadata.cluster == (1, 1, 1) and ".multicast" not in artifact.ptx
    found = [remark.message for remark in remarks if "adjacent tile blocks" in remark.message]
    assert found == ([] if reason is None else [f"adjacent tile blocks do not load the same operands once: {reason}"])


# What is replaced in the PTX (a pattern and which of its matches) by what.
MUTANTS = {
    "slots are empty after one CTA": (r"mul\.lo\.s32 (%r\d+), (%r\d+), 4;", 0, r"mov.b32 \1, 4;"),
    "the second part is not loaded": (r"or\.pred (%p\d+), (%p\d+), (%p\d+);", 1, r"or.pred \1, \3, \3;"),
    "shared where columns differ": (r"not\.pred (%p\d+), (%p\d+);", 0, r"xor.pred \1, \2, \2;"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(integers: Input, name: str) -> None:
    """In the grid of six tile blocks, the second cluster has two columns."""
    pattern, number, replacement = MUTANTS[name]
    artifact, _ = compiled(in_bands)
    match = list(re.finditer(pattern, artifact.ptx))[number]
    ptx = artifact.ptx[: match.start()] + match.expand(replacement) + artifact.ptx[match.end() :]
    a, b, c = integers(192, 384), integers(384, 256), np.full((192, 256), np.nan, np.float32)
    try:
        simulate(Artifact(artifact.metadata, ptx), (6,), (a, b, c))
    except SimulationError:
        return
    assert not np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
