"""Loops whose body has several steps: equal ones are rolled, and all have the result of the steps in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

TILE, ROWS = 16, 40


@dataclass(frozen=True)
class Step:
    """A step of an iteration: total = total * factor + row of X; other = other + total, or minus it.

    Attributes:
        row: the row of X, beside the number of rows of all iterations before.
        factor: the factor of the total.
        adds: whether the other sum grows by the total.
        follows: whether the step continues from the one before, not from the first total of the iteration.
    """

    row: int
    factor: int = 3
    adds: bool = True
    follows: bool = True


def of_groups(steps: Sequence[Step]) -> Any:
    count = len(steps)

    @ct.kernel
    def of_groups(X, Y, groups: int):
        total, other = ct.full((1, TILE), 1, ct.int32), ct.zeros((1, TILE), ct.int32)
        for group in range(ct.minimum(groups, 1000)):
            first = total
            for step in ct.static_iter(steps):
                before = total if step.follows else first
                total = before * step.factor + ct.load(X, (group * count + step.row, 0), (1, TILE))
                other = other + total if step.adds else other - total
        ct.store(Y, (0, 0), total)
        ct.store(Y, (1, 0), other)

    return of_groups


def by_rows(steps: Sequence[Step]) -> Any:
    count = len(steps)

    @ct.kernel
    def by_rows(X, Y, groups: int):
        total, other = ct.full((1, TILE), 1, ct.int32), ct.zeros((1, TILE), ct.int32)
        for row in range(0, ct.minimum(ct.maximum(groups, 0), 1000) * count, count):
            first = total
            for step in ct.static_iter(steps):
                before = total if step.follows else first
                total = before * step.factor + ct.load(X, (row + step.row, 0), (1, TILE))
                other = other + total if step.adds else other - total
        ct.store(Y, (0, 0), total)
        ct.store(Y, (1, 0), other)

    return by_rows


def expected(x: np.ndarray, steps: Sequence[Step], groups: int) -> np.ndarray:
    total, other = np.ones(TILE, np.int32), np.zeros(TILE, np.int32)
    for group in range(groups):
        first = total
        for step in steps:
            before = total if step.follows else first
            total = before * np.int32(step.factor) + x[group * len(steps) + step.row]
            other = other + total if step.adds else other - total
    return np.stack([total, other])


def loads_of_loop(kernel: Any, args: tuple[Any, ...]) -> int:
    """The loads in the loop of a kernel after the passes over Tile IR."""
    compiled = ct.compile(kernel, signature=Signature.from_arguments(kernel, args), target="sm_90a", stop="gpu")
    _, _, body = str(compiled.stage("tile-opt").value).partition("cuda_tile.for")
    return body.partition("cuda_tile.continue")[0].count("cuda_tile.load_view_tko")


EQUAL = {count: tuple(map(Step, range(count))) for count in (2, 3, 4, 6)}


@pytest.mark.parametrize("count, loads", [(2, 1), (3, 3), (4, 1), (6, 3)])
@pytest.mark.parametrize("kernel", [of_groups, by_rows])
def test_equal_steps(kernel: Any, count: int, loads: int, random: np.random.Generator, target: str) -> None:
    """Halves are equal as often as the number of steps is even."""
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    args = (x, np.zeros((2, TILE), np.int32), 5)
    made = kernel(EQUAL[count])
    for (found,) in run_everywhere(made, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found, expected(x, EQUAL[count], 5))
    assert loads_of_loop(made, args) == loads


CHANGES: tuple[dict[str, Any], ...] = ({"row": 3}, {"row": 0}, {"factor": 2}, {"adds": False}, {"follows": False})


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("kernel", [of_groups, by_rows])
def test_second_step_that_differs(
    kernel: Any, change: dict[str, Any], random: np.random.Generator, target: str
) -> None:
    steps = (Step(0), replace(Step(1), **change))
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    args = (x, np.zeros((2, TILE), np.int32), 5)
    made = kernel(steps)
    for (found,) in run_everywhere(made, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found, expected(x, steps, 5))


@pytest.mark.parametrize("seed", range(20))
def test_random_steps(seed: int, target: str) -> None:
    """Steps of few kinds, so that some halves are equal but for one thing."""
    random = np.random.default_rng([seed, 7])
    count = int(random.choice([2, 4, 6]))
    kinds = [Step(0, int(random.integers(1, 4)), bool(random.integers(2)), bool(random.integers(2))) for _ in range(2)]
    rows = random.permutation(count) if random.random() < 0.3 else np.arange(count)
    numbers = random.choice(2, count, p=[0.85, 0.15])
    steps = tuple(replace(kinds[number], row=int(row)) for number, row in zip(numbers, rows, strict=True))
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    groups = int(random.integers(-2, ROWS // count))
    args = (x, np.zeros((2, TILE), np.int32), groups)
    for kernel in (of_groups, by_rows):
        for (found,) in run_everywhere(kernel(steps), (1,), args, (1,), target=target, hints={}):
            np.testing.assert_array_equal(found, expected(x, steps, groups))


@ct.kernel
def of_dependent_indices(X, Y, first: int, multiple_first: ct.Constant[bool]):
    """One index is three times the other, whose sum has a term from outside of the loop."""
    total = ct.zeros((1, TILE), ct.int32)
    for group in range(3):
        for number in ct.static_iter(range(2)):
            row = group * 2 + number + first
            if multiple_first:
                total = total * 3 + ct.load(X, (row * 3, 0), (1, TILE)) - ct.load(X, (row, 0), (1, TILE))
            else:
                total = total * 3 - ct.load(X, (row, 0), (1, TILE)) + ct.load(X, (row * 3, 0), (1, TILE))
    ct.store(Y, (0, 0), total)


@pytest.mark.parametrize("multiple_first", [False, True])
def test_index_of_an_index(multiple_first: bool, random: np.random.Generator, target: str) -> None:
    """Both factors are halved, in whichever order the indices are found."""
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    args, total = (x, np.zeros((1, TILE), np.int32), 4, multiple_first), np.zeros(TILE, np.int32)
    for row in range(4, 10):
        total = total * np.int32(3) + x[3 * row] - x[row]
    for (found,) in run_everywhere(of_dependent_indices, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found[0], total)
    assert loads_of_loop(of_dependent_indices, args) == 2


@ct.kernel
def of_last_index(X, Y, first: int):
    total, last = ct.zeros((1, TILE), ct.int32), first * 0
    for group in range(3):
        for number in ct.static_iter(range(2)):
            last = group * 2 + first + number
            total = total * 3 + ct.load(X, (last, 0), (1, TILE))
    ct.store(Y, (0, 0), total + last)


def test_index_that_is_carried(random: np.random.Generator, target: str) -> None:
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    args, total = (x, np.zeros((1, TILE), np.int32), 4), np.zeros(TILE, np.int32)
    for row in range(4, 10):
        total = total * np.int32(3) + x[row]
    for (found,) in run_everywhere(of_last_index, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found[0], total + 9)


def of_several_indices(steps: Sequence[Sequence[tuple[int, int]]]) -> Any:
    count = len(steps)

    @ct.kernel
    def of_several_indices(X, Y, first: int):
        total, last = ct.zeros((1, TILE), ct.int32), first
        for group in range(3):
            for number in ct.static_iter(range(count)):
                row = group * count + number + first
                for factor, offset in ct.static_iter(steps[number]):
                    last = row * factor + offset
                    total = total * 3 + ct.load(X, (last, 0), (1, TILE))
        ct.store(Y, (0, 0), total + last)

    return of_several_indices


@pytest.mark.parametrize("seed", range(12))
def test_random_indices(seed: int, target: str) -> None:
    """Each step loads rows by indices that are computed from one another; most steps are equal."""
    random = np.random.default_rng([seed, 9])
    count = int(random.choice([2, 4]))
    kinds = [
        tuple((int(random.integers(1, 4)), int(random.integers(3))) for _ in range(random.integers(1, 4)))
        for _ in range(2)
    ]
    steps = tuple(kinds[number] for number in random.choice(2, count, p=[0.9, 0.1]))
    x, first = random.integers(-9, 9, (ROWS + 10, TILE)).astype(np.int32), 2
    total, last = np.zeros(TILE, np.int32), 0
    for row in range(3 * count):
        for factor, offset in steps[row % count]:
            last = (row + first) * factor + offset
            total = total * np.int32(3) + x[last]
    args = (x, np.zeros((1, TILE), np.int32), first)
    for (found,) in run_everywhere(of_several_indices(steps), (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found[0], total + last)


@ct.kernel
def of_branches(X, Y, first: int):
    """Both branches read the number of the group, not that of the row."""
    total = ct.zeros((1, TILE), ct.int32)
    for group in range(3):
        for number in ct.static_iter(range(2)):
            if first > 3:
                factor = group * 2 + 5
            else:
                factor = 1
            total = total * factor + ct.load(X, (group * 2 + number, 0), (1, TILE))
    ct.store(Y, (0, 0), total)


def test_branches_keep_the_counter(random: np.random.Generator, target: str) -> None:
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    args, total = (x, np.zeros((1, TILE), np.int32), 4), np.zeros(TILE, np.int32)
    for row in range(6):
        total = total * np.int32(row // 2 * 2 + 5) + x[row]
    for (found,) in run_everywhere(of_branches, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found[0], total)


@ct.kernel
def of_branches_without_else(X, Y, first: int):
    total = ct.zeros((1, TILE), ct.int32)
    for group in range(3):
        for number in ct.static_iter(range(2)):
            row = ct.load(X, (group * 2 + number, 0), (1, TILE))
            if first > 3:
                row = row * 2
            total = total * 3 + row
    ct.store(Y, (0, 0), total)


def test_branches_without_else(random: np.random.Generator, target: str) -> None:
    x = random.integers(-9, 9, (ROWS, TILE)).astype(np.int32)
    args, total = (x, np.zeros((1, TILE), np.int32), 4), np.zeros(TILE, np.int32)
    for row in range(6):
        total = total * np.int32(3) + 2 * x[row]
    for (found,) in run_everywhere(of_branches_without_else, (1,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found[0], total)


def test_counter_that_might_wrap_is_not_doubled() -> None:
    """Twice the number of groups exceeds an integer of 32 bits."""

    @ct.kernel
    def unbounded(X, Y, groups: int):
        total = ct.zeros((1, TILE), ct.int32)
        for group in range(groups):
            total = total + ct.load(X, (group * 2, 0), (1, TILE))
            total = total + ct.load(X, (group * 2 + 1, 0), (1, TILE))
        ct.store(Y, (0, 0), total)

    assert loads_of_loop(unbounded, (np.zeros((ROWS, TILE), np.int32), np.zeros((1, TILE), np.int32), 3)) == 2
