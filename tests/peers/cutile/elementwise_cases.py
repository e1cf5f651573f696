"""Sums, which are rounded once, and transposes, which are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from cutile.bounded import Bounded, compare
from cutile.sampling import Comparisons, Launch, constants, random, tiles


def vector_add(launch: Launch, extent: int = 1000, tile: int = 128, gathered: bool = False) -> Comparisons:
    a, b, c = random(1, extent), random(2, extent), np.zeros(extent, np.float32)
    launch("add_gathered" if gathered else "add", (tiles(extent, tile),), [a, b, c, *constants(tile)])
    yield compare(f"add of {extent}", c, Bounded.exact(a) + b)


def matrix_add(launch: Launch, shape: tuple[int, int] = (70, 90), gathered: bool = False) -> Comparisons:
    a, b, c, tile = random(1, *shape), random(2, *shape), np.zeros(shape, np.float32), (16, 64)
    grid = tuple(map(tiles, shape, tile))
    launch("add_matrices_gathered" if gathered else "add_matrices", grid, [a, b, c, *constants(*tile)])
    yield compare(f"add of {shape}", c, Bounded.exact(a) + b)


def transpose(launch: Launch, shape: tuple[int, int] = (96, 64), dtype: Any = np.float32) -> Comparisons:
    x, tile = random(1, *shape, dtype=dtype), (32, 32)
    y = np.zeros(shape[::-1], dtype)
    launch("transpose", tuple(map(tiles, shape, tile)), [x, y, *constants(*tile)])
    yield compare(f"transpose of {shape} {np.dtype(dtype)}", y, Bounded.exact(x.T))
