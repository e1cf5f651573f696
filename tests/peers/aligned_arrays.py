"""Arrays at addresses that TMA accepts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# At least the alignment that TMA and CUTLASS require of a base address, which is 16 bytes.
ALIGNMENT = 128


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy at a multiple of ALIGNMENT bytes."""
    storage = np.zeros(array.nbytes + ALIGNMENT, np.uint8)
    start = -storage.ctypes.data % ALIGNMENT
    copy = storage[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def integers(random: np.random.Generator, limit: int, shape: Sequence[int], dtype: type) -> np.ndarray:
    """Random integers from -limit to limit."""
    return aligned(random.integers(-limit, limit + 1, shape).astype(dtype))
