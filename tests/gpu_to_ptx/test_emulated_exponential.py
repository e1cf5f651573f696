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


def text(polynomials: int, target: str) -> str:
    type = tile("f32", LAYOUT)
    segments = f"operandSegmentSizes = array<i32: {', '.join(['1'] + ['0'] * 31)}>"
    attributes = f'{{function = "exp2.approx.ftz", polynomials = {polynomials} : i32, {segments}}}'
    body = f'%y = "tile_gpu.math"(%x0) {attributes} : ({type}) -> {type}'
    return elementwise(body, [("f32", LAYOUT)], ("f32", LAYOUT), target=target)


def exponentials(x: np.ndarray, polynomials: int, target: str) -> np.ndarray:
    y = np.zeros(COUNT, np.float32)
    run(text(polynomials, target), [x, y])
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
