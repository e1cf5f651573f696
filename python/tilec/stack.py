"""Room on Python's stack for what walks over operations and attributes that lie deep in one another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Texts nest up to 1024 levels deep, of which readers and printers take some calls each.
_CALLS = 10_000


@contextmanager
def room() -> Iterator[None]:
    """Lets calls nest deeper for a while, however deep the caller stands."""
    before = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(max(before, depth + _CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
