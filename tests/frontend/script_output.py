"""Runs a script as a user does, and returns its output and traceback."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import traceback
from pathlib import Path

import tilec

_PACKAGE = str(Path(tilec.__file__).parent)
# Python marks the failing part of a line of a traceback differently in each version.
_MARKS = re.compile(r"^    [ ~^]+\n", re.MULTILINE)
_OWN_FRAME = re.compile(r'(File "tilec/[^"]*"), line \d+')
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
_FRAMES_END = re.compile(r"^\S", re.MULTILINE)


def in_process(script: Path) -> str:
    """The standard output of the script, then its traceback."""
    printed = io.StringIO()
    code = compile(script.read_text(), str(script), "exec")
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, {"__name__": "__main__", "__file__": str(script)})
        except Exception as error:
            assert error.__traceback__ is not None
            # The first frame is that of this function.
            trace = traceback.format_exception(type(error), error, error.__traceback__.tb_next)
            return plain(printed.getvalue() + "".join(trace), script)
    return plain(printed.getvalue(), script)


def in_a_process(script: Path) -> str:
    """The output as of `in_process`, from a separate Python process."""
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    return plain(done.stdout + done.stderr, script)


def plain(output: str, script: Path) -> str:
    """The output without machine-dependent parts: folders, line numbers of the package, markers of tracebacks."""
    text = output.replace(str(script), script.name).replace(_PACKAGE, "tilec")
    frames, message = _split(_ADDRESS.sub("0x...", text))
    return _OWN_FRAME.sub(r"\1", _MARKS.sub("", frames)) + message


def _split(text: str) -> tuple[str, str]:
    """The text up to the end of the frames of the last traceback, and the message after them."""
    start = text.rfind("Traceback (most recent call last):\n")
    if start < 0:
        return "", text
    after = text.index("\n", start) + 1
    found = _FRAMES_END.search(text, after)
    end = found.start() if found else len(text)
    return text[:end], text[end:]
