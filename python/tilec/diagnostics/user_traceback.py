"""Removes the frames of the package from the tracebacks of errors that users see."""

from __future__ import annotations

import functools
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from tilec import options
from tilec.errors import TilecError

P = ParamSpec("P")
R = TypeVar("R")

# Folders of code that is not the user's: this package and the standard library.
_FOREIGN = (str(Path(options.__file__).parent), sysconfig.get_path("stdlib"))


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function of the public interface: tracebacks of its errors show one frame of the package.

    Scripts, notebooks and pytest show the user's lines and the message without a hook of the interpreter.
    `TILEC_TRACEBACK=full` keeps every frame.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*arguments, **keywords)
        except TilecError as error:
            if options.full_traceback():
                raise
            raise error.with_traceback(None) from _users(error.__cause__)

    return call


def _users(cause: BaseException | None) -> BaseException | None:
    """The cause if code of the user raised it, as in a file that cannot be imported."""
    if cause is None or isinstance(cause, TilecError) or cause.__traceback__ is None:
        return None
    trace = cause.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace.tb_frame.f_code.co_filename.startswith(_FOREIGN) else cause
