"""Ranges of addresses, and which accesses lie inside of one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class Intervals:
    """Ranges (address, bytes), joined where they overlap."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        joined: list[list[int]] = []
        for start, size in sorted(ranges):
            if size <= 0:
                continue
            if joined and start < joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], start + size)
            else:
                joined.append([start, start + size])
        self._starts = np.array([start for start, _ in joined], np.uint64)
        self._ends = np.array([end for _, end in joined], np.uint64)

    def outside(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Which accesses of `size` bytes are not inside one interval."""
        if not len(self._starts):
            return np.ones(addresses.shape, np.bool_)
        at = np.searchsorted(self._starts, addresses, side="right") - 1
        end = self._ends[np.maximum(at, 0)]
        return (at < 0) | (addresses >= end) | (end - addresses < np.uint64(size))
