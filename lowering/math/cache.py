"""A cache of generated PTX texts in the user's cache folder, keyed by the hash of their inputs."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tilec.options import cache_folder


def cached(made_from: Sequence[str], make: Callable[[], str]) -> str:
    """The result of `make`, from the cache if `made_from` was seen before.

    If the cache folder cannot be read or written, the text is made again.
    """
    digest = hashlib.sha256("\0".join(made_from).encode()).hexdigest()
    path = Path(cache_folder()) / "math" / f"{digest}.ptx"
    kept = _read(path)
    if kept is None:
        kept = make()
        _write(path, kept)
    return kept


def _read(path: Path) -> str | None:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
    content, _, digest = text.rpartition("\n")
    return content if digest == _digest(content) else None


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(f"{content}\n{_digest(content)}")
        # The replacement is atomic: concurrent processes see the whole file or no file.
        os.replace(file.name, path)
    except OSError:
        return


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
