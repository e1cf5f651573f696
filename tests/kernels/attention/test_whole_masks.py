"""Masks of scores are computed only in the iterations that need them: a loop is split where a mask starts or ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LEAST, GREATEST = -(2**31), 2**31 - 1


def kernel_with(masked: Callable[..., Any]) -> Any:
    """Sums and greatest elements of masked products of rows of A and of B; all sums are exact."""

    @ct.kernel
    def masked_rows(A, B, SUMS, MOST, first, window, TM: Const, TN: Const, D: Const, STEP: Const):
        a = ct.load(A, (ct.bid(0), 0), (TM, D), padding_mode=ZERO)
        total = ct.zeros((TM, 1), ct.float32)
        most = ct.full((TM, 1), -5000.0, ct.float32)
        rows = first + ct.bid(0) * TM + ct.arange(TM, dtype=ct.int32)[:, None]
        for j in range(0, ct.num_tiles(B, axis=0, shape=(TN, D)), STEP):
            b = ct.load(B, (j, 0), (TN, D), padding_mode=ZERO)
            columns = j * TN + ct.arange(TN, dtype=ct.int32)[None, :]
            s = masked(ct.mma(a, ct.transpose(b), ct.zeros((TM, TN), ct.float32)), rows, columns, window)
            most = ct.maximum(most, ct.max(s, axis=1, keepdims=True))
            # The order of the iterations counts.
            total = total * 0.5 + ct.sum(s, axis=1, keepdims=True)
        ct.store(SUMS, (ct.bid(0), 0), total)
        ct.store(MOST, (ct.bid(0), 0), most)

    return masked_rows


def causal(s, rows, columns, window):
    return ct.where(columns <= rows, s, -1024.0)


def negated(s, rows, columns, window):
    return ct.where(columns > rows, -1024.0, s)


def inverted(s, rows, columns, window):
    return ct.where(~(rows < columns), s, -1024.0)


def future(s, rows, columns, window):
    return ct.where(columns >= rows, s, -1024.0)


def in_window(s, rows, columns, window):
    return ct.where((columns <= rows) & (rows - columns < window), s, -1024.0)


def in_window_twice(s, rows, columns, window):
    s = ct.where(columns > rows, -1024.0, s)
    return ct.where(rows - window < columns, s, -1024.0)


def in_groups(s, rows, columns, window):
    return ct.where(columns <= rows + ct.arange(64, dtype=ct.int32)[:, None] // 4, s, -1024.0)


# Each mask, the same by numpy, and the loops that it makes.
MASKS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "causal": (causal, lambda r, c, w: c <= r, 2),
    "negated": (negated, lambda r, c, w: c <= r, 2),
    "inverted": (inverted, lambda r, c, w: c <= r, 2),
    "future": (future, lambda r, c, w: c >= r, 2),
    # rows - columns may wrap.
    "in_window": (in_window, lambda r, c, w: (c <= r) & (r - c < w), 2),
    "in_window_twice": (in_window_twice, lambda r, c, w: (c <= r) & (r - w < c), 3),
    "in_groups": (in_groups, lambda r, c, w: c <= r + (np.arange(len(r)) % 64 // 4)[:, None], 2),
}
KERNELS = {name: kernel_with(masked) for name, (masked, _, _) in MASKS.items()}


def arguments(random: np.random.Generator, first: int, window: int, step: int) -> tuple[Any, ...]:
    a, b = (random.integers(-2, 3, (rows, 16)).astype(np.float16) for rows in (128, 320))
    sums, most = (np.zeros((128, 1), np.float32) for _ in range(2))
    return a, b, sums, most, first, window, 64, 64, 16, step


def expected(name: str, given: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    a, b, _, _, first, window, _, _, _, step = given
    rows, columns = first + np.arange(128)[:, None], np.arange(320)[None, :]
    s = np.where(MASKS[name][1](rows, columns, window), a.astype(np.float64) @ b.astype(np.float64).T, -1024)
    total = np.zeros(128)
    parts = [s[:, 64 * j : 64 * j + 64] for j in range(0, 5, step)]
    for part in parts:
        total = total * 0.5 + part.sum(1)
    return total[:, None], np.maximum(-5000, np.concatenate(parts, 1).max(1))[:, None]


def loops(name: str, given: tuple[Any, ...], target: str) -> int:
    """The loops that multiply."""
    compiled = ct.compile(
        KERNELS[name], target=target, signature=Signature.from_arguments(KERNELS[name], given), stop="tile-opt"
    )
    return len(re.findall(r"\bfor %", compiled.stage("tile-opt").text))


@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str, target: str, random: np.random.Generator) -> None:
    """Parts without iterations, before, between and after; rows that are outside of all columns."""
    for number, (first, window) in enumerate(
        [(0, 64), (96, 100), (200, 1), (-70, 33), (150, 200), (1000, 0), (37, 10**6)]
    ):
        given = arguments(random, first, window, 1 + number % 2)
        (simulated, interpreted) = run_everywhere(KERNELS[name], (2,), given, (2, 3), target=target, hints={})
        for found in (simulated, interpreted):
            for value, exact in zip(found, expected(name, given), strict=True):
                np.testing.assert_array_equal(value, exact)
    assert loops(name, given, target) == MASKS[name][2]


@pytest.mark.parametrize("first", [GREATEST - 127, GREATEST - 100, LEAST, LEAST + 5])
def test_rows_that_may_wrap_have_the_mask_of_their_numbers(
    first: int, target: str, random: np.random.Generator
) -> None:
    """first + 64 i + 63 may exceed i32: then no iteration goes without the mask."""
    given = arguments(random, first, 3, 1)
    simulated, interpreted = run_everywhere(KERNELS["causal"], (2,), given, (2, 3), target=target, hints={})
    for found, exact in zip(simulated, interpreted, strict=True):
        np.testing.assert_array_equal(found, exact)
    rows = (first + np.arange(128, dtype=np.int64) + 2**31) % 2**32 - 2**31
    a, b = (each.astype(np.float64) for each in given[:2])
    s = np.where(np.arange(320)[None, :] <= rows[:, None], a @ b.T, -1024)
    np.testing.assert_array_equal(interpreted[1][:, 0], s.max(1))


def softcapped(s, rows, columns, window):
    return ct.exp2(ct.tanh(ct.where(columns <= rows, s, -1024.0)))


def chosen_of_two(s, rows, columns, window):
    return ct.where(columns <= rows, s, s * 2.0)


def by_products(s, rows, columns, window):
    return ct.where(columns * columns <= rows, s, -1024.0)


@pytest.mark.parametrize("masked", [softcapped, chosen_of_two, by_products])
def test_other_masks_stay(masked: Callable[..., Any], target: str, random: np.random.Generator) -> None:
    """Masks that other work hides, that choose between two values, and that are not monotone."""
    kernel, given = kernel_with(masked), arguments(random, 0, 0, 1)
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, given), stop="tile-opt")
    assert len(re.findall(r"\bfor %", compiled.stage("tile-opt").text)) == 1
    assert "tilec.optional" not in compiled.stage("tile-opt").text
