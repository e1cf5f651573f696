"""Powers of two and reciprocal roots have subnormal arguments and results, although most warps use forms that flush."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.blocked import blocked

ROWS, COLUMNS = 8, 512
LAYOUT = blocked((ROWS, COLUMNS), 4, 1, 4)
TARGETS = ("sm_100a", "sm_90a")
LEAST_NORMAL, LEAST_SUBNORMAL = 2.0**-126, 2.0**-149
# PTX ISA 9.7.3.21 and 9.7.3.19: 2 units in the last place, and a relative error of 2**-22.9.
ERROR = 2.0**-22


def computed(name: str, target: str, x: np.ndarray) -> np.ndarray:
    body = f"%y = math.{name} %x0 : {tile('f32', LAYOUT)}"
    ptx = ptx_of(elementwise(body, [("f32", LAYOUT)], ("f32", LAYOUT), target=target))
    form = {"exp2": "ex2", "rsqrt": "rsqrt"}[name]
    assert f"{form}.approx.ftz.f32" in ptx and f"{form}.approx.f32" in ptx
    result = np.empty((ROWS, COLUMNS), np.float32)
    run_ptx(ptx, [x.astype(np.float32).reshape(ROWS, COLUMNS), result])
    return result


def check(found: np.ndarray, exact: np.ndarray) -> None:
    """`exact` in f64."""
    numbers = np.isfinite(exact) & (exact < 2.0**128)
    assert np.array_equal(np.isnan(found), np.isnan(exact))
    assert np.all(found[~numbers & ~np.isnan(exact)] == np.inf)
    error = np.abs(found[numbers].astype(np.float64) - exact[numbers])
    assert np.all(error <= np.maximum(ERROR * exact[numbers], LEAST_SUBNORMAL))


EXPONENTS = {
    "normal results": (-126, 127),
    "subnormal results": (-151, -126),
    "all results": (-200, 140),
    "zero": (-400, -151),
    "small arguments": (-(2.0**-127), 2.0**-127),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EXPONENTS)
def test_exp2(name: str, target: str) -> None:
    random = np.random.default_rng(len(name))
    x = random.uniform(*EXPONENTS[name], (ROWS, COLUMNS)).astype(np.float32)
    x[random.integers(0, ROWS, 9), random.integers(0, COLUMNS, 9)] = [-np.inf] * 9
    check(computed("exp2", target, x), np.exp2(x.astype(np.float64)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "single", [-126.0, -126.00001, -127.5, -148.9, -149.4, -149.99, -151.1, np.nan, np.inf, -np.inf]
)
@pytest.mark.parametrize("beside", [-np.inf, -1.0])
def test_exp2_of_one_element(beside: float, single: float, target: str) -> None:
    """One element among others whose results are normal; beside it perhaps one that is masked."""
    x = np.random.default_rng(4).uniform(-20, 0, (ROWS, COLUMNS)).astype(np.float32)
    x[5, 77], x[5, 79] = single, beside
    check(computed("exp2", target, x), np.exp2(x.astype(np.float64)))


def test_subnormal_powers_are_not_flushed() -> None:
    x = np.repeat(-np.arange(126, 150), ROWS * COLUMNS // 16)[: ROWS * COLUMNS]
    x = np.concatenate([x, np.full(ROWS * COLUMNS - x.size, -149)])
    for target in TARGETS:
        np.testing.assert_array_equal(
            computed("exp2", target, x).ravel(), (2.0 ** x.astype(np.float64)).astype(np.float32)
        )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("single", [0.0, -0.0, LEAST_SUBNORMAL, 2.0**-127, LEAST_NORMAL, 3e38, np.inf, -1.0, np.nan])
def test_rsqrt_of_one_element(single: float, target: str) -> None:
    x = np.random.default_rng(4).uniform(1e-9, 1e9, (ROWS, COLUMNS)).astype(np.float32)
    x[3, 130] = single
    with np.errstate(all="ignore"):
        exact = 1 / np.sqrt(x.astype(np.float64))
    found = computed("rsqrt", target, x)
    zero = x == 0
    assert np.array_equal(found[zero], exact[zero].astype(np.float32))
    check(found[~zero], exact[~zero])


@pytest.mark.parametrize("name", ["exp2", "rsqrt"])
def test_few_elements_have_one_form(name: str) -> None:
    thin = LAYOUT.project(1)
    body = f"%y = math.{name} %x0 : {tile('f32', thin)}"
    assert ".ftz" not in ptx_of(elementwise(body, [("f32", thin)], ("f32", thin)))
