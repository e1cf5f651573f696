"""The text in which a function is defined, also for programs that are not in a file."""

from __future__ import annotations
import __future__

import functools
import inspect
import linecache
import os
import stat
import sys
import time
from collections.abc import Iterator
from types import CodeType, FunctionType

# The file names that Python gives to the code of `python -c` and of exec, and to a program on standard input.
_STRING, _STANDARD_INPUT = "<string>", "<stdin>"
# The texts that each file had when functions of it were read: functions of the old text exist after an
# edit, until their module is imported again, and longer where an object refers to them.
_TEXTS: dict[str, list[str]] = {}
# The first kernel of a program is defined after this module was imported.
_STARTED = time.time()


def text_of(function: FunctionType) -> str:
    """The text of the file, notebook cell or program that defines a function; empty if Python has not kept it."""
    code = function.__code__
    if code.co_filename in (_STRING, _STANDARD_INPUT):
        return _program_text(function)
    return _file_text(function)


def _file_text(function: FunctionType) -> str:
    file = function.__code__.co_filename
    texts = _TEXTS.setdefault(file, [])
    before = linecache.getlines(file, function.__globals__)
    linecache.checkcache(file)
    after = linecache.getlines(file, function.__globals__)
    for text in map("".join, (before, after)):
        if text and text not in texts:
            texts.append(text)
    if len(texts) < 2 and not _is_newer_than_program(file):
        return "".join(texts)
    return next((text for text in texts if _defines(text, function.__code__)), "")


def _is_newer_than_program(file: str) -> bool:
    """Whether a file was written after the start of the program, so that its functions may have an older text."""
    try:
        return os.stat(file).st_mtime >= _STARTED
    except OSError:
        return False


def remember(file: str, text: str) -> None:
    """Lets linecache show the lines of a text that is not in a file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def _program_text(function: FunctionType) -> str:
    """The text of `python -c` or of standard input, if it defines the function.

    Code of every exec has these file names too, so that the text is used only if it compiles to the same code.
    """
    code = function.__code__
    for text in _candidates(function):
        if _defines(text, code):
            remember(code.co_filename, text)
            return text
    return ""


def _candidates(function: FunctionType) -> Iterator[str]:
    file = function.__code__.co_filename
    yield "".join(linecache.getlines(file, function.__globals__))
    yield _interactive_text(function)
    if file == _STRING and sys.argv[:1] == ["-c"]:
        # The program precedes its arguments, which sys.argv repeats.
        yield sys.orig_argv[-len(sys.argv)]
    if file == _STANDARD_INPUT:
        yield _redirected_input()


def _interactive_text(function: FunctionType) -> str:
    """The text that Python 3.13 and later keep for interactive code."""
    try:
        return "".join(inspect.findsource(function)[0])
    except (OSError, TypeError, IndexError):
        return ""


def _redirected_input() -> str:
    """Standard input if it is a file, from its start; the text of a pipe is gone once it was read."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode):
            return os.pread(0, status.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return ""
    return ""


def _defines(text: str, wanted: CodeType) -> bool:
    try:
        # Code of exec and of notebooks inherits the future features of its caller.
        program = compile(text, wanted.co_filename, "exec", wanted.co_flags & _future_flags(), dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return _contains(program, wanted)


@functools.cache
def _future_flags() -> int:
    features = (getattr(__future__, name) for name in __future__.all_feature_names)
    return functools.reduce(int.__or__, (feature.compiler_flag for feature in features))


def _contains(code: CodeType, wanted: CodeType) -> bool:
    nested = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return wanted in nested or any(_contains(each, wanted) for each in nested)
