"""A source text: converts offsets to lines and columns, and raises errors there."""

from __future__ import annotations

import linecache
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NoReturn

from tilec.dialect.mlir import ir
from tilec.errors import InputError, Note, SourceLocation


def remember(text: str, file: str) -> None:
    """Registers a text whose name is not a file (`<string>`), so that errors can show excerpts."""
    if file.startswith("<"):
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


@dataclass
class Source:
    """A text and its file name."""

    text: str
    file: str
    _lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = [0]
        at = self.text.find("\n")
        while at >= 0:
            self._lines.append(at + 1)
            at = self.text.find("\n", at + 1)
        remember(self.text, self.file)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, counted from one."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def location(self, offset: int) -> ir.Location:
        line, column = self.line_and_column(offset)
        return ir.Location.file(self.file, line, column)

    def fail(self, offset: int, message: str, *notes: tuple[int, str]) -> NoReturn:
        """Raises InputError at an offset, with notes at others."""
        raise InputError(message, self._location(offset), [Note(text, self._location(at)) for at, text in notes])

    def _location(self, offset: int) -> SourceLocation:
        line, column = self.line_and_column(min(offset, len(self.text)))
        return SourceLocation(self.file, line, column)
