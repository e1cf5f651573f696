"""An early continue that resets the accumulator of a multiply does not change the other iterations."""

from __future__ import annotations

import numpy as np
import pytest

import tilec
import tilec as ct

SIZE = 64


@ct.kernel
def reset_and_continue(a, b, c, resets: int):
    acc = ct.zeros((SIZE, SIZE), ct.float32)
    for step in range(4):
        if step < resets:
            acc = ct.zeros((SIZE, SIZE), ct.float32)
            continue
        acc = ct.mma(ct.load(a, (0, step), (SIZE, SIZE)), ct.load(b, (step, 0), (SIZE, SIZE)), acc)
    ct.store(c, (0, 0), acc)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("resets", [0, 2])
def test_result_is_the_product_of_iterations_after_the_last_reset(
    target: str, resets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEC_TARGET", target)
    random = np.random.default_rng(resets)
    a, b = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((SIZE, 4 * SIZE), (4 * SIZE, SIZE)))
    c = np.zeros((SIZE, SIZE), np.float32)
    tilec.launch(None, (1,), reset_and_continue, (a, b, c, resets))
    used = slice(resets * SIZE, None)
    assert np.array_equal(c, a[:, used].astype(np.float32) @ b[used].astype(np.float32))
