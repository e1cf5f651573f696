"""Arithmetic on whole accumulators, whose operands and results are more registers than a thread has, is not spilled."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, matrix, product_tolerance, run_everywhere

import tilec as ct
from tilec.runtime.cubin.cubin import assemble
from tilec.signature import Signature

Extent = ct.Constant[int]
TARGETS = ("sm_100a", "sm_90a")


def silu(x):
    return x / (1.0 + ct.exp(-x))


@ct.kernel
def gated_by_half(X, W, Y, tm: Extent, tn: Extent, tk: Extent):
    """The gate and the values are the halves of one accumulator."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, 2 * tn), ct.float32)
    for k in range(ct.num_tiles(X, 1, (tm, tk))):
        total = ct.mma(ct.load(X, (row, k), (tm, tk)), ct.load(W, (k, column), (tk, 2 * tn)), total)
    gate, values = ct.extract(total, (0, 0), (tm, tn)), ct.extract(total, (0, 1), (tm, tn))
    ct.store(Y, (row, column), (silu(gate) * values).astype(Y.dtype))


@ct.kernel
def several_results(X, W, B, Y, Z, M, tm: Extent, tn: Extent, tk: Extent):
    """A product with a bias, its activation, and the maximum of each row."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(X, 1, (tm, tk))):
        total = ct.mma(ct.load(X, (row, k), (tm, tk)), ct.load(W, (k, column), (tk, tn)), total)
    total = total + ct.load(B, (column,), (tn,)).astype(ct.float32)[None, :]
    ct.store(Y, (row, column), total.astype(Y.dtype))
    activated = silu(total)
    ct.store(Z, (row, column), activated.astype(Z.dtype))
    ct.store(M, (row, column), ct.max(activated, axis=1, keepdims=True))


@ct.kernel
def two_layers(X, V, W, Y, tm: Extent, hidden: Extent, depth: Extent):
    """The activation of a product is the left operand of another one."""
    row = ct.bid(0)
    x, total = ct.load(X, (row, 0), (tm, depth)), ct.zeros((tm, depth), ct.float32)
    for k in range(ct.num_tiles(V, 1, (depth, hidden))):
        product = ct.mma(x, ct.load(V, (0, k), (depth, hidden)), ct.zeros((tm, hidden), ct.float32))
        total = ct.mma(silu(product).astype(X.dtype), ct.load(W, (k, 0), (hidden, depth)), total)
    ct.store(Y, (row, 0), total.astype(Y.dtype))


def expected_silu(x: np.ndarray) -> np.ndarray:
    return x / (1.0 + np.exp(-x))


def assert_nothing_is_spilled(kernel, args, target):
    ptx = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args)).ptx
    assert assemble(ptx, target).spill_bytes == 0


@pytest.mark.parametrize("target", TARGETS)
def test_halves_of_an_accumulator(random, target):
    x, w = matrix(random, (128, 128), np.float16), matrix(random, (128, 256), np.float16)
    args = x, w, np.zeros((128, 128), np.float32), 128, 128, 64
    assert_nothing_is_spilled(gated_by_half, args, target)
    sums = x.astype(np.float64) @ w.astype(np.float64)
    exact = expected_silu(sums[:, :128]) * sums[:, 128:]
    # Neither factor changes by more than 1.1 times the error of a sum, relative to the other.
    lost = product_tolerance(x.astype(np.float64), w.astype(np.float64), sums, np.float32)
    tolerance = 1.1 * lost[:, :128] * np.abs(sums[:, 128:]) + np.abs(expected_silu(sums[:, :128])) * lost[:, 128:]
    for (y,) in run_everywhere(gated_by_half, (1, 1), args, (2,), target=target, hints={}):
        assert_within(y, exact, tolerance + 1e-5 * (1 + np.abs(exact)))


@pytest.mark.parametrize("target", TARGETS)
def test_several_results(random, target):
    x, w, b = (matrix(random, shape, np.float16) for shape in ((128, 128), (128, 128), (1, 128)))
    y, z, largest = (np.zeros(shape, np.float32) for shape in ((128, 128), (128, 128), (128, 1)))
    args = x, w, b[0], y, z, largest, 128, 128, 64
    assert_nothing_is_spilled(several_results, args, target)
    exact = x.astype(np.float64) @ w.astype(np.float64) + b
    tolerance = product_tolerance(x.astype(np.float64), w.astype(np.float64), exact, np.float32) + 1e-5
    for sums, activated, most in run_everywhere(several_results, (1, 1), args, (3, 4, 5), target=target, hints={}):
        assert_within(sums, exact, tolerance)
        assert_within(activated, expected_silu(exact), 1.1 * tolerance)
        assert np.array_equal(most[:, 0], activated.max(1))


@pytest.mark.parametrize("target", TARGETS)
def test_activation_between_two_products(random, target):
    x, v, w = (matrix(random, shape, np.float16) for shape in ((128, 128), (128, 256), (256, 128)))
    args = x, v, w, np.zeros((128, 128), np.float32), 128, 128, 128
    if target == "sm_100a":
        assert_nothing_is_spilled(two_layers, args, target)
    hidden = expected_silu(x.astype(np.float64) @ v.astype(np.float64))
    exact = hidden @ w.astype(np.float64)
    # The activation is rounded to 11 bits; the sums add less than as much again.
    tolerance = 2.0**-10 * np.abs(hidden) @ np.abs(w.astype(np.float64)) + 1e-4
    for (y,) in run_everywhere(two_layers, (1,), args, (3,), target=target, hints={}):
        assert_within(y, exact, tolerance)
