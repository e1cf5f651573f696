"""The kernels that are checked on a Hopper GPU: their sources, arguments, and the results of numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"


@dataclass(frozen=True)
class Case:
    """A launch whose last array is the result; it may differ from `expected` by at most `tolerance` per element."""

    name: str
    source: str
    signature: str
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]
    expected: np.ndarray
    tolerance: np.ndarray


def cases() -> Iterator[Case]:
    """All cases, in order of complexity."""
    yield _vector_add()
    yield _softmax()
    for dtype in (np.float16, ml_dtypes.bfloat16):
        for shape in ((128, 128, 256), (1000, 520, 776)):
            yield _matmul(np.dtype(dtype), *shape)


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def _vector_add() -> Case:
    a, b = _random(10_000), _random(10_001)[1:].copy()
    exact = (a + b).astype(np.float64)
    arguments = (a, b, np.zeros_like(a))
    signature = "a: f32[?], b: f32[?], c: f32[?], tile_size=1024"
    return Case(
        "vector_add", f"{EXAMPLES}/vector_add.py", signature, (10, 1, 1), arguments, exact, np.zeros_like(exact)
    )


def _softmax() -> Case:
    x = _random(128, 250)
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    # The rounding of the difference (2^-24 of it, which exp converts to a relative error), 2 units in the last place
    # for exp in numerator and denominator (CUDA programming guide), 8 roundings of the sum, and the quotient.
    spread = float(np.ptp(x, axis=1).max())
    tolerance = exact * 2.0**-24 * (2 * spread + 2 * 4 + 8 + 1)
    arguments = (x, np.zeros_like(x))
    # A row of 250 f32 is not a multiple of 16 bytes, so the signature does not assume an alignment of the stride.
    signature = "x: f32[?,?] strides (?%1,1), y: f32[?,?] strides (?%1,1), TILE=256"
    return Case("softmax", f"{EXAMPLES}/softmax.py", signature, (128, 1, 1), arguments, exact, tolerance)


def _matmul(dtype: np.dtype, m: int, n: int, k: int) -> Case:
    a, b = _random(m, k).astype(dtype), _random(k, n).astype(dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    # Each of the k products is added to a sum with 24 bits, and the result is rounded to the type of C.
    accumulated = k * 2.0**-24 * magnitude
    rounding = float(ml_dtypes.finfo(dtype).eps) / 2
    tolerance = (
        accumulated + rounding * (np.abs(exact) + accumulated) + float(ml_dtypes.finfo(dtype).smallest_subnormal)
    )
    element = {"float16": "f16", "bfloat16": "bf16"}[dtype.name]
    signature = ", ".join([*(f"{name}: {element}[?,?]" for name in "ABC"), "tm=128", "tn=128", "tk=64"])
    arguments = (a, b, np.zeros((m, n), dtype))
    grid = (-(-m // 128) * -(-n // 128), 1, 1)
    name = f"matmul_{element}_{m}x{n}x{k}"
    return Case(name, f"{HERE}/matmul_kernel.py", signature, grid, arguments, exact, tolerance)
