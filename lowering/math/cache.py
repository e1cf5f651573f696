"""A cache of generated PTX texts in the user's cache folder, keyed by the hash of their inputs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

from tilec import cache_files
from tilec.hashing import sha256


def cached(made_from: Sequence[str], make: Callable[[], str]) -> str:
    """The result of `make`, from the cache if `made_from` was seen before.

    If the cache folder cannot be read or written, the text is made again.
    """
    folder = cache_files.folder("math")
    if folder is None:
        return make()
    path = os.path.join(folder, f"{sha256(chr(0).join(made_from).encode()).hexdigest()}.ptx")
    kept = cache_files.read(path)
    if kept is not None:
        return kept.decode()
    text = make()
    with contextlib.suppress(OSError):
        cache_files.write(path, text.encode())
    return text
