"""examples/matmul.py for all input and accumulator types, row- and column-major operands, targets and ragged shapes."""

from __future__ import annotations

import itertools
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from compare import assert_within, matrix, product_tolerance, run_everywhere

from tilec.language.kernel import find

BF16 = ml_dtypes.bfloat16
MATMUL = find(str(Path(__file__).parents[3] / "examples" / "matmul.py"), "matmul_kernel")
# By name: type of A and B, type of C, tile, whether operands become tf32, whether the accumulator is float16.
KINDS = {
    "f16": (np.float16, np.float16, (128, 64, 64), False, False),
    "f16-f32": (np.float16, np.float32, (128, 128, 64), False, False),
    "bf16": (BF16, BF16, (128, 64, 64), False, False),
    "tf32": (np.float32, np.float32, (128, 64, 32), True, False),
    "f32": (np.float32, np.float32, (64, 64, 32), False, False),
    "f16-accumulator": (np.float16, np.float16, (128, 64, 64), False, True),
}
TF32_FRACTION_BITS = 10
# M, N, K: whole tiles, partial tiles in some or all dimensions, K below a tile, K of more than two rings of four slots.
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
TARGETS = ("sm_100a", "sm_90a")
ORDERS = list(itertools.product((False, True), repeat=2))
# Rounding a float16 accumulator after each multiply loses half a unit of float16 of the largest partial sum.
HALF_ACCUMULATOR = 2.0**-11


def check(
    kind: str, shape: tuple[int, int, int], orders: tuple[bool, bool], target: str, seeds: range, interpret: bool
) -> None:
    dtype, result, tile, use_tf32, half_accumulator = KINDS[kind]
    M, N, K = shape
    random = np.random.default_rng([M, N, K])
    A, B = matrix(random, (M, K), dtype, orders[0]), matrix(random, (K, N), dtype, orders[1])
    aligned = -(-N // 8) * 8
    C = np.zeros((M, aligned), result)[:, :N]
    a, b = A.astype(np.float64), B.astype(np.float64)
    tolerance = product_tolerance(a, b, a @ b, result, operand_bits=TF32_FRACTION_BITS if use_tf32 else None)
    if half_accumulator:
        tolerance = tolerance + -(-K // 16) * HALF_ACCUMULATOR * (np.abs(a) @ np.abs(b))
    grid = (-(-M // tile[0]) * -(-N // tile[1]),)
    args = (A, B, C, *tile, use_tf32, half_accumulator)
    found = run_everywhere(MATMUL, grid, args, (2,), target=target, hints={}, seeds=seeds, interpret=interpret)
    for (c,) in found:
        assert_within(c, a @ b, tolerance)
    if interpret:
        # Both are within the bound of the exact value, so within twice the bound of each other.
        assert_within(found[0][0].astype(np.float64), found[-1][0].astype(np.float64), 2 * tolerance)


def _covering() -> list[tuple[str, tuple[int, int, int], tuple[bool, bool], str]]:
    """Every kind with every shape on both targets; one order each, varied so that all pairs of values occur."""
    rows = []
    for (k, kind), (s, shape), (t, target) in itertools.product(*map(enumerate, (KINDS, SHAPES, TARGETS))):
        rows.append((kind, shape, ORDERS[(k + s + 2 * t) % len(ORDERS)], target))
    return rows


def test_cases_cover_all_pairs_of_values() -> None:
    rows = _covering()
    for first, second in itertools.combinations(range(4), 2):
        values = [{row[axis] for row in rows} for axis in (first, second)]
        assert len({(row[first], row[second]) for row in rows}) == len(values[0]) * len(values[1])


@pytest.mark.parametrize(("kind", "shape", "orders", "target"), _covering(), ids=str)
def test_one_adversarial_seed(kind, shape, orders, target):
    # The other three quarters of the product run in test_full_product.
    check(kind, shape, orders, target, range(1, 2), interpret=orders == (False, False))


SMALL = [shape for shape in SHAPES if max(shape) <= 256]
# Alternates the targets over all kinds and shapes.
TWENTY_SEEDS = [
    (kind, shape, TARGETS[(k + s) % 2])
    for (k, kind), (s, shape) in itertools.product(enumerate(KINDS), enumerate(SMALL))
]


@pytest.mark.parametrize(("kind", "shape", "target"), TWENTY_SEEDS, ids=str)
def test_twenty_seeds(kind, shape, target):
    check(kind, shape, (False, False), target, range(20), interpret=False)


@pytest.mark.soak
@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: "".join("ft"[order] for order in orders))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("kind", KINDS)
def test_full_product(kind, shape, orders, target):
    check(kind, shape, orders, target, range(20), interpret=True)
