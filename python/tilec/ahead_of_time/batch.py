"""Compiles requests in this process or by an executor of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import replace

from tilec.ahead_of_time.request import Outcome, Request, execute
from tilec.errors import InternalError, TilecError
from tilec.process.time_limit import limit_s


def compile_all(
    requests: Sequence[Request],
    executor: Executor | None = None,
    report: Callable[[Request, Outcome], None] = lambda request, outcome: None,
) -> list[Outcome]:
    """The outcomes in the order of the requests; a failed compile is an outcome, and the others continue.

    Args:
        requests: the compiles.
        executor: runs the compiles; None compiles one after the other in this process.
        report: receives each request and its outcome when the compile has ended.
    """
    if executor is None:
        return [_reported(request, execute(request), report) for request in requests]
    # A limit of ct.compiler_timeout is known in this thread only.
    limited = [replace(request, timeout_s=limit_s()) for request in requests]
    futures: dict[Future[Outcome], int] = {
        executor.submit(execute, request): index for index, request in enumerate(limited)
    }
    outcomes: list[Outcome] = [Outcome()] * len(requests)
    try:
        for future in as_completed(futures):
            index = futures[future]
            outcomes[index] = _reported(requests[index], _outcome(future), report)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return outcomes


def _reported(request: Request, outcome: Outcome, report: Callable[[Request, Outcome], None]) -> Outcome:
    report(request, outcome)
    return outcome


def _outcome(future: Future[Outcome]) -> Outcome:
    """The outcome; an error of the executor itself, such as a process that ended, is an outcome too."""
    try:
        return future.result()
    except TilecError as error:
        return Outcome(error=error)
    except Exception as error:
        return Outcome(error=InternalError(f"the executor raised {type(error).__name__}: {error}"))
