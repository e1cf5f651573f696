"""2**x by polynomials: the error of ex2.approx.ftz at most, and its results for infinity, NaN, zero and integers."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import elementwise, ptx_of, run, tile

from tilec.lowering.instruction_choice import COEFFICIENTS
from tilec.lowering.layout.blocked import blocked

COUNT, REGISTERS = 4096, 32
LAYOUT = blocked((COUNT,), 4, 0, REGISTERS)
TARGETS = ("sm_100a", "sm_90a")


def text(polynomials: int, target: str, function: str = "exp2.approx.ftz") -> str:
    type = tile("f32", LAYOUT)
    segments = f"operandSegmentSizes = array<i32: {', '.join(['1'] + ['0'] * 31)}>"
    attributes = f'{{function = "{function}", polynomials = {polynomials} : i32, {segments}}}'
    body = f'%y = "tile_gpu.math"(%x0) {attributes} : ({type}) -> {type}'
    return elementwise(body, [("f32", LAYOUT)], ("f32", LAYOUT), target=target)


def exponentials(x: np.ndarray, polynomials: int, target: str, function: str = "exp2.approx.ftz") -> np.ndarray:
    y = np.zeros(COUNT, np.float32)
    run(text(polynomials, target, function), [x, y])
    return y


def in_all_registers(*values: float) -> np.ndarray:
    """Each value in all elements of a thread, of which polynomials compute some."""
    threads = np.resize(np.array(values, np.float32), COUNT // REGISTERS)
    return np.repeat(threads, REGISTERS)


def ulps(y: np.ndarray, exact: np.ndarray) -> np.ndarray:
    return np.abs(y - exact) / 2.0 ** (np.floor(np.log2(exact)) - 23)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("low", [-126, -1, 0, 64])
def test_error(low: float, target: str) -> None:
    """PTX ISA 9.7.3.21: ex2.approx.f32 has 2 ulp."""
    x = np.random.default_rng(3).uniform(low, 127 if low > 0 else low + 1, COUNT).astype(np.float32)
    assert ulps(exponentials(x, 15, target), 2.0 ** x.astype(np.float64)).max() < 1.3


def test_error_of_all_fractions() -> None:
    """The polynomial of fractions in steps of 2**-20, with exact products: 64 bits hold them before each rounding."""
    x = np.concatenate([np.arange(-(2**20), 2**20) * 2.0**-20, -(2.0 ** -np.arange(1, 40, 0.001))]).astype(np.float32)
    whole = np.floor(x)
    fraction = x - whole
    value = np.full_like(x, COEFFICIENTS[-1])
    for coefficient in (*COEFFICIENTS[-2::-1], 1.0):
        wide = value.astype(np.longdouble) * fraction + np.float32(coefficient)
        value = wide.astype(np.float32)
    exact = np.exp2(x.astype(np.longdouble) - whole)
    # The largest error of all numbers is 1.288 units.
    assert np.abs(value - exact).max() * 2**23 < 1.29
    assert (value[fraction == 0] == 1).all() and (value[fraction == 1] == 2).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("polynomials", [1, 5, 15])
def test_exact_results(polynomials: int, target: str) -> None:
    infinity = np.inf
    # Subnormal results are flushed to zero.
    edges = {-infinity: 0, -1e30: 0, -150: 0, -127: 0, -126.5: 0, -1e-40: 1, 1e-40: 1}
    edges |= {128: infinity, 129: infinity, 5000: infinity, 1e30: infinity, infinity: infinity}
    edges |= {float(n): 2.0**n for n in range(-126, 128, 9)}
    edges[-0.0] = 1
    x, expected = in_all_registers(*edges), in_all_registers(*edges.values())
    y = exponentials(x, polynomials, target)
    assert np.array_equal(y, expected) and not np.signbit(y).any()
    assert np.isnan(exponentials(in_all_registers(np.nan), polynomials, target)).all()


def test_largest_finite_result() -> None:
    x = in_all_registers(np.nextafter(np.float32(128), np.float32(0)))
    assert (ulps(exponentials(x, 8, "sm_100a"), 2.0 ** x.astype(np.float64)) < 2).all()


@pytest.mark.parametrize(("polynomials", "pairs"), [(1, 1), (4, 4), (15, 15)])
def test_instructions(polynomials: int, pairs: int) -> None:
    """Per pair: 10 packed operations of floats, of which one rounds down, four clamps, and two shifts."""
    ptx = ptx_of(text(polynomials, "sm_100a"))
    assert ptx.count("ex2.approx.ftz.f32") == REGISTERS - 2 * pairs
    assert ptx.count("add.rm.f32x2") == ptx.count("add.rn.f32x2") == ptx.count("mul.rn.f32x2") == pairs
    assert ptx.count("fma.rn.f32x2") == 7 * pairs
    assert ptx.count("max.NaN.f32") == ptx.count("min.NaN.f32") == ptx.count("shl.b32 %f") == 2 * pairs


def test_one_element_at_a_time_without_packed_instructions() -> None:
    ptx = ptx_of(text(4, "sm_90a"))
    assert "f32x2" not in ptx and ptx.count("fma.rn.f32") == 6 * 8


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("polynomials", [1, 5, 15])
def test_subnormal_results_without_flushing(polynomials: int, target: str) -> None:
    """A warp with such results takes the path of the instruction; masked scores and results of zero do not matter."""
    subnormal = {-126.0: 2.0**-126, -127.0: 2.0**-127, -148.0: 2.0**-148, -149.0: 2.0**-149}
    others = {-np.inf: 0, -1e30: 0, -152.0: 0, -3.0: 0.125, 0.0: 1, 128.0: np.inf, np.inf: np.inf}
    for edges in (subnormal, others, subnormal | others):
        x, expected = in_all_registers(*edges), in_all_registers(*edges.values())
        assert np.array_equal(exponentials(x, polynomials, target, "exp2.approx"), expected)
    assert np.isnan(
        exponentials(in_all_registers(np.nan, -130.0), polynomials, target, "exp2.approx")[:REGISTERS]
    ).all()


@pytest.mark.parametrize("target", TARGETS)
def test_error_of_subnormal_results(target: str) -> None:
    """A normal result is within 2 ulp. ptxas scales it to a subnormal one: a multiple of 2^-149."""
    x = np.random.default_rng(3).uniform(-151, -120, COUNT).astype(np.float32)
    error = np.abs(exponentials(x, 15, target, "exp2.approx") - 2.0 ** x.astype(np.float64))
    assert (error <= np.maximum(2.0**-22 * 2.0 ** x.astype(np.float64), 2.0**-149)).all()


@pytest.mark.parametrize("target", TARGETS)
def test_results_do_not_depend_on_other_elements_of_the_warp(target: str) -> None:
    """One subnormal result per warp changes its path, but no other element; without one the forms are equal."""
    x = np.random.default_rng(3).uniform(-126, 127, COUNT).astype(np.float32)
    x[::7] = -np.inf
    alone = exponentials(x, 5, target, "exp2.approx")
    assert np.array_equal(alone, exponentials(x, 5, target))
    changed = x.copy()
    changed[:: 32 * REGISTERS] = -140
    beside = exponentials(changed, 5, target, "exp2.approx")
    assert (beside[:: 32 * REGISTERS] == 2.0**-140).all()
    assert np.array_equal(beside[x == changed], alone[x == changed])


def test_paths_without_flushing() -> None:
    """Both paths have the polynomials. The path of subnormal results also has the instruction for each register."""
    ptx = ptx_of(text(4, "sm_100a", "exp2.approx"))
    assert ptx.count("vote.sync.all") == 2 and ptx.count("ex2.approx.ftz.f32") == REGISTERS - 8
    assert ptx.count("ex2.approx.f32") == REGISTERS and ptx.count("add.rm.f32x2") == 2 * 4
