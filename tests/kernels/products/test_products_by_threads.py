"""Products of f32 and f64, which threads multiply: operands in any order of memory, tiles of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

Constant, Flag = ct.Constant[int], ct.Constant[bool]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def product(a, b, c, m: Constant, n: Constant, k: Constant, lhs_transposed: Flag, rhs_transposed: Flag):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((m, n), c.dtype)
    for step in range(ct.cdiv(a.shape[0] if lhs_transposed else a.shape[1], k)):
        if lhs_transposed:
            left = ct.transpose(ct.load(a, (step, i), (k, m), padding_mode=ZERO))
        else:
            left = ct.load(a, (i, step), (m, k), padding_mode=ZERO)
        if rhs_transposed:
            right = ct.transpose(ct.load(b, (j, step), (n, k), padding_mode=ZERO))
        else:
            right = ct.load(b, (step, j), (k, n), padding_mode=ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (i, j), total)


TARGETS = pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])


@TARGETS
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((64, 32, 8), "float32"), ((32, 64, 64), "float32"), ((16, 128, 2), "float32"), ((4, 2, 16), "float32")]
    + [((32, 16, 32), "float64")],
)
def test_products(target: str, transposed: tuple[bool, bool], shape: tuple[int, int, int], dtype: str) -> None:
    """Integers, whose sums are exact; the tiles exceed the arrays."""
    m, n, k = shape
    random = np.random.default_rng(m)
    a, b = (random.integers(-99, 100, s).astype(dtype) for s in ((m + 3, 2 * k + 1), (2 * k + 1, n + 1)))
    args: list[Any] = [a, b, np.zeros((m + 3, n + 1), dtype), m, n, k, *transposed]
    args[:2] = [np.ascontiguousarray(x.T) if turned else x for x, turned in zip((a, b), transposed, strict=True)]
    for (found,) in run_everywhere(product, (2, 2), args, [2], target=target, hints={}):
        np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize(
    ("target", "instruction", "count"), [("sm_100a", "fma.rn.f32x2", 512), ("sm_90a", "fma.rn.f32 ", 1024)]
)
@pytest.mark.parametrize(("lhs_transposed", "loads"), [(False, 48), (True, 48)])
def test_loads_of_vectors(target: str, instruction: str, count: int, lhs_transposed: bool, loads: int) -> None:
    """Of 8 steps along K a thread loads 8 rows and 16 columns by 16 bytes at a time, for 128 products each."""
    x = np.zeros((256, 256), np.float32)
    args = [x, x, x, 128, 128, 32, lhs_transposed, False]
    ptx = ct.compile(product, target=target, signature=Signature.from_arguments(product, args)).ptx
    assert ptx.count(instruction) == count
    assert ptx.count("ld.shared.v4.f32") == loads == ptx.count("ld.shared")
