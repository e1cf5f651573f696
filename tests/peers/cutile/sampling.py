"""Pseudo-random arrays, constants, and the type of a launch, which all cases use.

A case is a function that calls `launch(kernel, grid, arguments)` with the name of a kernel, and yields a comparison of
each result with numpy in f64, with bounds on the error of f32. `launch` may run other kernels with the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from cutile.bounded import Comparison
from cutile.export import Constant

Launch = Callable[[str, Sequence[int], Sequence[Any]], None]
Comparisons = Iterator[Comparison]


def random(seed: int, *shape: int, dtype: Any = np.float32, scale: float = 1.0) -> np.ndarray:
    """Normally distributed numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def constants(*values: Any) -> list[Constant]:
    """Arguments that are compiled into the kernel."""
    return [Constant(value) for value in values]


def tiles(extent: int, tile: int) -> int:
    """The number of tiles that cover an extent."""
    return -(-extent // tile)
