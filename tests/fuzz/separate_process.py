"""Calls a function in a separate process, so that a crash or an infinite loop does not end the run."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def run_in_process(function: Callable[[], Result], seconds: int) -> Result | str:
    """The result of the function, or `timeout`, or `crash` with a signal; errors of the function are RuntimeError.

    The seconds are those of the processor, ten times as many of the clock: other work on the machine causes no failure.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(10 * seconds)
        try:
            with os.fdopen(writer, "wb") as file:
                pickle.dump(_result(function), file)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        pickled = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        name = signal.Signals(-status).name
        return "timeout" if name in ("SIGPROF", "SIGALRM") else f"crash by {name}"
    succeeded, result = pickle.loads(pickled)
    if succeeded:
        return result
    raise RuntimeError(result)


def _result(function: Callable[[], Result]) -> tuple[bool, Result | str]:
    try:
        return True, function()
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"
