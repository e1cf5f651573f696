"""Block-scaled products whose scale factors have every magnitude, or differ by more than a float can hold."""

from __future__ import annotations

import numpy as np
import pytest
from block_scaling import matmul
from compare import assert_within, product_tolerance, run_everywhere
from scaled_operands import E4M3, E5M2, E8M0, FORMS, Form, Operand, arguments, messages, operand


@pytest.mark.parametrize("element", [E4M3, E5M2])
def test_factors_of_every_magnitude(element, target):
    """The product of two factors may be out of the range of float32; a NaN factor makes its row or column NaN."""
    check_every_magnitude(element, 64, 64, target)


@pytest.mark.parametrize("element", [E4M3, E5M2])
def test_factors_of_every_magnitude_of_a_large_tile(element):
    """sm_90a multiplies parts of 64 columns, whose sums are multiplied by powers of two and added."""
    check_every_magnitude(element, 128, 256, "sm_90a")


def check_every_magnitude(element: type, rows: int, columns: int, target: str) -> None:
    random, form = np.random.default_rng(8), Form(element, E8M0, 32)
    codes = np.array([*range(0, 252, 4), 255], np.uint8)
    operands = []
    for count in (rows, columns):
        elements = random.integers(-7, 8, (count, 32)).astype(element)
        factors = np.tile(codes, count // len(codes))[:, np.newaxis].view(E8M0)
        operands.append(Operand(elements, factors, elements.astype(np.float64)))
    a, b = operands
    # Sums of 32 products are exact in float32, and their products with powers of two in float64.
    with np.errstate(over="ignore", under="ignore"):
        factors = a.factors.astype(np.float64) * b.factors.astype(np.float64).T
        exact = (a.values @ b.values.T * factors).astype(np.float32)
    assert np.isnan(exact).any() and np.isinf(exact).any()
    assert ((0 < np.abs(exact)) & (np.abs(exact) < 2.0**-126)).any()
    # A sum of products beyond float32 is zero.
    assert ((a.values @ b.values.T == 0) & (factors > 2.0**130)).any()
    args = arguments(form, a, b, (rows, columns, 32))
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target=target, hints={}, seeds=range(2)):
        assert np.array_equal(c, exact, equal_nan=True)


@pytest.mark.parametrize("tile", [(64, 32, 128), (128, 256, 128)], ids=str)
@pytest.mark.parametrize("form", [FORMS["mxf8 e4m3"], FORMS["mxf8 e5m2"], FORMS["mxf4"]], ids=str)
def test_factors_of_a_row_that_differ_by_more_than_a_window(form, tile, target):
    """Blocks along K whose factors differ by 2^60 or 2^120 are in different windows, which are added in turn."""
    check_far_factors(form, tile, target, {})


def test_blocks_of_a_cluster_have_windows_of_their_own():
    """Each block of sm_90a reduces the factors of its rows alone, and multiplies as often as these need."""
    check_far_factors(FORMS["mxf8 e4m3"], (256, 128, 128), "sm_90a", {"num_ctas": 2})


def check_far_factors(form: Form, tile: tuple[int, int, int], target: str, hints: dict) -> None:
    random, depth = np.random.default_rng(6), 256
    operands = []
    for count in tile[:2]:
        each = operand(random, count, depth, form)
        factors = random.choice(np.array([67, 127, 187], np.uint8), (count, depth // form.block)).view(E8M0)
        elements = each.values / np.repeat(each.factors.astype(np.float64), form.block, 1)
        values = elements * np.repeat(factors.astype(np.float64), form.block, 1)
        operands.append(Operand(each.stored, factors, values))
    a, b = operands
    exact, args = a.values @ b.values.T, arguments(form, a, b, tile)
    if "num_ctas" in hints:
        assert messages(matmul, args, "num_ctas", hints, target) == []
    tolerance = product_tolerance(a.values, b.values.T, exact, np.float32)
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target=target, hints=hints, seeds=range(1)):
        assert_within(c, exact, tolerance)


def test_an_infinite_element_is_no_nan_in_other_windows(target):
    """Infinity times the zero that stands for a factor of another window would be NaN."""
    form = FORMS["mxf8 e5m2"]
    elements, ones = np.ones((64, 64), np.float32), np.ones((16, 64), np.float32)
    elements[3, 40], elements[5, 2] = np.inf, -np.inf
    codes = np.tile(np.array([[60, 190]], np.uint8), (64, 1)).view(E8M0)
    a = Operand(elements.astype(E5M2), codes, elements)
    b = Operand(ones.astype(E5M2), np.full((16, 2), 127, np.uint8).view(E8M0), ones)
    args = arguments(form, a, b, (64, 16, 64))
    exact = np.full((64, 16), np.float32(2.0**68))
    exact[3], exact[5] = np.inf, -np.inf
    for (c,) in run_everywhere(matmul, (1, 1), args, (4,), target=target, hints={}, seeds=range(1)):
        assert np.array_equal(c, exact)
