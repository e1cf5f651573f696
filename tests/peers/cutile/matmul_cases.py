"""Products of matrices."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from cutile.bounded import TF32, Bounded, compare
from cutile.sampling import Comparisons, Launch, constants, random, tiles

F8 = np.dtype(ml_dtypes.float8_e4m3fn)


def factor(array: np.ndarray) -> Bounded:
    """An operand of the tensor cores: f32 is rounded to tf32."""
    return Bounded.exact(array).rounded(TF32 if array.dtype == np.float32 else 0.0)


def matmul(
    launch: Launch, extents: tuple[int, int, int] = (64, 96, 128), dtype: Any = np.float16, persistent: bool = False
) -> Comparisons:
    m, n, k = extents
    tile = (32, 32, 64) if np.dtype(dtype).itemsize == 2 else (32, 32, 32)
    a, b, c = random(1, m, k, dtype=dtype), random(2, k, n, dtype=dtype), np.zeros((m, n), dtype)
    blocks = tiles(m, tile[0]) * tiles(n, tile[1])
    grid = (min(blocks, 5),) if persistent else (blocks,)
    launch("persistent_matmul" if persistent else "matmul", grid, [a, b, c, *constants(*tile)])
    expected = (factor(a) @ factor(b)).stored(dtype)
    yield compare(f"{'persistent ' * persistent}matmul {m}x{n}x{k} {np.dtype(dtype)}", c, expected)


def batch_matmul(launch: Launch, dtype: Any = np.float16, ragged: bool = False) -> Comparisons:
    batch, m, n, k = (3, 50, 40, 70) if ragged else (2, 64, 64, 64)
    out, tile = np.float32 if np.dtype(dtype) == F8 else dtype, (32, 32, 64)
    a, b = random(1, batch, m, k, dtype=dtype), random(2, batch, k, n, dtype=dtype)
    c = np.zeros((batch, m, n), out)
    launch("batch_matmul", (batch, tiles(m, tile[0]), tiles(n, tile[1])), [a, b, c, *constants(*tile)])
    yield compare(f"batch matmul {batch}x{m}x{n}x{k} {np.dtype(dtype)}", c, (factor(a) @ factor(b)).stored(out))


def gathered_matmul(launch: Launch, dtype: Any = np.float32) -> Comparisons:
    """A product with rows from a list of arrays, as from the memory of several devices."""
    devices, m, n, k, tile = 3, 64, 96, 128, (32, 32, 64)
    parts = [random(device, m, k, dtype=dtype) for device in range(devices)]
    w, c = random(9, k, n, dtype=dtype), np.zeros((devices * m, n), np.float32)
    launch("gathered_matmul", (tiles(devices * m, tile[0]), tiles(n, tile[1])), [parts, w, c, *constants(*tile)])
    expected = factor(np.concatenate(parts)) @ factor(w)
    yield compare(f"matmul of {devices} gathered parts {np.dtype(dtype)}", c, expected)
