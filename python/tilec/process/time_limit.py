"""The time limit of compiles: `ct.compiler_timeout`, and the checks between the steps of a compile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from tilec import options
from tilec.errors import ArgumentValueError, TileCompilerTimeoutError

R = TypeVar("R")


@dataclass
class _Compile:
    """A running compile with a time limit in seconds, and the clock reading at which it ends."""

    limit_s: float
    end_s: float
    stage: str


_limit_s: ContextVar[float | None] = ContextVar("tilec.compiler_timeout", default=None)
_running: ContextVar[_Compile | None] = ContextVar("tilec.running_compile", default=None)


@contextmanager
def compiler_timeout(timeout_sec: float) -> Iterator[None]:
    """Limits the time of each compile in the body, in this thread only.

    Args:
        timeout_sec: the limit in seconds. The default without this function is `TILEC_COMPILER_TIMEOUT`, else no limit.

    Returns:
        The context manager of a `with` statement.

    Raises:
        ValueError: the limit is not positive.
        TileCompilerTimeoutError: a compile in the body did not finish in time.

    Example:
        >>> @ct.kernel
        ... def example(): pass
        >>> with ct.compiler_timeout(60): ct.compile(example, signature="", stop="tile").stages[-1].name
        'tile'
    """
    if not timeout_sec > 0:
        raise ArgumentValueError(f"ct.compiler_timeout needs a positive number of seconds, got {timeout_sec}")
    token = _limit_s.set(timeout_sec)
    try:
        yield
    finally:
        _limit_s.reset(token)


def limit_s() -> float | None:
    """The limit of compiles that start here, in seconds; None for no limit."""
    return _limit_s.get() or options.compiler_timeout_s()


@contextmanager
def limited_compile() -> Iterator[None]:
    """Starts the time of a compile; nested compiles count for the outermost."""
    limit = limit_s()
    if limit is None or _running.get() is not None:
        yield
        return
    token = _running.set(_Compile(limit, time.monotonic() + limit, ""))
    try:
        yield
    finally:
        _running.reset(token)


def enter_stage(name: str) -> None:
    """Names the stage for the error message, and checks the time."""
    running = _running.get()
    if running is not None:
        running.stage = name
        check_time()


def check_time() -> None:
    """Raises TileCompilerTimeoutError if the time of the compile is over."""
    running = _running.get()
    if running is not None and time.monotonic() > running.end_s:
        raise _timeout(running)


def run_in_time(function: Callable[[], R], flags: str, version: str) -> R:
    """The result of a call that cannot check the time: under a time limit it runs in a thread, which may outlive it.

    `flags` and `version` describe the tool for TileCompilerTimeoutError.
    """
    running = _running.get()
    if running is None:
        return function()
    results: list[R] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, running.end_s - time.monotonic()))
    if problems:
        raise problems[0]
    if not results:
        raise _timeout(running, flags, version)
    return results[0]


def _timeout(running: _Compile, flags: str = "", version: str | None = None) -> TileCompilerTimeoutError:
    reached = f"it was at stage '{running.stage}'"
    raise_limit = "raise the limit with ct.compiler_timeout, or use smaller tiles or fewer unrolled iterations"
    return TileCompilerTimeoutError(
        f"the compile did not finish in {running.limit_s:g} s, {reached}: {raise_limit}",
        compiler_flags=flags,
        compiler_version=version,
    )
