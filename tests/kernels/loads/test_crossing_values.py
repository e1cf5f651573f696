"""Numbers that only threads compute decide what other roles load and multiply: they cross in shared memory.

Operands are small integers, so that every sum is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.explain.cost import kernel_costs
from tilec.lowering.target import TARGETS
from tilec.signature import Signature

SIZE, DEPTH, TILES = 64, 64, 5
RELAXED = ct.MemoryOrder.RELAXED


@ct.function
def product(A, B, row, steps):
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for k in range(steps):
        total = ct.mma(ct.load(A, (row, k), (SIZE, DEPTH)), ct.load(B, (k, 0), (DEPTH, SIZE)), total)
    return total


@ct.kernel
def counter(A, B, N, C, tiles: int):
    """Each block takes the next tile from a counter."""
    tile = ct.atomic_add(N, 0, 1, memory_order=RELAXED)
    while tile < tiles:
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH)))
        tile = ct.atomic_add(N, 0, 1, memory_order=RELAXED)


@ct.kernel
def counter_ahead(A, B, N, C, tiles: int):
    """The next tile is taken before this one is multiplied, so that other roles do not wait for this one's store."""
    tile = ct.atomic_add(N, 0, 1, memory_order=RELAXED)
    while tile < tiles:
        following = ct.atomic_add(N, 0, 1, memory_order=RELAXED)
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH)))
        tile = following


@ct.kernel
def stored_before(A, B, N, C, tiles: int):
    """The number of steps is loaded from where the kernel has stored it, for each tile."""
    for tile in range(tiles):
        ct.store(N, (1,), ct.full((1,), tile % 4, ct.int32))
        ct.store(C, (tile, 0), product(A, B, tile, ct.load(N, (1,), (1,)).item()))


@ct.kernel
def until_large(A, B, N, C, tiles: int):
    """Products are added until the largest sum exceeds a bound, which decides about the next iteration."""
    total, tile = ct.zeros((SIZE, SIZE), ct.float32), 0
    while ct.max(total) < 200 and tile < tiles:
        total = total + product(A, B, tile, ct.cdiv(A.shape[1], DEPTH))
        tile += 1
    ct.store(C, (0, 0), total)
    ct.store(C, (1, 0), ct.full((SIZE, SIZE), tile, ct.float32))


@ct.kernel
def branches(A, B, N, C, tiles: int):
    """The tile that a block takes decides whether it is multiplied, and how deep."""
    for _ in range(tiles):
        tile = ct.atomic_add(N, 0, 1, memory_order=RELAXED)
        if tile < tiles:
            if tile % 2 == 0:
                ct.store(C, (tile, 0), product(A, B, tile, tile))
            else:
                ct.store(C, (tile, 0), product(A, B, TILES - tile, 1))


@ct.kernel
def row_of_a_tile(A, B, N, C, tiles: int):
    """The rows to load are elements of a tile that threads compute."""
    rows = (ct.arange(8, dtype=ct.int32) * 3 + ct.atomic_add(N, 0, 0, memory_order=RELAXED)) % TILES
    for tile in range(tiles):
        row = ct.extract(rows, (tile,), (1,)).item()
        ct.store(C, (tile, 0), product(A, B, row, ct.cdiv(A.shape[1], DEPTH)))


KERNELS = [counter, counter_ahead, stored_before, until_large, branches, row_of_a_tile]


def name(kernel: Any) -> str:
    return str(kernel.__name__)


def expected(kernel: str, a: np.ndarray, b: np.ndarray, tiles: int) -> np.ndarray:
    a, b, found = a.astype(np.float64), b.astype(np.float64), np.zeros((a.shape[0], SIZE))

    def rows(tile: int) -> slice:
        return slice(tile * SIZE, (tile + 1) * SIZE)

    if kernel == "until_large":
        total, tile = np.zeros((SIZE, SIZE)), 0
        while total.max() < 200 and tile < tiles:
            total, tile = total + a[rows(tile)] @ b, tile + 1
        found[rows(0)], found[rows(1)] = total, tile
        return found
    for tile in range(tiles):
        row, depth = tile, a.shape[1]
        if kernel == "stored_before":
            depth = tile % 4 * DEPTH
        elif kernel == "branches":
            row, depth = (tile, tile * DEPTH) if tile % 2 == 0 else (TILES - tile, DEPTH)
        elif kernel == "row_of_a_tile":
            row = tile * 3 % TILES
        found[rows(tile)] = a[rows(row), :depth] @ b[:depth]
    return found


