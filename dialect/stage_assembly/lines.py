"""Breaks long lines of a text between tokens, and long strings into several literals next to each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The width of dumps in columns.
MAXIMUM_COLUMNS = 140
_INDENT = "    "
_PIECE = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[^\s"])+')
_UNIT = re.compile(r"\\[0-9A-Fa-f]{2}|\\.|.")


def broken(line: str) -> Iterator[str]:
    """Breaks a line into lines of at most MAXIMUM_COLUMNS if it has tokens to break at."""
    if len(line) <= MAXIMUM_COLUMNS:
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())]
    deeper = indent + _INDENT
    current = indent
    for piece in _pieces(line.strip(), MAXIMUM_COLUMNS - len(deeper)):
        if len(current) + len(piece) > MAXIMUM_COLUMNS and current.strip():
            yield current.rstrip()
            current, piece = deeper, piece.lstrip()
        current += piece
    yield current


def _pieces(text: str, room: int) -> Iterator[str]:
    """Splits a line into pieces with their leading space; strings longer than a line are split."""
    for match in _PIECE.finditer(text):
        piece = match[0]
        if len(piece) <= room or '"' not in piece:
            yield piece
            continue
        before, literal, after = re.fullmatch(r'(.*?)("(?:[^"\\]|\\.)*")(.*)', piece, re.DOTALL).groups()  # type: ignore[union-attr]
        if before:
            yield before
        parts = list(_cut(literal[1:-1], room - len(after) - 3))
        for index, part in enumerate(parts):
            # A space before each part, where a line may end; the reader joins the parts.
            yield f' "{part}"' + (after if index + 1 == len(parts) else "")


def _cut(content: str, room: int) -> Iterator[str]:
    """Splits a string, preferably after a line break or a space."""
    part, last_blank = "", 0
    for unit in _UNIT.findall(content):
        if len(part) + len(unit) > room:
            end = last_blank or len(part)
            yield part[:end]
            part, last_blank = part[end:], 0
        part += unit
        if unit == " ":
            last_blank = len(part)
        if unit == "\\n":
            yield part
            part, last_blank = "", 0
    if part:
        yield part
