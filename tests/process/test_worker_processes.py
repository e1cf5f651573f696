"""Calls in other processes: results, exceptions, printed text, and processes that end."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator
from concurrent.futures import wait

import pytest

from tilec.errors import InputError, InternalError, SourceLocation
from tilec.process.worker_processes import WorkerProcesses


@pytest.fixture(scope="module")
def executor() -> Iterator[WorkerProcesses]:
    with WorkerProcesses(1) as opened:
        yield opened


def test_result_of_another_process(executor: WorkerProcesses) -> None:
    assert executor.submit(divmod, 17, 5).result() == (3, 2)
    assert executor.submit(os.getpid).result() not in (os.getpid(), None)
    assert executor.submit(sorted, [1, 2], reverse=True).result() == [2, 1]


def test_exceptions_are_raised_here(executor: WorkerProcesses) -> None:
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        executor.submit(operator.truediv, 1, 0).result()


def test_errors_keep_their_location() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(InputError("a reason", SourceLocation("k.py", 3, 4))))
    assert (type(error), error.message, error.location) == (InputError, "a reason", SourceLocation("k.py", 3, 4))


def test_printed_text_is_not_an_outcome(executor: WorkerProcesses) -> None:
    assert executor.submit(print, "printed").result() is None
    assert executor.submit(os.write, 1, b"printed").result() == 7
    assert executor.submit(abs, -3).result() == 3


def test_result_that_cannot_be_pickled_is_an_error(executor: WorkerProcesses) -> None:
    with pytest.raises(Exception, match="pickle"):
        executor.submit(compile, "x", "f", "eval").result()
    assert executor.submit(abs, -3).result() == 3


def test_process_that_ends_fails_one_call_only(executor: WorkerProcesses) -> None:
    with pytest.raises(InternalError, match="a worker process ended with status 3"):
        executor.submit(os._exit, 3).result()
    assert executor.submit(abs, -3).result() == 3


def test_interpreter_exit_is_an_exception(executor: WorkerProcesses) -> None:
    with pytest.raises(SystemExit):
        executor.submit(sys.exit, 3).result()
    assert executor.submit(abs, -3).result() == 3


def test_several_processes() -> None:
    with WorkerProcesses(2) as executor:
        futures = [executor.submit(pow, 2, exponent) for exponent in range(8)]
        wait(futures)
        assert [future.result() for future in futures] == [1, 2, 4, 8, 16, 32, 64, 128]
