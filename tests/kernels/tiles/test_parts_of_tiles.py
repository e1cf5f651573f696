"""extract and insert at constant indices and at indices from memory agree with numpy on both targets."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from compare import SEEDS, run_everywhere


def expected(x: np.ndarray, indices: np.ndarray, part: tuple[int, int]) -> np.ndarray:
    z = x.copy()
    for r, c, to_r, to_c in indices:
        first, second = z[_part(r, c, part)].copy(), z[_part(to_r, to_c, part)].copy()
        z[_part(r, c, part)], z[_part(to_r, to_c, part)] = second, first
    return z


def _part(row: int, column: int, part: tuple[int, int]) -> tuple[slice, slice]:
    rows, columns = part
    return slice(row * rows, (row + 1) * rows), slice(column * columns, (column + 1) * columns)


# Parts that registers select, parts that threads select, and a tile larger than scratch memory.
SHAPES = [((64, 32), (16, 32)), ((16, 64), (4, 2)), ((128, 128), (32, 64)), ((8, 8), (1, 1))]


@pytest.mark.parametrize(("whole", "part"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int8], ids=lambda dtype: dtype.__name__)
def test_parts_exchanged_at_run_time(target, whole, part, dtype):
    random = np.random.default_rng(5)
    x = random.integers(-100, 100, whole).astype(dtype)
    counts = [a // b for a, b in zip(whole, part, strict=True)]
    indices = random.integers(0, [*counts, *counts], (3, 4), dtype=np.int32)
    args = (x, indices, np.zeros_like(x), *whole, *part)
    seeds = SEEDS if part == (16, 32) else (0, 1)
    for (z,) in run_everywhere(programs.exchanged_parts, (1,), args, (2,), target=target, hints={}, seeds=seeds):
        assert np.array_equal(z, expected(x, indices, part))


def test_an_index_beyond_the_grid_selects_the_last_part(target):
    """Such an index is undefined; outside of the checking modes, all backends agree."""
    x = np.arange(64, dtype=np.int32).reshape(8, 8)
    outside, clamped = np.int32([[0, 0, 9, -1]]), np.int32([[0, 0, 3, 1]])
    args = (x, outside, np.zeros_like(x), 8, 8, 2, 4)
    for (z,) in run_everywhere(programs.exchanged_parts, (1,), args, (2,), target=target, hints={}):
        assert np.array_equal(z, expected(x, clamped, (2, 4)))