def arguments(random: np.random.Generator, tiles: int) -> tuple[Any, ...]:
    a = random.integers(-2, 3, (TILES * SIZE, 4 * DEPTH)).astype(np.float16)
    b = random.integers(-2, 3, (4 * DEPTH, SIZE)).astype(np.float16)
    return a, b, np.zeros(2, np.int32), np.zeros((TILES * SIZE, SIZE), np.float32), tiles


@pytest.mark.parametrize("hints", [{}, {"pipeline": False}, {"stages": 2}, {"roles": False}], ids=str)
@pytest.mark.parametrize("tiles", [0, 1, 5])
@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_roles_follow_the_numbers_of_threads(
    kernel: Any, tiles: int, hints: dict[str, Any], target: str, random: np.random.Generator
) -> None:
    given = arguments(random, tiles)
    wanted = expected(name(kernel), given[0], given[1], tiles)
    for found, _ in run_everywhere(kernel, (1,), given, (3, 2), target=target, hints=hints, seeds=range(3)):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("blocks", [2, 3, 8])
def test_blocks_take_tiles_from_a_counter(blocks: int, target: str, random: np.random.Generator) -> None:
    given = arguments(random, TILES)
    wanted = expected("counter", given[0], given[1], TILES)
    for found, count in run_everywhere(counter, (blocks,), given, (3, 2), target=target, hints={}, seeds=range(3)):
        np.testing.assert_array_equal(found, wanted)
        assert count[0] == TILES + blocks


def test_roles_run_ahead_until_they_use_the_number(random: np.random.Generator) -> None:
    """On sm_100a the multiplies of the next tile hide the epilogue if the next tile is known before this one."""
    shares = []
    for kernel in (counter, counter_ahead):
        signature = Signature.from_arguments(kernel, arguments(random, 1))
        made = ct.compile(kernel, target="sm_100a", signature=signature, stop="gpu").stage("gpu")
        (cost,) = kernel_costs(made.value, "sm_100a")
        (epilogue,) = (loop.epilogue for loop in cost.loops if loop.epilogue is not None)
        shares.append(epilogue.hidden_share)
    assert shares[0] == 0 and shares[1] > 0.9


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_kernels_have_roles(kernel: Any, target: str, random: np.random.Generator) -> None:
    signature = Signature.from_arguments(kernel, arguments(random, 1))
    made = ct.compile(kernel, target=target, signature=signature, stop="gpu")
    assert "consumers [warp" in made.gpu
    assert "load warps 1" in made.gpu
    assert not [remark for remark in made.all_remarks if "not split into roles" in remark.message]


def test_kernel_without_memory_for_the_number_has_one_role(random: np.random.Generator, monkeypatch: Any) -> None:
    """A target has as much shared memory as one role needs."""
    given = arguments(random, TILES)
    signature = Signature.from_arguments(counter, given)
    needed = ct.compile(counter, target="sm_90a", signature=signature, hints={"roles": False, "stages": 1}).metadata
    monkeypatch.setitem(TARGETS, "sm_90a", replace(TARGETS["sm_90a"], shared_bytes=needed.shared_bytes))
    made = ct.compile(counter, target="sm_90a", signature=signature)
    (remark,) = [remark for remark in made.all_remarks if remark.topic == "roles"]
    assert "shared memory has no room for a number that crosses to another role" in remark.message
    ct.run(made, (1,), given, backend="simulate")
    np.testing.assert_array_equal(given[3], expected("counter", given[0], given[1], TILES))
