"""Suspends the cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def suspended_garbage_collector() -> Iterator[None]:
    """Suspends the collector within; readers create many objects and keep them all, so each collection is wasted."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
