"""On sm_90a two roles compute alternate tiles of a persistent kernel, and access memory in the order of the tiles.

Operands are small integers, so that every sum is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from alternating_kernels import ALTERNATING, DEPTH, NOT_ALTERNATING, SIZE, products, stored_twice, summed, tall_products
from compare import backends, run_everywhere

import tilec as ct
from tilec.signature import Signature

ROWS, MOST_TILES = 6 * SIZE, 5


def name(kernel: Any) -> str:
    return str(kernel.__name__)


def operands(random: np.random.Generator, depth: int, columns: int = SIZE) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B, of small integers, and C, whose last rows are zero."""
    a = random.integers(-2, 3, (ROWS, 208)).astype(np.float16)[:, :depth]
    b = random.integers(-2, 3, (max(depth, 1), columns)).astype(np.float16)
    c = random.integers(-2, 3, (ROWS, 2 * columns)).astype(np.float32)
    c[MOST_TILES * SIZE :] = 0
    return a, b, c


def expected(kernel: Any, a: np.ndarray, b: np.ndarray, c: np.ndarray, tiles: int, blocks: int) -> np.ndarray:
    """The tiles of each block one after the other."""
    found, a, b = c.copy(), a.astype(np.float64), b.astype(np.float64)
    for tile in range(max(tiles, 0)):
        own, block = a[tile * SIZE : (tile + 1) * SIZE], tile % blocks
        steps = range((tiles - 1) * DEPTH, a.shape[1], 2 * DEPTH) if name(kernel) == "from_the_last" else [0]
        depth = DEPTH if name(kernel) == "from_the_last" else a.shape[1]
        products_of_steps = [own[:, k : k + depth] @ b[: a.shape[1]][k : k + depth] for k in steps]
        product = sum(products_of_steps, np.zeros((SIZE, SIZE)))
        place = block if name(kernel) in ("overwritten", "summed") else tile
        rows, bias = slice(place * SIZE, (place + 1) * SIZE), b[0] if name(kernel) == "stored_twice" else 0
        before = found[rows, :SIZE] if name(kernel) == "summed" else 0
        found[rows, :SIZE] = product + bias + before
        if name(kernel) == "stored_twice":
            found[rows, SIZE:] = np.maximum(product, 0)
        if name(kernel) == "counted":
            found[rows, :SIZE] += found[MOST_TILES * SIZE + block, 0]
            found[MOST_TILES * SIZE + block, 0] += 1
    return found


# An even and an odd number of tiles of a block, one, and none; the depth ends in the last step, or has no step.
@pytest.mark.covering
@pytest.mark.parametrize("depth", [200, 8, 0])
@pytest.mark.parametrize(("tiles", "blocks"), [(4, 1), (5, 1), (5, 2), (1, 1), (2, 3), (0, 1), (-3, 2)])
@pytest.mark.parametrize("kernel", ALTERNATING, ids=name)
def test_memory_has_the_order_of_the_tiles(
    kernel: Any, tiles: int, blocks: int, depth: int, target: str, random: np.random.Generator
) -> None:
    a, b, c = operands(random, depth)
    given = (a, b, c, tiles)
    for (found,) in run_everywhere(kernel, (blocks,), given, (2,), target=target, hints={}, seeds=(0, 1)):
        np.testing.assert_array_equal(found, expected(kernel, a, b, c, tiles, blocks))


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("kernel", [products, summed, stored_twice], ids=name)
def test_rings_that_are_shorter_than_a_tile(kernel: Any, stages: int, random: np.random.Generator) -> None:
    """A role skips several rounds of the ring, or a part of one."""
    a, b, c = operands(random, 200)
    hints = {"stages": stages}
    for (found,) in run_everywhere(kernel, (1,), (a, b, c, 5), (2,), target="sm_90a", hints=hints, seeds=range(4)):
        np.testing.assert_array_equal(found, expected(kernel, a, b, c, 5, 1))


def test_clusters_alternate(random: np.random.Generator) -> None:
    """Each block of a cluster has its rows of a tile, and loads a part of B for all."""
    assert "compute1" in compiled(tall_products, hints={"num_ctas": 2}).gpu
    a, b, c = operands(random, 200)
    given, hints = (a, b, c, 3), {"num_ctas": 2}
    for (found,) in run_everywhere(tall_products, (1,), given, (2,), target="sm_90a", hints=hints, seeds=range(8)):
        np.testing.assert_array_equal(found[:, :SIZE], a.astype(np.float64) @ b)


@pytest.mark.parametrize("hints", [{"pipeline": False}, {"register_budgets": False}], ids=str)
def test_passes_behind_may_be_left_out(hints: dict, target: str, random: np.random.Generator) -> None:
    a, b, c = operands(random, 200)
    for (found,) in run_everywhere(summed, (2,), (a, b, c, 5), (2,), target=target, hints=hints, seeds=range(4)):
        np.testing.assert_array_equal(found, expected(summed, a, b, c, 5, 2))


def compiled(kernel: Any, target: str = "sm_90a", hints: dict | None = None) -> Any:
    signature = Signature.from_arguments(kernel, (*operands(np.random.default_rng(0), 200), 1))
    return ct.compile(kernel, target=target, signature=signature, hints=hints, stop="gpu")


def remarks(made: Any) -> list[str]:
    return [remark.message for remark in made.all_remarks if "wait for the epilogue" in remark.message]


@pytest.mark.parametrize("kernel", ALTERNATING, ids=name)
def test_two_roles_compute(kernel: Any) -> None:
    for target in ("sm_90a", "sm_100a"):
        made = compiled(kernel, target)
        assert ("compute1 warps 4" in made.gpu) == (target == "sm_90a")
        assert not remarks(made)


@pytest.mark.parametrize("kernel", NOT_ALTERNATING, ids=name)
def test_other_loops_have_a_remark(kernel: Any, random: np.random.Generator) -> None:
    made = compiled(kernel)
    assert "compute1" not in made.gpu
    (message,) = remarks(made)
    assert NOT_ALTERNATING[kernel] in message
    a, b, c = operands(random, 200, 256 if name(kernel) == "wide" else SIZE)
    *simulated, interpreted = run_everywhere(kernel, (1,), (a, b, c, 3), (2,), target="sm_90a", hints={}, seeds=(0, 1))
    for found in simulated:
        np.testing.assert_array_equal(found, interpreted)


def test_several_blocks_of_an_sm_do_not_alternate() -> None:
    """Another block multiplies during an epilogue, as the hint asks for."""
    made = compiled(products, hints={"occupancy": 2})
    assert "compute1" not in made.gpu
    assert not remarks(made)


def test_prints_have_the_order_of_the_tiles(random: np.random.Generator) -> None:
    kernel = next(kernel for kernel in ALTERNATING if name(kernel) == "printed")
    a, b, c = operands(random, 200)
    made = ct.compile(kernel, target="sm_90a", signature=Signature.from_arguments(kernel, (a, b, c, 5)))
    for backend, settings in backends(range(4)):
        pieces: list[str] = []
        ct.run(made, (1,), (a, b, c, 5), backend=backend, print=pieces.append, **settings)
        assert "".join(pieces) == "0 1 2 3 4 "
