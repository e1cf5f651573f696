"""Address ranges and membership tests."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class Intervals:
    """Ranges (address, bytes), overlapping ones merged."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        merged: list[list[int]] = []
        for start, size in sorted(ranges):
            if size <= 0:
                continue
            if merged and start < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], start + size)
            else:
                merged.append([start, start + size])
        self._starts = np.array([start for start, _ in merged], np.uint64)
        self._ends = np.array([end for _, end in merged], np.uint64)

    def outside(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """A mask of the accesses of `size` bytes that no single interval contains."""
        if not len(self._starts):
            return np.ones(addresses.shape, np.bool_)
        at = np.searchsorted(self._starts, addresses, side="right") - 1
        end = self._ends[np.maximum(at, 0)]
        return (at < 0) | (addresses >= end) | (end - addresses < np.uint64(size))
