"""Arrays without elements: loads return padding, stores write nothing, and a grid may have no blocks."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct

TILE = 64
BACKENDS = ["interpret", "simulate"]


@ct.kernel
def matmul(A, B, C, tile: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((tile, tile), dtype=ct.float32)
    for step in range(ct.cdiv(A.shape[1], tile)):
        a = ct.load(A, (row, step), (tile, tile), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (step, 0), (tile, tile), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (row, 0), total)


@ct.kernel
def one_product(A, B, C, tile: ct.Constant[int]):
    a = ct.load(A, (ct.bid(0), 0), (tile, tile), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(B, (0, 0), (tile, tile), padding_mode=ct.PaddingMode.ZERO)
    ct.store(C, (ct.bid(0), 0), ct.mma(a, b, ct.zeros((tile, tile), dtype=ct.float32)))


@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    block = (ct.bid(0),)
    ct.store(c, block, ct.load(a, block, (tile,)) + ct.load(b, block, (tile,)))


@pytest.fixture(autouse=True, params=["sm_100a", "sm_90a"])
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TARGET", request.param)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", [matmul, one_product])
def test_product_with_k_of_zero_is_zero(kernel: ct.Kernel, backend: str) -> None:
    A, B = np.ones((2 * TILE, 0), np.float16), np.ones((0, TILE), np.float16)
    C = np.ones((2 * TILE, TILE), np.float32)
    ct.launch(None, (2, 1, 1), kernel, (A, B, C, TILE), backend=backend)
    assert np.array_equal(C, np.zeros_like(C))


@pytest.mark.parametrize("backend", BACKENDS)
def test_stores_to_an_array_without_rows_write_nothing(backend: str) -> None:
    A, B = np.ones((0, TILE), np.float16), np.ones((TILE, TILE), np.float16)
    ct.launch(None, (1, 1, 1), matmul, (A, B, np.ones((0, TILE), np.float32), TILE), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_grid_without_blocks_executes_nothing(backend: str) -> None:
    empty = np.zeros(0, np.float32)
    ct.launch(None, (ct.cdiv(empty.size, TILE), 1, 1), add, (empty, empty.copy(), empty.copy(), TILE), backend=backend)
    a, b, c = np.ones((3, 100), np.float32)
    ct.launch(None, (0, 1, 1), add, (a, b, c, TILE), backend=backend)
    assert np.array_equal(c, np.ones_like(c))
