"""The process that calls functions for `WorkerProcesses`: pickled calls come through a pipe, as do their outcomes."""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from tilec.errors import InternalError


def main() -> None:
    """Answers calls until the pipe is closed; the first message is the import path of the parent."""
    calls = sys.stdin.buffer
    # The output of a called function must not be mixed with the outcomes.
    outcomes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path[:] = pickle.load(calls)
    while True:
        try:
            message = pickle.load(calls)
        except (EOFError, KeyboardInterrupt):
            return
        _answer(message, outcomes)


def _answer(message: bytes, outcomes: BinaryIO) -> None:
    try:
        function, arguments, keywords = pickle.loads(message)
        outcome = pickle.dumps((True, function(*arguments, **keywords)))
    except BaseException as error:
        outcome = _pickled_error(error)
    outcomes.write(outcome)
    outcomes.flush()


def _pickled_error(error: BaseException) -> bytes:
    try:
        outcome = pickle.dumps((False, error))
        pickle.loads(outcome)
        return outcome
    except Exception:
        return pickle.dumps((False, InternalError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    main()
