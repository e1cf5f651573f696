"""User-visible errors: each states the cause, the source location, and how to correct it."""

from __future__ import annotations

import linecache

from tilec.frozen import Frozen

_LONGEST_EXCERPT = 200


class SourceLocation(Frozen):
    """A position in a source file. Lines and columns count from 1; 0 means unknown, and line 0 the whole file."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    def excerpt(self) -> str:
        """The source line with a caret below the column; empty if the file cannot be read."""
        # Opening a file whose name contains NUL raises ValueError.
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
    """The bounds of the part of a long line around a column."""
    if length <= _LONGEST_EXCERPT:
        return 0, length
    start = max(0, min(column - _LONGEST_EXCERPT // 2, length - _LONGEST_EXCERPT))
    return start, start + _LONGEST_EXCERPT


def _visible(text: str) -> str:
    """The text with nonprintable characters replaced, which could move the cursor of a terminal."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


class Note(Frozen):
    """An explanation attached to an error, usually with a second location: a call, a definition, a loop."""

    message: str
    location: SourceLocation | None = None


class TilecError(Exception):
    """Base class of all errors that a user can cause; `str()` renders the message, the source excerpt and the notes.

    Args:
        message: the expected and the actual input, and how to correct it.
        location: the source location of the error.
        notes: explanations with further source locations.

    Example:
        >>> print(ct.TilecError("expected a tile", notes=[]))
        error: expected a tile
    """

    exit_status = 1

    def __init__(self, message: str, location: SourceLocation | None = None, notes: list[Note] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = [] if notes is None else notes

    def __str__(self) -> str:
        notes = (_line("note", note.message, note.location) for note in self.notes)
        return "\n".join([_line("error", self.message, self.location), *notes])


def _line(severity: str, message: str, location: SourceLocation | None) -> str:
    if location is None:
        return f"{severity}: {message}"
    excerpt = location.excerpt()
    return f"{location}: {severity}: {message}" + (f"\n{excerpt}" if excerpt else "")


class CompilerWarning(Frozen):
    """A report of valid input that is likely a mistake; `str()` renders the message and the source excerpt."""

    message: str
    location: SourceLocation | None = None

    def __str__(self) -> str:
        return _line("warning", self.message, self.location)


class ConstantWarning(UserWarning):
    """A constant in a kernel is out of range of the element type that it gets, and the kernel uses another value.

    Example:
        >>> import warnings
        >>> @ct.kernel
        ... def example(): print(ct.full(2, 300, ct.int8))
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     ct.launch(None, 1, example, (), backend="interpret")
        [44, 44]
        >>> print(caught[0].message)
        the constant 300 is out of range of int8 and becomes 44: write ct.astype(300, ct.int8) if this is intended
    """


class UsageError(TilecError):
    """The command or call itself is invalid: an unknown option, a missing file name."""

    exit_status = 2


class InputError(TilecError):
    """A file, an array or a signature is invalid."""


class ArgumentTypeError(InputError, TypeError):
    """An argument of a launch or of a host function has the wrong type, or the number of arguments is wrong."""


class ArgumentValueError(InputError, ValueError):
    """An argument of a launch or of a host function has an invalid value."""


class ArgumentOverflowError(ArgumentValueError, OverflowError):
    """An integer argument, or an extent or a stride of an array, needs more bits than its parameter has."""


class LaunchUseError(UsageError, ArgumentTypeError):
    """An argument of `ct.launch` itself has the wrong type."""


class CompileError(TilecError):
    """The kernel violates a rule of the language or of the target.

    Example:
        >>> try: ct.zeros((4,), ct.int32)
        ... except ct.CompileError as error: print(error.message)
        'ct.zeros' can be called inside a kernel only
    """


class KernelUseError(CompileError, TypeError):
    """A kernel is called on the host, or its decorator has an unknown option or does not decorate a function."""

    @classmethod
    def of_subscript(cls, name: str) -> KernelUseError:
        """The error of a grid in brackets."""
        return cls(f"kernel '{name}' cannot be subscripted: pass the grid to ct.launch(stream, grid, kernel, args)")


class HintError(CompileError, ValueError):
    """A hint of a kernel is out of range."""


class HostCallError(CompileError, RuntimeError):
    """A function that only kernels can call is called on the host."""


class TileSyntaxError(CompileError):
    """The kernel uses Python syntax that kernels do not support, or an undefined name.

    Example:
        >>> @ct.kernel
        ... def example(): import math
        >>> try: ct.launch(None, 1, example, (), backend="interpret")
        ... except ct.TileSyntaxError as error: print(error.message)
        'import' cannot be used in a kernel: ...
    """


class TileTypeError(CompileError):
    """A value in a kernel has the wrong type, element type, shape or rank.

    Example:
        >>> @ct.kernel
        ... def example(): ct.ones(4, ct.int32) + ct.ones(4, ct.uint32)
        >>> try: ct.launch(None, 1, example, (), backend="interpret")
        ... except ct.TileTypeError as error: print(error.message)
        int32 and uint32 have no common type: convert one of them with astype()
    """


class TileValueError(CompileError):
    """A constant in a kernel has an invalid value.

    Example:
        >>> @ct.kernel
        ... def example(): ct.zeros(4, ct.int8) + 300
        >>> try: ct.launch(None, 1, example, (), backend="interpret")
        ... except ct.TileValueError as error: print(error.message)
        the integer 300 is out of range of int8 (-128 to 127)
    """


class TileRecursionError(CompileError):
    """The function calls of a kernel are nested too deeply.

    Example:
        >>> def endless(n): return endless(n + 1)
        >>> @ct.kernel
        ... def example(): endless(0)
        >>> try: ct.launch(None, 1, example, (), backend="interpret")
        ... except ct.TileRecursionError as error: print(error.message)
        calls are nested deeper than 256: 'endless' ...
    """


class TileStaticEvalError(CompileError):
    """The argument of `ct.static_eval` cannot be evaluated at compile time.

    Example:
        >>> @ct.kernel
        ... def example(): ct.static_eval(ct.bid(0))
        >>> try: ct.launch(None, 1, example, (), backend="interpret")
        ... except ct.TileStaticEvalError as error: print(error.message)
        'ct.bid' cannot be called inside 'ct.static_eval': call it before, and use its result
    """


class StaticException(TileStaticEvalError):
    """Python code that runs at compile time raised an exception.

    Example:
        >>> @ct.kernel
        ... def example(n: ct.Constant[int]): ct.static_assert(100 // n > 4)
        >>> try: ct.launch(None, 1, example, (0,), backend="interpret")
        ... except ct.StaticException as error: print(error.message)
        the argument of 'ct.static_assert' raised ZeroDivisionError: integer division or modulo by zero
    """


class TileStaticAssertionError(CompileError):
    """The condition of a `ct.static_assert` is false.

    Example:
        >>> @ct.kernel
        ... def example(): ct.static_assert(ct.float16.bitwidth == 32, "expected float32")
        >>> try: ct.launch(None, 1, example, (), backend="interpret")
        ... except ct.TileStaticAssertionError as error: print(error.message)
        static assertion failed: expected float32
    """


class VerificationError(CompileError):
    """A module violates a rule of its dialect."""


class UnsupportedError(CompileError):
    """The kernel is valid, but tilec cannot compile it for this target; programs may catch this and use another kernel.

    Example:
        >>> issubclass(ct.TileUnsupportedFeatureError, ct.CompileError)
        True
    """


class TensorMemoryError(UnsupportedError):
    """The accumulators of a kernel need more columns than tensor memory has."""


class SimulationError(TilecError):
    """The simulator stopped a kernel because of an error such as a race, a deadlock or an access out of bounds."""


class LaunchError(TilecError):
    """The CUDA driver or the GPU rejected a launch."""


class TileLaunchTimeoutError(LaunchError, RuntimeError):
    """A run of a kernel took longer than a search allows."""


class InternalError(TilecError):
    """A bug in tilec; the message names the saved module and the command that reproduces the failure.

    Example:
        >>> issubclass(ct.TileInternalError, ct.CompileError)
        False
    """


class ToolError(InternalError):
    """A tool that compiles the output of tilec failed.

    Args:
        message: the reason.
        compiler_flags: the options of the tool; empty if it has none.
        compiler_version: the name and version of the tool; None if it is unknown.
    """

    def __init__(
        self,
        message: str,
        location: SourceLocation | None = None,
        notes: list[Note] | None = None,
        compiler_flags: str = "",
        compiler_version: str | None = None,
    ) -> None:
        super().__init__(message, location, notes)
        self.compiler_flags = compiler_flags
        self.compiler_version = compiler_version


class TileCompilerExecutionError(ToolError, CompileError):
    """ptxas rejected the PTX of a kernel, for example because the kernel needs too many resources.

    Example:
        >>> issubclass(ct.TileCompilerExecutionError, ct.TileInternalError)
        True
    """


class TileCompilerTimeoutError(ToolError):
    """A compile took longer than its time limit, see `ct.compiler_timeout`.

    Example:
        >>> @ct.kernel
        ... def example(): pass
        >>> with ct.compiler_timeout(1e-9):
        ...     try: ct.launch(None, 1, example, (), backend="interpret")
        ...     except ct.TileCompilerTimeoutError as error: print(error.message)
        the compile did not finish in 1e-09 s, it was at stage 'tile': ...
    """
