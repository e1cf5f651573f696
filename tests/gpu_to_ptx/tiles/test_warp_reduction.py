"""A reduction over all lanes of a warp is one instruction per register where PTX has it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reductions import reduce, yields
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.linear_layout import LinearLayout

# Each warp holds two rows of 32 elements, a register each.
ROWS = LinearLayout(((1, 0),), tuple((0, 1 << bit) for bit in range(5)), ((2, 0), (4, 0)), (8, 32))
# Half a warp holds a row of 16 elements.
HALVES = LinearLayout(((2, 0),), (*((0, 1 << bit) for bit in range(4)), (1, 0)), ((4, 0), (8, 0)), (16, 16))
DTYPES = {"f32": np.float32, "i32": np.int32}
FORMS = {
    ("arith.maximumf", "f32"): ("max.NaN.f32", np.maximum),
    ("arith.minimumf", "f32"): ("min.NaN.f32", np.minimum),
    ("arith.maxnumf", "f32"): ("max.f32", np.fmax),
    ("arith.minnumf", "f32"): ("min.f32", np.fmin),
    ("arith.addi", "i32"): ("add.s32", np.add),
    ("arith.maxsi", "i32"): ("max.s32", np.maximum),
    ("arith.minsi", "i32"): ("min.s32", np.minimum),
    ("arith.andi", "i32"): ("and.b32", np.bitwise_and),
    ("arith.ori", "i32"): ("or.b32", np.bitwise_or),
    ("arith.xori", "i32"): ("xor.b32", np.bitwise_xor),
}
UNSIGNED = {"arith.maxui": ("max.u32", np.maximum), "arith.minui": ("min.u32", np.minimum)}


def kernel(operation: str, element: str, layout: LinearLayout, target: str) -> str:
    result = layout.drop(1)
    body = f"%s = {operation} %e0, %acc0 : {element}\n" + yields("%s", [element])
    text = reduce("%y", "%x0", [tile(element, layout)], [tile(element, result)], [element], body, 1)
    return ptx_of(elementwise(text, [(element, layout)], (element, result), target=target))


def numbers(element: str) -> np.ndarray:
    bits = np.random.default_rng(9).integers(0, 2**32, (8, 32), dtype=np.uint32)
    if element == "f32":
        bits[0] = np.float32(-0.0).view(np.uint32)
        bits[0, 7], bits[1, 3], bits[2] = 0, 0x7FC00000, 0x7FC00000
        bits[3:] &= 0xBFFFFFFF
    return bits.view(DTYPES[element])


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("operation", "element"), FORMS)
def test_one_instruction_per_row(operation, element, target):
    """sm_90a has the instruction for integers."""
    form, oracle = FORMS[operation, element]
    ptx = kernel(operation, element, ROWS, target)
    has_form = element == "i32" or target == "sm_100a"
    assert ptx.count(f"redux.sync.{form}") == (2 if has_form else 0)
    assert len(re.findall("shfl", ptx)) == (0 if has_form else 10)
    x = numbers(element)
    result = np.zeros(8, DTYPES[element])
    run_ptx(ptx, [x, result])
    expected = oracle.reduce(x, axis=1, dtype=x.dtype)
    if oracle is np.maximum and element == "f32":
        expected[0] = 0.0
    assert np.array_equal(result, expected, equal_nan=True)


@pytest.mark.parametrize("operation", ["arith.maximumf", "arith.maxnumf"])
def test_a_row_of_zeros_has_the_greater_zero(operation):
    x = np.full((8, 32), -0.0, np.float32)
    x[:, 7] = 0.0
    result = np.full(8, -1, np.float32)
    run_ptx(kernel(operation, "f32", ROWS, "sm_100a"), [x, result])
    assert not np.signbit(result).any() and not result.any()


@pytest.mark.parametrize("operation", UNSIGNED)
def test_unsigned_integers(operation):
    form, oracle = UNSIGNED[operation]
    ptx = kernel(operation, "i32", ROWS, "sm_90a")
    x = numbers("i32")
    result = np.zeros(8, np.int32)
    run_ptx(ptx, [x, result])
    assert f"redux.sync.{form}" in ptx
    assert np.array_equal(result.view(np.uint32), oracle.reduce(x.view(np.uint32), axis=1))


def test_half_a_warp_shuffles():
    """redux.sync would need a member mask per half."""
    ptx = kernel("arith.maxsi", "i32", HALVES, "sm_100a")
    x = np.random.default_rng(2).integers(-99, 99, (16, 16)).astype(np.int32)
    result = np.zeros(16, np.int32)
    run_ptx(ptx, [x, result])
    assert "redux" not in ptx and np.array_equal(result, x.max(axis=1))


def test_sums_of_floats_shuffle():
    ptx = kernel("arith.addf", "f32", ROWS, "sm_100a")
    assert "redux" not in ptx and "shfl" in ptx
