"""Simulator and interpreter print the same text, which is that of Python's formatting, for every schedule."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from compare import backends
from programs import printed_sums

import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]


@ct.kernel
def printed_product(A, B, tm: Const, tn: Const, tk: Const):
    """Prints between the multiplies of a loop, and the sums of the rows of the product.

    It is not in programs.py, because ptxas reports that it serializes wgmma in kernels that call functions.
    """
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        acc = ct.mma(ct.load(A, index=(0, k), shape=(tm, tk)), ct.load(B, index=(k, 0), shape=(tk, tn)), acc)
        ct.assert_(k < 4, "too deep")
        print("multiply", k)
    print(ct.sum(acc, axis=1))


def nested(values: np.ndarray, form: str) -> str:
    """Each row in brackets."""
    return form % values if not values.ndim else f"[{', '.join(nested(row, form) for row in values)}]"


def texts(kernel, grid: int, args: tuple, target: str, hints: dict | None = None) -> set[str]:
    """The different texts of the simulator for all seeds and of the interpreter."""
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), hints=hints)
    found = set()
    for backend, settings in backends():
        pieces: list[str] = []
        ct.run(compiled, grid, args, backend=backend, print=pieces.append, **settings)
        found.add("".join(pieces))
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_printed_sums(target: str, dtype: type) -> None:
    rows, columns, grid = 16, 8, 2
    # Multiples of 1/4 below 2^8 have exact sums in every type.
    x = (np.random.default_rng(3).integers(-8, 8, (grid * rows, columns)) / 4).astype(dtype)
    expected = ""
    for block in range(grid):
        tile = x[block * rows : (block + 1) * rows].astype(np.float64)
        expected += f"block: {block}: holds {nested(tile, '%.2f')}\n"
        for factor in (1, 2):
            sums = tile.sum(axis=0) * factor
            expected += f"{factor} * sums = {nested(sums, '%g')}, total {sums.sum():8.3f}, "
            expected += f"largest is positive: {sums.max() > 0:d}\n"
    assert texts(printed_sums, grid, (x, rows, columns), target) == {expected}


def test_prints_between_multiplies(target: str, switches: dict) -> None:
    """The compute role prints while other roles load and multiply."""
    random = np.random.default_rng(4)
    a, b = random.integers(-2, 3, (128, 256)), random.integers(-2, 3, (256, 64))
    args = (a.astype(np.float16), b.astype(np.float16), 128, 64, 64)
    expected = "".join(f"multiply {k}\n" for k in range(4)) + nested((a @ b).sum(axis=1), "%f") + "\n"
    assert texts(printed_product, 1, args, target, switches) == {expected}
