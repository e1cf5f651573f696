"""Raises the recursion limit for deeply nested IR."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Text may nest 512 levels deep, and readers and printers make several calls per level.
_CALLS = 10_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raises the recursion limit in its body, counted from the depth of the caller."""
    before = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(max(before, depth + _CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
