"""Suspends the cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def suspended_garbage_collector() -> Iterator[None]:
    """Suspends the collector in its body: readers and imports retain all objects they create, so it would free none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
