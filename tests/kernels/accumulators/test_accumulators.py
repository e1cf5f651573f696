"""Accumulators that stay in tensor memory while other arithmetic reads and changes them: exact in every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import accumulator_kernels as kernels
import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec
from tilec.signature import Signature

ROWS, COLUMNS, DEPTH = 128, 32, 32
SEEDS = range(2)
# Each of these drops roles, copies that run ahead, or TMA.
SWITCHES = [{}, {"roles": False}, {"pipeline": False, "tma": False}]


def _scaled(products: list[np.ndarray], steps: int, is_scaled: Callable[[int], bool]) -> np.ndarray:
    total = np.zeros((ROWS, COLUMNS))
    for k in range(steps):
        total = (-total if is_scaled(k) else total) + products[k]
    return total


def _two_at_once(products: list[np.ndarray], steps: int) -> np.ndarray:
    first, second = np.zeros((ROWS, COLUMNS)), np.ones((ROWS, COLUMNS))
    for k in range(steps):
        first, second = second + products[k], first
    return np.concatenate([first, second])


def _one_after_the_other(products: list[np.ndarray], steps: int) -> np.ndarray:
    total = np.full((ROWS, COLUMNS), 3.0)
    for _ in range(2):
        total = total + products[1] + products[0] + sum(products[:steps])
        total = np.maximum(total, -100)
    return total


# By kernel: the rows of C, and C after it has run, from the product of each step.
EXACT: dict[str, tuple[int, Callable[[list[np.ndarray], int], np.ndarray]]] = {
    "scaled": (1, lambda products, steps: _scaled(products, steps, lambda k: True)),
    "scaled_sometimes": (1, lambda products, steps: _scaled(products, steps, lambda k: k % 2 == 1)),
    "added_sometimes": (1, lambda products, steps: sum(products[:steps:2], np.zeros((ROWS, COLUMNS)))),
    "stored_each_time": (
        5,
        lambda products, steps: np.concatenate(
            [sum(products[:k], np.zeros((ROWS, COLUMNS))) for k in (steps, *range(1, steps + 1))]
            + [np.full((ROWS, COLUMNS), 3.0)] * (4 - steps)
        ),
    ),
    "two_at_once": (2, _two_at_once),
    "counted": (1, lambda products, steps: sum(products[:steps], np.zeros((ROWS, COLUMNS)))),
    "left_between_load_and_use": (1, lambda products, steps: sum(products[:steps], np.zeros((ROWS, COLUMNS)))),
    "skipped": (1, lambda products, steps: _scaled(products, steps, lambda k: False) - (steps > 2) * products[2]),
    "one_after_the_other": (1, _one_after_the_other),
}


def _given(random: np.random.Generator, tiles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """A, B, C of a number of tiles, and the product of each step; all sums are exact in float32."""
    A, B = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((ROWS, 4 * DEPTH), (4 * DEPTH, COLUMNS)))
    parts = [slice(k * DEPTH, (k + 1) * DEPTH) for k in range(4)]
    products = [A[:, part].astype(np.float64) @ B[part] for part in parts]
    return A, B, np.full((tiles * ROWS, COLUMNS), 3, np.float32), products


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("name", EXACT)
def test_result_is_exact(name, steps, hints, target, random):
    tiles, exact = EXACT[name]
    A, B, C, products = _given(random, tiles)
    args = (A, B, C, steps, ROWS, COLUMNS, DEPTH)
    for (found,) in run_everywhere(getattr(kernels, name), (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact(products, steps), 0.0)


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("columns", [COLUMNS, 2 * COLUMNS, 4 * COLUMNS])
def test_branches_on_the_condition_of_a_loop_keep_their_effects(columns, steps, hints, target, random):
    """Passes may merge them with the branch that reads the sums; 64 columns are stored in two slices."""
    A, B, C, _ = _given(random, 2)
    B, C = np.tile(B, columns // COLUMNS), np.tile(C, columns // COLUMNS)
    depth = steps * DEPTH
    exact = [A[:, :depth].astype(np.float64) @ B[:depth], np.full((ROWS, columns), 3.0 if steps else 7.0)]
    args = (A, B, C, steps, ROWS, columns, DEPTH)
    for (found,) in run_everywhere(kernels.told_apart, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, np.concatenate(exact), 0.0)


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("size", [64, 128])
def test_sums_are_an_operand_of_the_multiply_that_adds_to_them(size, is_left, hints, target, random):
    """A permutation with signs as B, and few elements, keep the sums exact in float16."""
    A, order = random.integers(-1, 2, (size, size)).astype(np.float16), random.permutation(size)
    B = np.eye(size)[order].astype(np.float16) * random.choice([-1, 1], size).astype(np.float16)
    exact = A.astype(np.float64) @ B
    for _ in range(3):
        exact = exact + (exact @ B if is_left else B @ exact)
        exact = exact + B @ exact
    args = (A, B, np.zeros((size, size), np.float32), 3, size, size, size, is_left)
    for (found,) in run_everywhere(kernels.of_itself, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
@pytest.mark.parametrize("steps", [0, 3])
def test_loop_of_unknown_length(steps, hints, target, random):
    A, B, C, products = _given(random, 1)
    args = (A, B, C, np.array([steps], np.int32), ROWS, COLUMNS, DEPTH)
    for (found,) in run_everywhere(kernels.until_bound, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, sum(products[:steps], np.zeros((ROWS, COLUMNS))), 0.0)


@pytest.mark.parametrize("hints", [{}, {"stages": 1}], ids=str)
def test_multiply_does_not_wait_in_front_of_loops_whose_loads_come_first(hints, target, random):
    """A ring is shorter than the loads of two tiles, so the last multiply of a tile must not precede its loops."""
    A, B, C, products = _given(random, 6)
    args = (A, B, C, 3, 4, ROWS, COLUMNS, DEPTH)
    exact = np.concatenate([part for i in range(3) for part in (sum(products), products[i])])
    for (found,) in run_everywhere(
        kernels.after_inner_loops, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS
    ):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("hints", SWITCHES, ids=str)
def test_loop_over_tiles(hints, target, random):
    A, B, C, products = _given(random, 3)
    args = (A, B, C, 3, 3, ROWS, COLUMNS, DEPTH)
    exact = np.concatenate([sum(products[: 3 - i]) + (3 - i) for i in range(3)])
    for (found,) in run_everywhere(kernels.many_tiles, (1,), args, (2,), target=target, hints=hints, seeds=SEEDS):
        assert_within(found, exact, 0.0)


@pytest.mark.parametrize("name", ["counted", "left_between_load_and_use", "skipped"])
def test_exits_keep_roles_and_tma(name, target):
    A, B, C, _ = _given(np.random.default_rng(0), 1)
    args: tuple[Any, ...] = (A, B, C, 4, ROWS, COLUMNS, DEPTH)
    kernel = getattr(kernels, name)
    signature = Signature.from_arguments(kernel, args)
    # Exits separate adjacent tile blocks on sm_90a, which has a remark of its own (test_joined_programs.py).
    compiled = tilec.compile(kernel, target=target, signature=signature, hints={"multicast": False}, stop="gpu")
    text = compiled.stage("gpu").text
    assert "} load warps" in text
    assert text.split("} load warps")[1].count("tile_gpu.tma_load") == 2
    assert not compiled.all_remarks


@pytest.mark.parametrize("name", ["scaled", "scaled_sometimes", "added_sometimes", "stored_each_time"])
def test_loop_carries_no_registers(name):
    A, B, C, _ = _given(np.random.default_rng(0), EXACT[name][0])
    args: tuple[Any, ...] = (A, B, C, 4, ROWS, COLUMNS, DEPTH)
    kernel = getattr(kernels, name)
    compiled = tilec.compile(kernel, target="sm_100a", signature=Signature.from_arguments(kernel, args), stop="gpu")
    (loop,) = [line for line in compiled.stage("gpu").text.split("} load warps")[0].splitlines() if "scf.for" in line]
    assert f"!tile_{ROWS}x{COLUMNS}xf32" not in loop
