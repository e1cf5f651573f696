"""The gradients of attention of benchmarks/sheet: equal to the derivatives in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from compare import SUM_CUT, assert_within, run_everywhere
from sheet_kernels import kernels_of

kernels = kernels_of("gradients")
HALF_ROUNDING, FLOAT_ROUNDING = 2.0**-11, 2.0**-24
LENGTH, COUNT = 256, 2


@dataclass(frozen=True)
class Backward:
    """The arguments of the gradient kernels, and the exact intermediate values in float64."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    g: np.ndarray
    logarithms: np.ndarray
    sums: np.ndarray
    scale: float
    p: np.ndarray
    dp: np.ndarray
    ds: np.ndarray
    p_error: np.ndarray
    ds_error: np.ndarray


def backward(random: np.random.Generator, width: int, causal: bool) -> Backward:
    """P of float16 has an error of 2^-11 and that of its exponent; dP - D has that of a product and a rounding."""
    q, k, v, g = (random.standard_normal((1, COUNT, LENGTH, width), np.float32).astype(np.float16) for _ in range(4))
    scale = float(np.float32(width**-0.5))
    exact_q, exact_k, exact_v, exact_g = (each.astype(np.float64) for each in (q, k, v, g))
    scores = exact_q @ exact_k.swapaxes(2, 3) * scale
    if causal:
        scores = np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf)
    logarithms = np.log2(np.exp(scores).sum(-1))
    p = np.exp2(scores / np.log(2) - logarithms[..., None])
    sums = (p @ exact_v * exact_g).sum(-1)
    dp = exact_g @ exact_v.swapaxes(2, 3)
    ds = p * (dp - sums[..., None])
    cut = (width / 8 + 4) * SUM_CUT
    magnitude = np.abs(exact_q) @ np.abs(exact_k).swapaxes(2, 3) * scale
    p_error = p * (cut * magnitude + FLOAT_ROUNDING * (4 * np.abs(logarithms)[..., None] + 4) + 2.0**-21)
    dp_error = cut * (np.abs(exact_g) @ np.abs(exact_v).swapaxes(2, 3)) + 4 * FLOAT_ROUNDING * np.abs(sums)[..., None]
    ds_error = p * dp_error + p_error * np.abs(dp - sums[..., None])
    arrays = (q, k, v, g, logarithms.astype(np.float32), sums.astype(np.float32))
    return Backward(*arrays, scale, p, dp, ds, p_error, ds_error)


def within(found: np.ndarray, left: np.ndarray, error: np.ndarray, right: np.ndarray, scale: float) -> None:
    """Compares with left @ right * scale, where `left` is rounded to float16, and the result too."""
    exact = left @ right * scale
    # Below 2^-14 numbers of float16 are multiples of 2^-24.
    rounding = HALF_ROUNDING * np.abs(left) + 2.0**-25
    tolerance = (error + rounding + LENGTH * SUM_CUT * np.abs(left)) @ np.abs(right) * scale
    assert_within(found, exact, tolerance + HALF_ROUNDING * np.abs(exact) + 2.0**-25)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128])
def test_query_gradients(width: int, causal: bool, random: np.random.Generator, target: str) -> None:
    given = backward(random, width, causal)
    arrays = [given.q, given.k, given.v, given.g, given.logarithms, given.sums, np.zeros_like(given.q)]
    args = [*arrays, given.scale, COUNT, width, 128, 128, causal]
    for (found,) in run_everywhere(kernels.query_gradients, (2, COUNT), args, (6,), target=target, hints={}):
        within(found, given.ds, given.ds_error, given.k.astype(np.float64), given.scale)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("width", "rows"), [(64, 128), (128, 64), (128, 128)])
def test_key_gradients(width: int, rows: int, causal: bool, random: np.random.Generator, target: str) -> None:
    given = backward(random, width, causal)
    arrays = [given.q, given.k, given.v, given.g, given.logarithms, given.sums]
    results = [np.zeros_like(given.q), np.zeros_like(given.q)]
    args = [*arrays, *results, given.scale, COUNT, width, rows, 128, causal]
    q, g = given.q.astype(np.float64), given.g.astype(np.float64)
    for dk, dv in run_everywhere(kernels.key_gradients, (2, COUNT), args, (6, 7), target=target, hints={}):
        within(dk, given.ds.swapaxes(2, 3), given.ds_error.swapaxes(2, 3), q, given.scale)
        within(dv, given.p.swapaxes(2, 3), given.p_error.swapaxes(2, 3), g, 1.0)


def test_sums(random: np.random.Generator, target: str) -> None:
    y, g = (random.standard_normal((1, COUNT, LENGTH, 128), np.float32).astype(np.float16) for _ in range(2))
    args = [y, g, np.zeros((1, COUNT, LENGTH), np.float32), COUNT, 128, 128]
    products = y.astype(np.float64) * g.astype(np.float64)
    tolerance = 128 * FLOAT_ROUNDING * np.abs(products).sum(-1)
    for (found,) in run_everywhere(kernels.gradient_sums, (2, COUNT), args, (2,), target=target, hints={}):
        assert_within(found, products.sum(-1), tolerance)
