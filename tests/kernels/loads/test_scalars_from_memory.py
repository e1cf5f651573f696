"""Kernels whose bounds, conditions or coordinates come from memory: each role reads the scalars that it needs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere
from numpy.typing import NDArray

import tilec
import tilec as ct
from tilec.signature import Signature

ROWS, COLUMNS, STEP = 64, 64, 32
STEPS, BLOCKS = 3, 3


@ct.kernel
def product_of_expert(x, weights, experts, out):
    """A mixture of experts: memory has the expert of each block of rows."""
    i = ct.bid(0)
    expert = ct.load(experts, (i,), (1,)).item()
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(x, 1, (ROWS, STEP))):
        weight = ct.load(weights, (expert, k, 0), (1, STEP, COLUMNS)).reshape((STEP, COLUMNS))
        total = ct.mma(ct.load(x, (i, k), (ROWS, STEP)), weight, total)
    ct.store(out, (i, 0), total)


@ct.kernel
def product_of_some_steps(x, weights, counts, out):
    """Variable lengths: memory has the number of steps of each block, read by a pointer."""
    i = ct.bid(0)
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.gather(counts, i).item()):
        total = ct.mma(ct.load(x, (i, k), (ROWS, STEP)), ct.load(weights, (k, 0), (STEP, COLUMNS)), total)
    ct.store(out, (i, 0), total)


@ct.kernel
def product_of_pages(x, weights, pages, out):
    """Paged operands: memory has the page of each step."""
    i = ct.bid(0)
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(ct.num_tiles(pages, 1, (1, 1))):
        page = ct.load(pages, (i, k), (1, 1)).item()
        total = ct.mma(ct.load(x, (i, k), (ROWS, STEP)), ct.load(weights, (page, 0), (STEP, COLUMNS)), total)
    ct.store(out, (i, 0), total)


@ct.kernel
def product_until_a_mark(x, weights, pages, out):
    """A list of pages that ends with a negative number; a block whose list is empty returns."""
    i = ct.bid(0)
    if ct.load(pages, (i, 0), (1, 1)).item() < 0:
        return
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    k = 0
    while True:
        page = ct.load(pages, (i, k), (1, 1)).item()
        if page < 0:
            break
        total = ct.mma(ct.load(x, (i, k), (ROWS, STEP)), ct.load(weights, (page, 0), (STEP, COLUMNS)), total)
        k += 1
    ct.store(out, (i, 0), total)


@ct.kernel
def product_of_a_changed_count(x, weights, counts, out):
    """The block stores to the place of its number of steps, so that no other role may read it later."""
    i = ct.bid(0)
    count = ct.load(counts, (i,), (1,))
    ct.store(counts, (i,), count + 1)
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(count.item()):
        total = ct.mma(ct.load(x, (i, k), (ROWS, STEP)), ct.load(weights, (k, 0), (STEP, COLUMNS)), total)
    ct.store(out, (i, 0), total)


@ct.kernel
def tiles_of_some_steps(x, weights, tiles, counts, out, form: ct.Constant[str]):
    """Memory has the number of steps, in each of which threads add a tile to the product and double the sum."""
    last = ct.num_tiles(x, 0, (ROWS, STEP)) if form == "persistent" else ct.bid(0) + 1
    for i in range(ct.bid(0), last, ct.num_blocks(0)):
        count, total = ct.gather(counts, i), ct.zeros((ROWS, COLUMNS), ct.float32)
        if form == "while":
            k = 0
            while k * STEP < count * STEP:
                total = added(x, weights, tiles, i, k, total)
                k += 1
        else:
            for k in range(count):
                total = added(x, weights, tiles, i, k, total)
        ct.store(out, (i, 0), total)


@ct.kernel
def tiles_until_a_sum(x, weights, tiles, counts, out, form: ct.Constant[str]):
    """The sum of a tile of memory ends the loop, which no other role knows."""
    k, i, total = 0, ct.bid(0), ct.zeros((ROWS, COLUMNS), ct.float32)
    while ct.sum(ct.load(counts, (0,), (4,))) * k < 6 * ct.gather(counts, i):
        total = added(x, weights, tiles, i, k, total)
        k += 1
    ct.store(out, (i, 0), total)


@ct.kernel
def tiles_at_steps_of_a_sum(x, weights, tiles, out, is_for: ct.Constant[bool]):
    """The sum of a tile of memory decides by how many steps the next one is further, by an early `continue`."""
    k, i, total = 0, ct.bid(0), ct.zeros((ROWS, COLUMNS), ct.float32)
    if is_for:
        for _ in range(2):
            total = added(x, weights, tiles, i, k, total)
            if ct.sum(ct.load(tiles, (i, k), (ROWS, COLUMNS)).astype(ct.float32)) > 0:
                k += 2
                continue
            k += 1
    else:
        while k < STEPS:
            total = added(x, weights, tiles, i, k, total)
            if ct.sum(ct.load(tiles, (i, k), (ROWS, COLUMNS)).astype(ct.float32)) > 0:
                k += 2
                continue
            k += 1
    ct.store(out, (i, 0), total)


def added(x, weights, tiles, i, k, total):
    total = ct.mma(ct.load(x, (i, k), (ROWS, STEP)), ct.load(weights, (k, 0), (STEP, COLUMNS)), total)
    return 2 * (total + ct.load(tiles, (i, k), (ROWS, COLUMNS)).astype(ct.float32))


def integers(shape: tuple[int, ...], seed: int) -> NDArray[np.float16]:
    """Small integers: their sums of products are exact in f32."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def sum_of_pages(x: np.ndarray, weights: np.ndarray, pages: list[list[int]]) -> NDArray[np.float32]:
    """For each block, the products of its steps and the rows of `weights` that the list of pages names."""
    out = np.zeros((len(pages) * ROWS, COLUMNS), np.float32)
    for block, chosen in enumerate(pages):
        rows = slice(block * ROWS, (block + 1) * ROWS)
        for k, page in enumerate(chosen):
            part = x[rows, k * STEP : (k + 1) * STEP].astype(np.float32)
            out[rows] += part @ weights[page * STEP : (page + 1) * STEP].astype(np.float32)
    return out


