"""The progress of a long benchmark on standard error, where it does not mix with the results."""

from __future__ import annotations

import sys


def show_progress(text: str) -> None:
    """Replaces the progress line of a terminal, or writes a line; an empty text removes the line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)
