"""A product with gathered rows, which TMA does not load: for tests of how threads load them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilec as ct

ROWS, COLUMNS, DEPTH = 128, 64, 64


@ct.kernel
def every_third(A, B, R, first: int, end: int, padding: ct.Constant[int]):
    """R = the sum of the products of blocks first, first + 3, .. below end, in a loop with a step."""
    rows = ct.arange(ROWS, dtype=ct.int32)[:, None]
    columns = ct.arange(DEPTH, dtype=ct.int32)[None, :]
    total = ct.zeros((ROWS, COLUMNS), ct.float32)
    for k in range(first, end, 3):
        a = ct.gather(A, (rows, columns + DEPTH * k), padding_value=padding)
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, COLUMNS), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(R, (0, 0), total)


def matrices(depth: int, dtype: Any, rows: int = ROWS, columns: int = COLUMNS) -> tuple[np.ndarray, ...]:
    """Operands of small integers, whose products are exact, and zeros for the result."""
    random = np.random.default_rng(depth)
    A, B = random.integers(-3, 4, (rows, depth)), random.integers(-3, 4, (depth, columns))
    return A.astype(dtype), B.astype(dtype), np.zeros((rows, columns), np.float32)


def blocks_of_depth(first: int, end: int) -> list[int]:
    """The columns of A that every_third multiplies."""
    return [k * DEPTH + j for k in range(first, end, 3) for j in range(DEPTH)]
