"""The multiply of a K loop of sm_90a is in flight: exact for any number of iterations; wrong orders are reported."""

from __future__ import annotations

import dataclasses
import re

import matrix_kernels
import numpy as np
import pytest

import tilec
import tilec as ct
from tilec.errors import SimulationError
from tilec.signature import Signature

TILE = 64
SEEDS = range(5)


class Product:
    """matmul with a number of tiles along K and of slots of the ring; sums of small integers are exact."""

    def __init__(self, tiles: int, stages: int) -> None:
        random = np.random.default_rng(tiles)
        self.A = random.integers(-3, 4, (TILE, TILE * tiles)).astype(np.float16)
        self.B = random.integers(-3, 4, (TILE * tiles, TILE)).astype(np.float16)
        kernel, args = matrix_kernels.matmul, (self.A, self.B, self.result(), TILE, TILE, TILE)
        signature = Signature.from_arguments(kernel, args)
        self.artifact = tilec.compile(kernel, target="sm_90a", signature=signature, hints={"stages": stages}).artifact

    def result(self) -> np.ndarray:
        return np.full((TILE, TILE), 7, np.float32)

    def run(self, ptx: str, seed: int) -> np.ndarray:
        C = self.result()
        artifact = dataclasses.replace(self.artifact, ptx=ptx)
        tilec.run(artifact, (1, 1), (self.A, self.B, C, TILE, TILE, TILE), backend="simulate", seed=seed)
        return C


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("tiles", [1, 2, 3, 7])
def test_product_is_exact(tiles, stages):
    product = Product(tiles, stages)
    assert "wgmma.wait_group.sync.aligned 1;" in product.artifact.ptx
    for seed in SEEDS:
        found = product.run(product.artifact.ptx, seed)
        np.testing.assert_array_equal(found, product.A.astype(np.float32) @ product.B.astype(np.float32))


def test_one_slot_waits_for_its_multiply():
    assert "wgmma.wait_group.sync.aligned 1;" not in Product(3, 1).artifact.ptx


def test_every_iteration_of_a_nested_loop_releases_its_slots():
    """The accumulator is complete after the inner loop, which starts anew with the next slot of the ring."""
    random = np.random.default_rng(0)
    A, B = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((TILE, 5 * TILE), (5 * TILE, TILE)))
    C, times = np.ones((TILE, TILE), np.float32), 3
    args = (A, B, C, times, TILE, TILE, TILE)
    signature = Signature.from_arguments(matrix_kernels.repeated_product, args)
    compiled = tilec.compile(matrix_kernels.repeated_product, target="sm_90a", signature=signature)
    assert "wgmma.wait_group.sync.aligned 1;" in compiled.artifact.ptx
    tilec.run(compiled.artifact, (1, 1), args, backend="simulate")
    np.testing.assert_array_equal(C, 1 + times * (A.astype(np.float32) @ B.astype(np.float32)))


@ct.kernel
def two_products(A, B, C, D, tm: ct.Constant[int]):
    """C = A @ B and D = A @ A in one loop."""
    first, second = ct.zeros((tm, tm), ct.float32), ct.zeros((tm, tm), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tm))):
        a = ct.load(A, (0, k), (tm, tm))
        first = ct.mma(a, ct.load(B, (k, 0), (tm, tm)), first)
        second = ct.mma(a, a, second)
    ct.store(C, (0, 0), first)
    ct.store(D, (0, 0), second)


@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_two_multiplies_of_an_iteration_are_in_flight(tiles):
    random = np.random.default_rng(tiles)
    A, B = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((TILE, TILE * tiles), (TILE * tiles, TILE)))
    C, D = np.zeros((TILE, TILE), np.float32), np.zeros((TILE, TILE), np.float32)
    args = (A, B, C, D, TILE)
    compiled = tilec.compile(two_products, target="sm_90a", signature=Signature.from_arguments(two_products, args))
    assert compiled.artifact.ptx.count("wgmma.wait_group.sync.aligned 2;") == 2
    for seed in SEEDS:
        tilec.run(compiled.artifact, (1, 1), args, backend="simulate", seed=seed)
        a = A.astype(np.float32)
        np.testing.assert_array_equal(C, a @ B.astype(np.float32))
        np.testing.assert_array_equal(D, sum(part @ part for part in np.split(a, tiles, axis=1)))


def _released_before_the_wait(ptx: str) -> str:
    """The arrival of an iteration precedes its wait for the multiply of the one before."""
    wait = re.search(r"\n    wgmma\.wait_group\.sync\.aligned 1;[^\n]*", ptx)
    arrive = re.search(r"\n    @%p\d+ mbarrier\.arrive\.shared::cluster\.b64 _, [^\n]*", ptx[wait.end() :])
    end = wait.end() + arrive.end()
    return ptx[: wait.start()] + ptx[wait.end() : end] + wait[0] + ptx[end:]


MUTANTS = {
    "the slot of a multiply in flight is released": lambda ptx: ptx.replace(
        "wait_group.sync.aligned 1;", "wait_group.sync.aligned 2;"
    ),
    "a slot is released before the wait": _released_before_the_wait,
    "the sums are read in flight": lambda ptx: ptx.replace("wait_group.sync.aligned 0;", "wait_group.sync.aligned 1;"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_orders_are_reported_for_every_seed(mutant):
    product = Product(7, 2)
    ptx = MUTANTS[mutant](product.artifact.ptx)
    assert ptx != product.artifact.ptx
    for seed in SEEDS:
        with pytest.raises(SimulationError, match="race|in flight|before wgmma.wait_group"):
            product.run(ptx, seed)
