"""Arrays of lists are loaded, multiplied and stored by TMA, whatever their extents, strides and numbers are.

The elements around each array in memory are large numbers: no kernel reads them as data, or writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilec
import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
UNTOUCHED = 12345.0
TARGETS = ("sm_100a", "sm_90a")
# Rows, columns and depth of products: odd, of one row, empty in each dimension, and of whole tiles.
PRODUCTS = ((130, 72, 100), (0, 64, 32), (1, 1, 1), (65, 129, 65), (64, 72, 0), (3, 0, 5), (64, 64, 64))


class Groups:
    """Arrays of a list in one memory each, with elements UNTOUCHED around them, whose rows start at 16 bytes."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtype: Any = np.float16, values: Any = None) -> None:
        self.whole, self.arrays = [], []
        for shape in shapes:
            step = 16 // np.dtype(dtype).itemsize
            columns = -(-shape[-1] // step) * step + step
            memory = np.full((*shape[:-1], columns) if len(shape) > 1 else (columns,), UNTOUCHED, dtype)
            padded = np.full(memory.size + 4 * step, UNTOUCHED, dtype)
            start = step + -(padded.ctypes.data // np.dtype(dtype).itemsize) % step
            memory = padded[start : start + memory.size].reshape(memory.shape)
            self.whole.append(padded)
            self.arrays.append(memory[..., : shape[-1]])
        if values is not None:
            for array in self.arrays:
                array[...] = values(array.shape)

    def check(self, expected: Sequence[np.ndarray]) -> None:
        """Compares the arrays, and what is around them."""
        for array, whole, values in zip(self.arrays, self.whole, expected, strict=True):
            np.testing.assert_array_equal(array, values)
            assert np.count_nonzero(whole == UNTOUCHED) == whole.size - array.size


def integers(seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    return lambda shape: random.integers(-3, 4, shape)


def simulated(
    kernel: Any, args: Sequence[Any], grid: int, target: str, seeds: Sequence[int] = (0, 1), **hints: Any
) -> Any:
    """The compiled kernel, after runs in the simulator for each seed and in the interpreter."""
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), **hints)
    for seed in seeds:
        tilec.run(compiled, (grid,), args, backend="simulate", seed=seed)
    return compiled


@ct.kernel
def grouped_product(As, Bs, Cs, M: Const, N: Const, K: Const):
    """One persistent loop over the tiles of all products."""
    tile, first = ct.bid(0), 0
    for group in range(len(As)):
        a, b, c = As[group], Bs[group], Cs[group]
        columns, depth = ct.num_tiles(b, 1, (K, N)), ct.num_tiles(a, 1, (M, K))
        end = first + ct.num_tiles(a, 0, (M, K)) * columns
        while tile >= first and tile < end:
            row, column = (tile - first) // columns, (tile - first) % columns
            total = ct.zeros((M, N), ct.float32)
            for step in range(depth):
                left = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
                right = ct.load(b, (step, column), (K, N), padding_mode=ZERO)
                total = ct.mma(left, right, total)
            ct.store(c, (row, column), total.astype(c.dtype))
            tile += ct.num_blocks(0)
        first = end


@pytest.mark.parametrize("target", TARGETS)
def test_grouped_product(target: str) -> None:
    a = Groups([(m, k) for m, n, k in PRODUCTS], values=integers())
    b = Groups([(k, n) for m, n, k in PRODUCTS], values=integers(1))
    c = Groups([(m, n) for m, n, k in PRODUCTS])
    compiled = simulated(grouped_product, (a.arrays, b.arrays, c.arrays, 64, 64, 32), 3, target)
    c.check([x.astype(np.float32) @ y.astype(np.float32) for x, y in zip(a.arrays, b.arrays, strict=True)])
    assert copies_of(compiled) == {"cp.async.bulk.tensor.2d.shared", "cp.async.bulk.tensor.2d.global.shared"}


def copies_of(compiled: Any) -> set[str]:
    """How the kernel copies by TMA."""
    return {line.split("::")[0].split()[-1] for line in compiled.ptx.splitlines() if "cp.async.bulk.tensor" in line}
