"""Compiled kernels read the registers of tcgen05.ld after tcgen05.wait::ld only, though PTX permits earlier reads."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct


@ct.kernel
def product(a, b, c):
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(a, 1, (128, 64))):
        total = ct.mma(ct.load(a, (ct.bid(0), k), (128, 64)), ct.load(b, (k, 0), (64, 128)), total)
    ct.store(c, (ct.bid(0), 0), ct.maximum(total * 0.5, 0))


@ct.kernel
def chain(a, b, c):
    """The second multiply reads what threads compute from the sums of the first one."""
    total = ct.zeros((128, 64), ct.float32)
    for k in range(ct.num_tiles(b, 0, (128, 64))):
        rows = ct.load(b, (k, 0), (128, 64))
        scores = ct.mma(ct.load(a, (0, 0), (128, 64)), ct.transpose(rows), ct.zeros((128, 128), ct.float32))
        total = ct.mma(ct.maximum(scores, 0).astype(ct.float16), rows, total)
    ct.store(c, (0, 0), total)


@pytest.fixture(autouse=True)
def blackwell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TARGET", "sm_100a")


@pytest.mark.parametrize("seed", range(3))
def test_accumulators_are_read_after_the_wait(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.integers(-2, 3, (256, 192)).astype(np.float16), random.integers(-2, 3, (192, 128)).astype(np.float16)
    c = np.zeros((256, 128), np.float32)
    ct.launch(None, 2, product, (a, b, c), backend="simulate", seed=seed, tensor_load_waits=True)
    np.testing.assert_array_equal(c, np.maximum(a.astype(np.float32) @ b.astype(np.float32) * 0.5, 0))


@pytest.mark.parametrize("seed", range(3))
def test_sums_that_become_operands_are_read_after_the_wait(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.integers(-1, 2, (128, 64)).astype(np.float16), random.integers(-1, 2, (256, 64)).astype(np.float16)
    c = np.zeros((128, 64), np.float32)
    ct.launch(None, 1, chain, (a, b, c), backend="simulate", seed=seed, tensor_load_waits=True)
    wide = b.astype(np.float32)
    np.testing.assert_array_equal(c, np.maximum(a.astype(np.float32) @ wide.T, 0) @ wide)
