"""What goes wrong, said in the user's terms: a cause, the user's line, and what would be right."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field

_LONGEST_EXCERPT = 200


@dataclass(frozen=True)
class SourceLocation:
    """A place in the user's file; line and column count from one, 0 means unknown: line 0 is the file as a whole."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    def excerpt(self) -> str:
        """The source line with a caret below the place, or nothing where the file cannot be read."""
        # A name with a zero is that of no file, and an error of the system's.
        line = "" if "\0" in self.file else linecache.getline(self.file, self.line).rstrip("\r\n")
        if not line:
            return ""
        start, end = _shown_part(len(line), self.column)
        text = _visible(line[start:end])
        before, after = "..." if start else "", "..." if end < len(line) else ""
        if not self.column:
            return f"    {text}{after}"
        # A tab below a tab keeps the caret below its character.
        gap = "".join("\t" if char == "\t" else " " for char in before + text[: self.column - 1 - start])
        gap += " " * (self.column - 1 - start - len(text))
        width = max(1, min(self.end_column, end + 1) - self.column)
        return f"    {before}{text}{after}\n    {gap}{'^' * width}"


def _shown_part(length: int, column: int) -> tuple[int, int]:
    """Of a line longer than anybody reads, the part around a column."""
    if length <= _LONGEST_EXCERPT:
        return 0, length
    start = max(0, min(column - _LONGEST_EXCERPT // 2, length - _LONGEST_EXCERPT))
    return start, start + _LONGEST_EXCERPT


def _visible(text: str) -> str:
    """The text without what would move a terminal's cursor."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


@dataclass(frozen=True)
class Note:
    """A second place that explains the first: a call, a definition, a loop."""

    message: str
    location: SourceLocation | None = None


@dataclass
class TilecError(Exception):
    """Base of every error a user can cause; `str()` is the whole message with excerpt and notes."""

    message: str
    location: SourceLocation | None = None
    notes: list[Note] = field(default_factory=list)

    exit_status = 1

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        notes = (_line("note", note.message, note.location) for note in self.notes)
        return "\n".join([_line("error", self.message, self.location), *notes])


def _line(severity: str, message: str, location: SourceLocation | None) -> str:
    if location is None:
        return f"{severity}: {message}"
    excerpt = location.excerpt()
    return f"{location}: {severity}: {message}" + (f"\n{excerpt}" if excerpt else "")


@dataclass(frozen=True)
class CompilerWarning:
    """What is legal and likely a mistake; `str()` is the whole message with excerpt."""

    message: str
    location: SourceLocation | None = None

    def __str__(self) -> str:
        return _line("warning", self.message, self.location)


class UsageError(TilecError):
    """The command or call itself is wrong: an unknown option, a missing file name."""

    exit_status = 2


class InputError(TilecError):
    """A file, an array or a signature cannot be used as it is."""


class CompileError(TilecError):
    """The kernel breaks a rule of the language or of the target."""


class TileSyntaxError(CompileError):
    """The kernel has Python that kernels cannot use, or a name that nothing defines."""


class TileTypeError(CompileError):
    """A value in a kernel has the wrong type, element type, shape or rank."""


class TileValueError(CompileError):
    """A constant in a kernel has a value that is not allowed there."""


class TileRecursionError(CompileError):
    """The functions that a kernel calls are nested too deeply."""


class TileStaticEvalError(CompileError):
    """An expression of `ct.static_eval` cannot be evaluated while compiling."""


class StaticException(TileStaticEvalError):
    """Python code that runs while a kernel is compiled raised an exception."""


class TileStaticAssertionError(CompileError):
    """The condition of a `ct.static_assert` does not hold."""


class VerificationError(CompileError):
    """A module breaks a rule of its dialect."""


class UnsupportedError(CompileError):
    """The kernel is legal, and this compiler cannot build it for this target."""


class SimulationError(TilecError):
    """The simulator stopped a kernel: a race, a deadlock, an access out of bounds."""


class LaunchError(TilecError):
    """The driver or the GPU refused a launch."""


class InternalError(TilecError):
    """A fault of the compiler; the message names the saved module and the command that repeats it."""
