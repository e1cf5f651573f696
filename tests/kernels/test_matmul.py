"""Matmul for every input and accumulator type, both orders of A and B, both targets, and shapes that fit no tile."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import programs
import pytest
from compare import assert_within, matrix, product_tolerance, run_everywhere

BF16 = ml_dtypes.bfloat16
# By name: kernel, type of A and B, type of C, tile, fraction bits that operands are cut to.
KINDS = {
    "f16": (programs.matmul, np.float16, np.float16, (128, 64, 64), None),
    "f16-f32": (programs.matmul, np.float16, np.float32, (128, 128, 64), None),
    "bf16": (programs.matmul, BF16, BF16, (128, 64, 64), None),
    "tf32": (programs.matmul_tf32, np.float32, np.float32, (128, 64, 32), 10),
    "f32": (programs.matmul, np.float32, np.float32, (64, 64, 32), None),
    "f16-accumulator": (programs.matmul_f16_accumulator, np.float16, np.float16, (128, 64, 64), None),
}
# M, N, K: whole tiles, ragged in some or all directions, K below a tile, K that runs a ring of four twice round.
SHAPES = [
    (128, 64, 64),
    (256, 128, 128),
    (128, 64, 24),
    (100, 64, 64),
    (128, 50, 64),
    (128, 64, 100),
    (130, 70, 72),
    (1, 1, 1),
    (33, 200, 40),
    (129, 65, 257),
    (64, 48, 640),
    (200, 136, 576),
]
ORDERS = list(itertools.product((False, True), repeat=2))
# Rounding a float16 accumulator after each multiply loses half a unit of float16 of the largest partial sum.
HALF_ACCUMULATOR = 2.0**-11


def check(
    kind: str, shape: tuple[int, int, int], orders: tuple[bool, bool], target: str, seeds: range, interpret: bool
) -> None:
    kernel, dtype, result, tile, bits = KINDS[kind]
    M, N, K = shape
    random = np.random.default_rng([M, N, K])
    A, B = matrix(random, (M, K), dtype, orders[0]), matrix(random, (K, N), dtype, orders[1])
    aligned = -(-N // 8) * 8
    C = np.zeros((M, aligned), result)[:, :N]
    a, b = A.astype(np.float64), B.astype(np.float64)
    tolerance = product_tolerance(a, b, a @ b, result, operand_bits=bits)
    if kernel is programs.matmul_f16_accumulator:
        tolerance = tolerance + -(-K // 16) * HALF_ACCUMULATOR * (np.abs(a) @ np.abs(b))
    grid = (-(-M // tile[0]), -(-N // tile[1]))
    found = run_everywhere(
        kernel, grid, (A, B, C, *tile), (2,), target=target, hints={}, seeds=seeds, interpret=interpret
    )
    for (c,) in found:
        assert_within(c, a @ b, tolerance)
    if interpret:
        # Both are within the bound of the exact value, so within twice the bound of each other.
        assert_within(found[0][0].astype(np.float64), found[-1][0].astype(np.float64), 2 * tolerance)


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: "".join("ft"[order] for order in orders))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("kind", KINDS)
def test_right_for_one_adversarial_seed(kind, shape, orders, target):
    check(kind, shape, orders, target, range(1, 2), interpret=orders == (False, False))


@pytest.mark.parametrize("shape", [s for s in SHAPES if max(s) <= 256], ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("kind", KINDS)
def test_right_for_twenty_seeds(kind, shape, target):
    check(kind, shape, (False, False), target, range(20), interpret=False)


@pytest.mark.soak
@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: "".join("ft"[order] for order in orders))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("kind", KINDS)
def test_the_full_product(kind, shape, orders, target):
    check(kind, shape, orders, target, range(20), interpret=True)
