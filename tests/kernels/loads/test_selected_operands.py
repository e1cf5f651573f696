"""Operands of multiplies that masks of bytes or comparisons of floats select: one layout, one code for all wordings."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.explain.cost import kernel_costs
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
ROWS, COLUMNS, DEPTH = 128, 128, 160
TARGETS = ("sm_100a", "sm_90a")


@ct.kernel
def product(X, M, W, Y, wording: Const):
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(128, 64))):
        x = ct.load(X, (0, k), (128, 64), padding_mode=ZERO)
        m = ct.load(M, (0, k), (128, 64), padding_mode=ZERO)
        if wording == 0:
            x = ct.where(m != 0, x, 0)
        elif wording == 1:
            x = ct.where(m == 0, 0, x)
        elif wording == 2:
            x = ct.where(m.astype(ct.bool_), x, 0)
        elif wording == 3:
            x = ct.where(m.astype(ct.int32) != 0, x, 0)
        elif wording == 4:
            x = x * m.astype(x.dtype)
        total = ct.mma(x, ct.load(W, (k, 0), (64, 128), padding_mode=ZERO), total)
    ct.store(Y, (0, 0), total)


def arguments(dtype: type) -> list:
    random = np.random.default_rng(3)
    # Products and sums of these integers are exact.
    x, w = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((ROWS, DEPTH), (DEPTH, COLUMNS)))
    return [x, random.integers(0, 2, (ROWS, DEPTH)).astype(dtype), w, np.zeros((ROWS, COLUMNS), np.float32)]


@ct.kernel
def gradient(X, H, W, Y, wording: Const):
    """The gradient of a linear layer before ReLU."""
    total = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(128, 64))):
        x = ct.load(X, (0, k), (128, 64), padding_mode=ZERO)
        h = ct.load(H, (0, k), (128, 64), padding_mode=ZERO)
        if wording == 0:
            x = ct.where(h > 0, x, 0)
        elif wording == 1:
            x = ct.where(h.astype(ct.float32) > 0.0, x.astype(ct.float32), 0.0).astype(x.dtype)
        elif wording == 2:
            x = ct.where(h.astype(ct.float32) > 0.0, x, 0)
        elif wording == 3:
            x = ct.where(h > 0, x.astype(ct.float32), 0.0).astype(x.dtype)
        total = ct.mma(x, ct.load(W, (k, 0), (64, 128), padding_mode=ZERO), total)
    ct.store(Y, (0, 0), total)


def arguments_of_gradient() -> list:
    x, _, w, y = arguments(np.int8)
    h = np.random.default_rng(4).standard_normal((ROWS, DEPTH)).astype(np.float16)
    h[:, ::5] = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 2.0**-24, -(2.0**-24), 65504.0] * 4, np.float16)
    return [x, h, w, y]


def code_of(target: str, wording: int, dtype: type) -> tuple[str, str]:
    """The stage gpu and the instructions of the product."""
    return code_of_kernel(product, target, [*arguments(dtype), wording])


def code_of_kernel(kernel: ct.Kernel, target: str, args: list) -> tuple[str, str]:
    """The stage gpu, and the instructions of the PTX without the names of registers."""
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), stop="ptx")
    body = "\n".join(line.split("//")[0].strip() for line in compiled.ptx.splitlines() if "\t" in line or ";" in line)
    return compiled.gpu, re.sub(r"(?m)^\.(loc|file|section).*$", "", re.sub(r"%\w+", "%", body))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("wording", "dtype"), [(0, np.int8), (4, np.int8), (0, np.bool_), (1, np.bool_)])
def test_selected_operand(target, wording, dtype):
    args = [*arguments(dtype), wording]
    x, m, w, *_ = args
    exact = np.where(m != 0, x, 0).astype(np.float64) @ w.astype(np.float64)
    for (result,) in run_everywhere(product, (1,), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wording", range(5))
def test_the_mask_has_the_layout_of_the_floats(target, wording):
    """Threads exchange no elements, and choose two by one instruction."""
    gpu, ptx = code_of(target, wording, np.int8)
    assert "convert_layout" not in gpu
    assert "selp.b16" not in ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("wording", "dtype"), [(1, np.bool_), (2, np.int8), (2, np.bool_), (3, np.int8), (3, np.bool_)]
)
def test_wordings_of_a_mask_have_one_code(target, wording, dtype):
    _, expected = code_of(target, 0, np.bool_ if dtype is np.bool_ else np.int8)
    _, ptx = code_of(target, wording, dtype)
    assert sorted(ptx.splitlines()) == sorted(expected.splitlines())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wording", range(4))
def test_operand_that_floats_select(target, wording):
    args = [*arguments_of_gradient(), wording]
    x, h, w, *_ = args
    exact = np.where(h > 0, x, 0).astype(np.float64) @ w.astype(np.float64)
    for (result,) in run_everywhere(gradient, (1,), args, (3,), target=target, hints={}):
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wording", range(1, 4))
def test_floats_that_select_keep_their_16_bits(target, wording):
    _, expected = code_of_kernel(gradient, target, [*arguments_of_gradient(), 0])
    _, ptx = code_of_kernel(gradient, target, [*arguments_of_gradient(), wording])
    assert "cvt.f32.f16" not in ptx
    assert sorted(ptx.splitlines()) == sorted(expected.splitlines())


def test_cost_of_a_comparison_of_halves():
    """The machine code compares two floats of 16 bits by an instruction, and integers one by one."""
    work = {}
    for dtype in (np.float16, np.int16):
        x, h, *others = arguments_of_gradient()
        signature = Signature.from_arguments(gradient, [x, np.zeros_like(h, dtype), *others, 0])
        compiled = ct.compile(gradient, target="sm_90a", signature=signature, stop="gpu")
        (cost,) = kernel_costs(compiled.stage("gpu").value, compiled.target)
        (loop,) = (loop for loop in cost.loops if loop.work.depth == 0)
        work[dtype] = loop.work.step.alu
    assert work[np.int16] - work[np.float16] == 128 * 64 / 2
