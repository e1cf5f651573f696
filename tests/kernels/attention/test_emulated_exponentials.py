"""Exponentials of which polynomials compute some elements have the results of numpy, also at the edges of f32."""

from __future__ import annotations

from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.lowering.gpu.columns import emulate_exponentials
from tilec.lowering.gpu.schedule.schedule_loops import HEURISTICS

ROWS, COLUMNS, STEPS = 64, 64, 3
# 2 units in the last place of each exponential, and the roundings of the sums.
RELATIVE = (2 + STEPS) * 2.0**-23


@ct.kernel
def sums_of_exponentials(X, Y, steps: int, flushes: ct.Constant[bool]):
    x = ct.load(X, (0, 0), (ROWS, COLUMNS))
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for step in range(steps):
        total = total + ct.exp2(x - step, flush_to_zero=flushes)
    ct.store(Y, (0, 0), total)


def arguments(x: np.ndarray, flushes: bool) -> tuple[np.ndarray, np.ndarray, int, bool]:
    return x, np.zeros_like(x), STEPS, flushes


@np.errstate(over="ignore")
def expected(x: np.ndarray, flushes: bool) -> np.ndarray:
    differences = x - np.arange(STEPS, dtype=np.float32)[:, None, None]
    exponentials = np.exp2(differences.astype(np.float64)).astype(np.float32)
    if flushes:
        exponentials[exponentials < np.finfo(np.float32).tiny] = 0
    return exponentials.sum(axis=0)


def text_of(x: np.ndarray, target: str, flushes: bool) -> str:
    signature = ct.Signature.from_arguments(sums_of_exponentials, arguments(x, flushes))
    return ct.compile(sums_of_exponentials, target=target, signature=signature, stop="gpu").stage("gpu").text


@pytest.mark.parametrize("flushes", [True, False])
@pytest.mark.parametrize(("low", "high"), [(-2, 2), (-130, 128)])
def test_results(low: float, high: float, flushes: bool, target: str, random: np.random.Generator) -> None:
    x = random.uniform(low, high, (ROWS, COLUMNS)).astype(np.float32)
    assert "polynomials" in text_of(x, target, flushes)
    for (found,) in run_everywhere(sums_of_exponentials, (1,), arguments(x, flushes), (1,), target=target, hints={}):
        np.testing.assert_allclose(found, expected(x, flushes), rtol=RELATIVE, atol=0)


@pytest.mark.parametrize("flushes", [True, False])
def test_edges(flushes: bool, target: str) -> None:
    infinity = np.inf
    edges = np.array(
        [-infinity, -3e38, -1000, -126, 0, -0.0, 1e-40, 5, 127, 128, 131, 1e6, 3e38, infinity, np.nan, -1], np.float32
    )
    x = np.resize(edges, (COLUMNS, ROWS)).T.copy()
    for (found,) in run_everywhere(sums_of_exponentials, (1,), arguments(x, flushes), (1,), target=target, hints={}):
        np.testing.assert_array_equal(found, expected(x, flushes))


@pytest.mark.parametrize("flushes", [True, False])
def test_pass_left_out(
    flushes: bool, target: str, monkeypatch: pytest.MonkeyPatch, random: np.random.Generator
) -> None:
    for name in ("emulate-exponentials", "emulate-waiting"):
        monkeypatch.delitem(HEURISTICS, name)
    x = random.uniform(-2, 2, (ROWS, COLUMNS)).astype(np.float32)
    assert "polynomials" not in text_of(x, target, flushes)
    for (found,) in run_everywhere(sums_of_exponentials, (1,), arguments(x, flushes), (1,), target=target, hints={}):
        np.testing.assert_allclose(found, expected(x, flushes), rtol=RELATIVE, atol=0)


@pytest.mark.parametrize("present", range(7))
def test_a_share_saves_cycles(present: int) -> None:
    """Polynomials cost instructions: a larger share must save the given part of the cycles against a smaller one.

    The search starts from any share that the exponentials have already.
    """
    table = [1173.0, 1167, 1166, 1169, 1176, 1188, 1204, 1224]

    class Loop(NamedTuple):
        share: int

    def share(saved: float) -> int:
        with patch.object(emulate_exponentials, "_emulated", lambda loop, elements, share, device: Loop(share)):
            return emulate_exponentials._share(
                None, [{(16, present): 1.0}], None, lambda loop, device: table[loop.share], saved
            )

    assert (share(0.01), share(0.005), share(0)) == (0, 1, 2)
