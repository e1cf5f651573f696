"""Progress of a long command on standard error: a bar of rich or tqdm if installed, else a plain line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

# Receives a note on the step that has ended.
Advance = Callable[[str], None]


@contextmanager
def progress(description: str, total: int, enabled: bool | None = None) -> Iterator[Advance]:
    """A bar of `total` steps in the body of `with`; the body calls the yielded function after each step.

    Args:
        description: the name of the work, such as "compile".
        total: the number of steps.
        enabled: whether a bar is shown; None shows it if standard error is a terminal.
    """
    if not (sys.stderr.isatty() if enabled is None else enabled) or not total:
        yield lambda note: None
        return
    bar = next((bar for library, bar in _BARS.items() if find_spec(library)), _plain)
    with bar(description, total) as advance:
        yield advance


@contextmanager
def _rich(description: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda note: bar.update(task, advance=1, description=f"{description} {note}")


@contextmanager
def _tqdm(description: str, total: int) -> Iterator[Advance]:
    from tqdm import tqdm

    with tqdm(total=total, desc=description, file=sys.stderr, leave=False) as bar:

        def advance(note: str) -> None:
            bar.set_postfix_str(note)
            bar.update()

        yield advance


@contextmanager
def _plain(description: str, total: int) -> Iterator[Advance]:
    """One line, rewritten after each step and removed at the end."""
    done = 0

    def write(text: str) -> None:
        # ECMA-48: CSI K erases to the end of the line.
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def advance(note: str) -> None:
        nonlocal done
        done += 1
        write(f"{description} {done}/{total} {note}")

    write(f"{description} 0/{total}")
    try:
        yield advance
    finally:
        write("")


# Library -> its bar, in the order of preference.
_BARS: dict[str, Any] = {"rich": _rich, "tqdm": _tqdm}
