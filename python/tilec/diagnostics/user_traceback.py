"""Removes the frames of the package from the tracebacks of errors of public functions."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tilec import options
from tilec.errors import TilecError

P = ParamSpec("P")
R = TypeVar("R")

# Folders of code that is not user code: this package and the standard library.
_INTERNAL_FOLDERS = (os.path.dirname(options.__file__), os.path.dirname(os.__file__))


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a public function: the tracebacks of its errors have one frame of the package, the decorated function.

    This works in scripts, notebooks and pytest without an exception hook. `TILEC_TRACEBACK=full` keeps every frame.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*arguments, **keywords)
        except TilecError as error:
            if options.full_traceback():
                raise
            raise error.with_traceback(None) from _user_cause(error.__cause__)

    return call


def _user_cause(cause: BaseException | None) -> BaseException | None:
    """The cause if user code raised it, for example while its file is imported; else None."""
    if cause is None or isinstance(cause, TilecError) or cause.__traceback__ is None:
        return None
    trace = cause.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace.tb_frame.f_code.co_filename.startswith(_INTERNAL_FOLDERS) else cause
