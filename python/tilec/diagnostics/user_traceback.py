"""Errors leave the package with the frames of the caller only: the message says the rest."""

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

# Folders of code that is not the user's: this package, and Python's own library.
_FOREIGN = (str(Path(options.__file__).parent), sysconfig.get_path("stdlib"))


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function of the public interface, whose errors carry no frames of the package but the one that raises them.

    Scripts, notebooks and pytest then show the user's lines and the message, without a hook of the interpreter.
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
    """The cause if it was raised by code of the user, as in a file that cannot be imported."""
    if cause is None or isinstance(cause, TilecError) or cause.__traceback__ is None:
        return None
    trace = cause.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace.tb_frame.f_code.co_filename.startswith(_FOREIGN) else cause
