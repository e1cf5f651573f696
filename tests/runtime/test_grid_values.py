"""Grids are integers, also those of numpy, or sequences of them."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.errors import InputError, UsageError
from tilec.runtime.grid import grid_of


@pytest.mark.parametrize(
    ("value", "grid"),
    [
        (3, (3, 1, 1)),
        ((), (1, 1, 1)),
        ((2, 3), (2, 3, 1)),
        ([2, 3, 4], (2, 3, 4)),
        (np.int64(5), (5, 1, 1)),
        ((np.int32(2), 1, np.uint8(7)), (2, 1, 7)),
        (np.array(4), (4, 1, 1)),
        (np.array([4, 2]), (4, 2, 1)),
        (range(1, 4), (1, 2, 3)),
        (0, (0, 1, 1)),
    ],
)
def test_integers(value: object, grid: tuple[int, int, int]) -> None:
    found = grid_of(value)  # type: ignore[arg-type]
    assert found == grid and all(type(extent) is int for extent in found)


@pytest.mark.parametrize(
    "value", [None, 1.0, "1", (1.5,), np.float64(1), np.array([1.0]), np.zeros((1, 1), int), [], -1, (1, 1, 1, 1)]
)
def test_other_values(value: object) -> None:
    with pytest.raises(InputError, match="the grid needs one to three integers of at least 0, got "):
        grid_of(value)  # type: ignore[arg-type]


@ct.kernel
def numbered(x):
    ct.store(x, ct.bid(0), ct.full(1, ct.bid(0), ct.int32))


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_launch_with_an_integer_of_numpy(backend: str) -> None:
    x = np.full(4, -1, np.int32)
    ct.launch(None, np.int64(3), numbered, (x,), backend=backend)
    assert x.tolist() == [0, 1, 2, -1]


def test_settings_of_a_compile_that_have_another_type() -> None:
    with pytest.raises(UsageError, match="needs a signature, for example .*, got list"):
        ct.compile(numbered, signature=["x: i32[?]"], stop="tile")
    with pytest.raises(UsageError, match="expected hints as a dictionary, got list"):
        ct.compile(numbered, signature="x: i32[?]", hints=["tma"], stop="tile")  # type: ignore[arg-type]
