"""Reads the syntax tree of a Python function, with the source locations of its nodes."""

from __future__ import annotations

import ast
import functools
import inspect
from types import FunctionType

from tilec.ast_to_tile.source_text import text_of
from tilec.errors import SourceLocation, TileSyntaxError
from tilec.frozen import Frozen

Definition = ast.FunctionDef | ast.Lambda

_LAMBDA = "<lambda>"
# The fields of statements, of exception handlers and of cases that hold statements, handlers and cases.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Source(Frozen):
    """The syntax tree of a function; its positions are relative to the file."""

    node: Definition
    file: str

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function; a lambda has one `return` of its expression."""
        return body_of(self.node)

    def source_location(self, node: ast.AST) -> SourceLocation:
        """The one-based line and column of a node of this function."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        single = getattr(node, "end_lineno", line) == line
        # Only the first line of a multi-line node is underlined.
        end = getattr(node, "end_col_offset", column) if single else 10_000
        return SourceLocation(self.file, line, column + 1, end + 1)


@functools.lru_cache(maxsize=256)
def body_of(node: Definition) -> list[ast.stmt]:
    if isinstance(node, ast.FunctionDef):
        return node.body
    return [ast.copy_location(ast.Return(node.body), node.body)]


@functools.lru_cache(maxsize=256)
def read(function: FunctionType) -> Source:
    """The source of a function; raises CompileError if Python has not kept its text, as for exec."""
    # The code object identifies the source, because functools.wraps copies the other attributes of a function.
    code = function.__code__
    # File names such as <string> do not identify a file.
    is_placeholder = code.co_filename.startswith("<")
    location = None if is_placeholder else SourceLocation(code.co_filename, code.co_firstlineno)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise TileSyntaxError(f"'async def {function.__name__}' cannot be used in a kernel: use 'def'", location)
    text = text_of(function)
    definitions = _lambdas(text) if code.co_name == _LAMBDA else _functions(text)
    found = [node for node in definitions.get(code.co_firstlineno, ()) if _name(node) == code.co_name]
    if not found:
        why = "Python keeps no text of exec and of standard input" if is_placeholder else "its file has changed"
        raise TileSyntaxError(
            f"the source of '{function.__name__}' cannot be read, because {why}: "
            + ("define it in a file, in a notebook, or with 'python -c'" if is_placeholder else "import it again"),
            location,
        )
    if len(found) > 1:
        raise TileSyntaxError(
            f"several functions '{function.__name__}' are defined on this line: define each on its own line", location
        )
    return Source(found[0], code.co_filename)


def _name(node: Definition) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else _LAMBDA


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


@functools.lru_cache(maxsize=64)
def _functions(text: str) -> dict[int, list[Definition]]:
    """The functions of a file, keyed by `co_firstlineno`: the line of the first decorator."""
    found: dict[int, list[Definition]] = {}
    waiting: list[ast.AST] = [_tree(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0] if node.decorator_list else node
            found.setdefault(first.lineno, []).append(node)
        # Expressions, which are most of a file, define lambdas alone.
        for name in _BLOCKS:
            waiting += getattr(node, name, ())
    return found


@functools.lru_cache(maxsize=64)
def _lambdas(text: str) -> dict[int, list[Definition]]:
    """The lambdas of a file by their line."""
    found: dict[int, list[Definition]] = {}
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found
