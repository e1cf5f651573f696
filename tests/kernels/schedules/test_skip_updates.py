"""On sm_100a a warp leaves its rows of an accumulator as they are if their factors are 1.

Operands are small integers and factors are powers of two, so that every sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

ROWS, COLUMNS, DEPTH, STEPS = 128, 128, 32, 6


@ct.kernel
def scaled(A, B, F, C, steps: int):
    """Each row of the sums is multiplied by a factor before each product."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        factor = ct.load(F, (k, 0), (ROWS, 1))
        total = ct.mma(ct.load(A, (0, k), (ROWS, DEPTH)), ct.load(B, (k, 0), (DEPTH, COLUMNS)), total * factor)
    ct.store(C, (0, 0), total)


@ct.kernel
def shifted(A, B, F, C, steps: int):
    """Rows change although their factors are 1."""
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(steps):
        factor = ct.load(F, (k, 0), (ROWS, 1))
        a, b = ct.load(A, (0, k), (ROWS, DEPTH)), ct.load(B, (k, 0), (DEPTH, COLUMNS))
        total = ct.mma(a, b, total * factor + 1.0)
    ct.store(C, (0, 0), total)


def factors(name: str) -> np.ndarray:
    """The factors of all rows by step."""
    found = np.ones((STEPS, ROWS), np.float32)
    if name == "all":
        found[:] = 0.5
    elif name == "one row":
        found[2, 70] = 2.0
    elif name == "some steps":
        found[1::2] = -1.0
    elif name == "zeros":
        found[3, :32] = 0.0
    elif name == "not a number":
        found[4, 100] = np.nan
    return found


FACTORS = ("ones", "all", "one row", "some steps", "zeros", "not a number")


def arguments(random: np.random.Generator, name: str) -> tuple[np.ndarray, ...]:
    a = random.integers(-2, 3, (ROWS, STEPS * DEPTH)).astype(np.float16)
    b = random.integers(-2, 3, (STEPS * DEPTH, COLUMNS)).astype(np.float16)
    return a, b, factors(name).reshape(-1, 1), np.zeros((ROWS, COLUMNS), np.float32)


def expected(a: np.ndarray, b: np.ndarray, f: np.ndarray, shift: float) -> np.ndarray:
    total = np.zeros((ROWS, COLUMNS), np.float32)
    for k in range(STEPS):
        own = slice(k * DEPTH, (k + 1) * DEPTH)
        product = a[:, own].astype(np.float32) @ b[own].astype(np.float32)
        total = total * f[k * ROWS : (k + 1) * ROWS] + np.float32(shift) + product
    return total


@pytest.mark.parametrize("kernel", [scaled, shifted], ids=["scaled", "shifted"])
@pytest.mark.parametrize("name", FACTORS)
def test_rows_have_their_factors(name: str, kernel: Any, target: str, random: np.random.Generator) -> None:
    a, b, f, c = arguments(random, name)
    for (found,) in run_everywhere(kernel, (1,), (a, b, f, c, STEPS), (3,), target=target, hints={}, seeds=range(3)):
        np.testing.assert_array_equal(found, expected(a, b, f, 0 if kernel is scaled else 1))


@pytest.fixture
def instructions(random: np.random.Generator) -> Callable[[str], int]:
    """The instructions that warps execute, by the name of the factors."""
    a, b, f, c = arguments(random, "ones")
    compiled = ct.compile(scaled, target="sm_100a", signature=Signature.from_arguments(scaled, (a, b, f, c, STEPS)))

    def count(name: str) -> int:
        given = (a, b, factors(name).reshape(-1, 1), np.zeros_like(c), STEPS)
        return int(ct.run(compiled, (1,), given, backend="simulate", seed=0)["instructions.tensor"])

    return count


def test_a_warp_without_factors_leaves_its_rows(instructions: Callable[[str], int]) -> None:
    """Each of four warps loads and stores four parts of 32 columns per step, and waits for each load and the stores."""
    none, one_warp, every_step = instructions("ones"), instructions("one row"), instructions("all")
    assert one_warp - none == 4 + 4 + 4 + 1
    assert every_step - none == 4 * STEPS * (4 + 4 + 4 + 1)