LISTS = [[4, 0, 2], [], [1, 3]]
MARKED = np.array([[4, 0, 2, -1], [-1, 5, 5, 5], [1, 3, -1, 5]], np.int32)
EXPERTS = [2, 0, 1]
COUNTS = [2, 0, 3]
PAGES = [[4, 0, 2], [1, 1, 3], [5, 2, 0]]
# For each kernel: the array from which it reads scalars, and the pages of each block that follow from it.
CASES: dict[str, tuple[Any, np.ndarray, list[list[int]]]] = {
    "expert": (product_of_expert, np.array(EXPERTS, np.int32), [[STEPS * e + k for k in range(3)] for e in EXPERTS]),
    "count": (product_of_some_steps, np.array(COUNTS, np.int32), [list(range(count)) for count in COUNTS]),
    "pages": (product_of_pages, np.array(PAGES, np.int32), PAGES),
    "mark": (product_until_a_mark, MARKED, LISTS),
    "changed": (product_of_a_changed_count, np.array(COUNTS, np.int32), [list(range(count)) for count in COUNTS]),
}
REPEATED = ["expert", "count", "pages", "mark"]


def arguments(name: str) -> list[Any]:
    kernel, scalars, _ = CASES[name]
    weights = integers((9 * STEP, COLUMNS), 1)
    if kernel is product_of_expert:
        weights = weights.reshape(3, STEPS * STEP, COLUMNS)
    return [
        integers((BLOCKS * ROWS, STEPS * STEP), 0),
        weights,
        scalars.copy(),
        np.zeros((BLOCKS * ROWS, COLUMNS), np.float32),
    ]


