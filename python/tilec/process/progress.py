"""Progress of a long command on standard error: a bar of rich or tqdm if installed, else a plain line."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

# The line of `elapsed` appears after the first number of seconds, and is updated at this period in seconds.
DELAY_S, PERIOD_S = 2.0, 0.5

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
def elapsed(description: str, enabled: bool | None = None) -> Iterator[Callable[[int, int], None] | None]:
    """A line with the time that the body of `with` has taken, for work of an unknown number of steps.

    The body may call the yielded function with the number of finished blocks and of all blocks, which the line then
    shows; None is yielded if no line is shown. The line appears after DELAY_S seconds and is removed at the end;
    `enabled` is as in `progress`.
    """
    if not (sys.stderr.isatty() if enabled is None else enabled):
        yield None
        return
    started, ended = time.monotonic(), threading.Event()
    blocks = ""

    def report(done: int, total: int) -> None:
        nonlocal blocks
        blocks = f", {done} of {total} blocks"

    def show() -> None:
        if ended.wait(DELAY_S):
            return
        while not ended.wait(PERIOD_S):
            _write_line(f"{description}: {time.monotonic() - started:.0f} s{blocks}")
        _write_line("")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()


def _write_line(text: str) -> None:
    # ECMA-48: CSI K erases to the end of the line.
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


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

    def advance(note: str) -> None:
        nonlocal done
        done += 1
        _write_line(f"{description} {done}/{total} {note}")

    _write_line(f"{description} 0/{total}")
    try:
        yield advance
    finally:
        _write_line("")


# Library -> its bar, in the order of preference.
_BARS: dict[str, Any] = {"rich": _rich, "tqdm": _tqdm}
