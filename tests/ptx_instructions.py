"""The instructions of PTX, for comparisons of two compiles."""

from __future__ import annotations

import re

_DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.debug", re.MULTILINE)
_DEBUG_LINE = re.compile(r"\s*\.(loc|file)\b")


def instructions(ptx: str) -> list[str]:
    """The lines of PTX without debug information: comments, `.loc`, `.file` and the debug sections at the end."""
    lines = (line.split("//")[0].rstrip() for line in _DEBUG_SECTION.split(ptx)[0].splitlines())
    return [line for line in lines if line and not _DEBUG_LINE.match(line)]