@pytest.mark.parametrize("name", CASES)
def test_scalars_from_memory_choose_operands(name: str, target: str) -> None:
    kernel, _, pages = CASES[name]
    given = arguments(name)
    expected = sum_of_pages(given[0], given[1].reshape(-1, COLUMNS), pages)
    for _, out in run_everywhere(kernel, (BLOCKS,), given, (2, 3), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", REPEATED)
def test_kernels_keep_roles_and_rings(name: str, target: str) -> None:
    kernel = CASES[name][0]
    signature = Signature.from_arguments(kernel, arguments(name))
    compiled = tilec.compile(kernel, target=target, signature=signature, stop="ptx")
    gpu, ptx = compiled.stage("gpu").text, compiled.stage("ptx").text
    (stages,) = re.findall(r"make_channel stages (\d+) producer tma", gpu)
    assert "tile_gpu.roles" in gpu and int(stages) >= 4
    assert "mbarrier::complete_tx::bytes" in ptx
    assert "roles" not in {remark.topic for remark in compiled.all_remarks}


def test_a_scalar_that_the_kernel_overwrites_is_read_once(target: str) -> None:
    kernel = CASES["changed"][0]
    signature = Signature.from_arguments(kernel, arguments("changed"))
    gpu = tilec.compile(kernel, target=target, signature=signature, stop="ptx").stage("gpu").text
    assert gpu.count("tile_gpu.load_view") == 1 and "repeatable" not in gpu


@pytest.mark.parametrize("form", ["for", "while", "persistent", "tile"])
def test_tiles_beside_operands_are_loaded_ahead(form: str, target: str) -> None:
    x, weights = integers((BLOCKS * ROWS, STEPS * STEP), 0), integers((STEPS * STEP, COLUMNS), 1)
    tiles, expected = integers((BLOCKS * ROWS, STEPS * COLUMNS), 2), np.zeros((BLOCKS * ROWS, COLUMNS), np.float32)
    for i, count in enumerate(COUNTS):
        rows = slice(i * ROWS, (i + 1) * ROWS)
        for k in range(count):
            part = slice(k * STEP, (k + 1) * STEP)
            expected[rows] += x[rows, part].astype(np.float32) @ weights[part].astype(np.float32)
            expected[rows] = 2 * (expected[rows] + tiles[rows, k * COLUMNS : (k + 1) * COLUMNS])
    given = (x, weights, tiles, np.array([*COUNTS, 1], np.int32), np.zeros_like(expected), form)
    kernel = tiles_until_a_sum if form == "tile" else tiles_of_some_steps
    compiled = tilec.compile(kernel, target=target, signature=Signature.from_arguments(kernel, given), stop="gpu")
    reasons = [remark for remark in compiled.all_remarks if "depends on memory" in remark.message]
    assert bool(reasons) == (form == "tile")
    if form != "tile":
        assert compiled.stage("gpu").text.count("tile_gpu.tma_load") >= 3
    grid = 2 if form == "persistent" else BLOCKS
    for (out,) in run_everywhere(kernel, (grid,), given, (4,), target=target, hints={}, seeds=range(2)):
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("is_for", [True, False])
def test_tiles_at_steps_of_a_sum_are_loaded_by_threads(is_for: bool, target: str) -> None:
    x, weights = integers((BLOCKS * ROWS, STEPS * STEP), 0), integers((STEPS * STEP, COLUMNS), 1)
    tiles, expected = integers((BLOCKS * ROWS, STEPS * COLUMNS), 3), np.zeros((BLOCKS * ROWS, COLUMNS), np.float32)
    taken = []
    for i in range(BLOCKS):
        rows, k = slice(i * ROWS, (i + 1) * ROWS), 0
        for _ in range(2 if is_for else STEPS):
            if k >= STEPS:
                break
            part, tile = slice(k * STEP, (k + 1) * STEP), tiles[rows, k * COLUMNS : (k + 1) * COLUMNS]
            expected[rows] += x[rows, part].astype(np.float32) @ weights[part].astype(np.float32)
            expected[rows] = 2 * (expected[rows] + tile)
            taken.append(int(tile.astype(np.float32).sum() > 0))
            k += 1 + taken[-1]
    assert set(taken) == {0, 1}
    given = (x, weights, tiles, np.zeros_like(expected), is_for)
    signature = Signature.from_arguments(tiles_at_steps_of_a_sum, given)
    compiled = tilec.compile(tiles_at_steps_of_a_sum, target=target, signature=signature, stop="gpu")
    assert any("on a tile or on the result of a branch" in remark.message for remark in compiled.all_remarks)
    for (out,) in run_everywhere(
        tiles_at_steps_of_a_sum, (BLOCKS,), given, (3,), target=target, hints={}, seeds=range(2)
    ):
        np.testing.assert_array_equal(out, expected)
