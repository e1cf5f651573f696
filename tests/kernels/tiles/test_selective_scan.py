"""h = exp(dt * A) * h + dt * B * x; y = C . h, one step after the other: numpy, interpreter and simulator agree."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
STATES = 16
ROUNDING = 2.0**-24


@ct.kernel
def selective_scan(X, DT, A, B, C, Y, channels: ct.Constant[int]):
    b, d = ct.bid(0), ct.bid(1)
    a = ct.load(A, (d, 0), (channels, STATES))
    h = ct.zeros((channels, STATES), ct.float32)
    for t in range(X.shape[1]):
        x = ct.load(X, (b, t, d), (1, 1, channels)).reshape((channels, 1))
        dt = ct.load(DT, (b, t, d), (1, 1, channels)).reshape((channels, 1))
        of_input = ct.load(B, (b, t, 0), (1, 1, STATES)).reshape((1, STATES))
        of_output = ct.load(C, (b, t, 0), (1, 1, STATES)).reshape((1, STATES))
        h = ct.exp(dt * a) * h + (dt * x) * of_input
        ct.store(Y, (b, t, d), ct.sum(h * of_output, axis=1).reshape((1, 1, channels)))


def arguments(random: np.random.Generator, steps: int, channels: int) -> list[np.ndarray]:
    x, dt = (random.standard_normal((2, steps, channels), np.float32) for _ in range(2))
    a = -random.random((channels, STATES), np.float32)
    b, c = (random.standard_normal((2, steps, STATES), np.float32) for _ in range(2))
    return [x, np.abs(dt), a, b, c, np.full(x.shape, np.nan, np.float32)]


def expected(x, dt, a, b, c, _y) -> tuple[np.ndarray, np.ndarray]:
    """The result in f64, and a bound of its error.

    A step rounds the argument of exp, exp (two units), two products and a sum; the sum of the states rounds each of
    them at most once per level and product. The bound is that of sums of magnitudes.
    """
    x, dt, a, b, c = (each.astype(np.float64) for each in (x, dt, a, b, c))
    state = magnitude = np.zeros((x.shape[0], *a.shape))
    results, sizes = [], []
    for t in range(x.shape[1]):
        argument, added = dt[:, t, :, None] * a, (dt * x)[:, t, :, None] * b[:, t, None]
        state, magnitude = np.exp(argument) * state + added, np.exp(argument) * magnitude + np.abs(added)
        results.append((state * c[:, t, None]).sum(-1))
        sizes.append((magnitude * np.abs(c[:, t, None])).sum(-1))
    of_step = np.abs(dt).max() * np.abs(a).max() + 6
    bound = (of_step * x.shape[1] + np.log2(STATES) + 2) * ROUNDING * np.stack(sizes, 1)
    return np.stack(results, 1), bound


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("steps", "channels"), [(1, 64), (7, 64), (19, 64), (9, 128)])
def test_steps(steps: int, channels: int, target: str, random: np.random.Generator) -> None:
    args = arguments(random, steps, channels)
    exact, bound = expected(*args)
    for (found,) in run_everywhere(selective_scan, (2, 1), (*args, channels), (5,), target=target, hints={}):
        assert (np.abs(found - exact) <= bound).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("channels", [64, 128, 256])
def test_no_barrier_in_a_step(channels: int, target: str, random: np.random.Generator) -> None:
    """TMA loads eight, four or two steps of each array ahead; the only barrier is after the mbarriers are made."""
    signature = ct.Signature.from_arguments(selective_scan, (*arguments(random, 8, channels), channels))
    ptx = ct.compile(selective_scan, target=target, signature=signature).ptx
    assert "ex2.approx" in ptx
    assert len(re.findall(r"cp\.async\.bulk\.tensor\.\dd\.shared", ptx)) == 4
    assert len(re.findall(r"bar\.sync|barrier\.cta|cp\.async\.bulk\.(?:tensor\.\dd\.global|wait_group)", ptx)) == 1
