"""The syntax tree of a Python function, with the places of its nodes in the user's file."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from dataclasses import dataclass
from types import FunctionType

from tilec.errors import CompileError, SourceLocation


@dataclass(frozen=True)
class Source:
    """A parsed function: its node, and what turns positions in it into positions in the file."""

    node: ast.FunctionDef
    file: str
    first_line: int
    indent: int

    def place(self, node: ast.AST) -> SourceLocation:
        """Line and column, from one, of a node of this function."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        single = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", column) if single else 10_000
        return SourceLocation(self.file, self.first_line + line - 1, self.indent + column + 1, self.indent + end + 1)


@functools.lru_cache(maxsize=256)
def read(function: FunctionType) -> Source:
    """Raises CompileError for functions without source: lambdas, and what was typed into an interactive session."""
    code = function.__code__
    place = SourceLocation(code.co_filename, code.co_firstlineno)
    try:
        # By the code: a function that functools.wraps another is itself, not the other.
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as problem:
        raise CompileError(
            f"the source of '{function.__name__}' cannot be read: put it into a file", place
        ) from problem
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        found = next((node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)), None)
    except SyntaxError:
        found = None
    if found is None:
        raise CompileError(f"'{function.__name__}' is no function defined with 'def'", place)
    return Source(found, code.co_filename, max(first, 1), indent)
