"""Python functions rewritten for execution in a kernel; each is compiled once."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import sys
from types import CellType, CodeType, FunctionType

from tilec.ast_to_tile.source import Source, read
from tilec.errors import TileSyntaxError
from tilec.python_run.rewriting import FACTORY, RUN, rewritten

# Functions that stop in the calling frame, which must remain the frame of the kernel.
_DEBUGGERS = ("set_trace", "embed")


def is_user_function(function: object) -> bool:
    """Whether a kernel may inline the function: not one of the standard library, of a debugger or of tilec."""
    if not isinstance(function, FunctionType) or function.__name__ in _DEBUGGERS:
        return False
    package = (function.__module__ or "").partition(".")[0]
    return package not in sys.stdlib_module_names - {"__main__"} and package != "tilec"


def is_rewritten(function: FunctionType) -> bool:
    return RUN in function.__code__.co_freevars


def rewritten_function(function: FunctionType, run: object) -> FunctionType:
    """The function with the same globals, defaults and closure, and with `run` as its free variable."""
    code, _ = rewritten_code(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUN] = CellType(run)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


@functools.lru_cache(maxsize=256)
def rewritten_code(function: FunctionType) -> tuple[CodeType, Source]:
    """The code of the rewritten function, and its source; raises CompileError if the source cannot be read."""
    source = read(function)
    free = function.__code__.co_freevars
    module = rewritten(copy.deepcopy(source.node), free, functools.partial(_is_range, function))
    factory = _nested(compile(module, source.file, "exec", dont_inherit=True), FACTORY)
    return _nested(factory, function.__code__.co_name), source


def called_functions(function: FunctionType) -> list[FunctionType]:
    """The functions of the user that the function names and whose source can be read."""
    values = [function.__globals__.get(name) for name in function.__code__.co_names]
    functions = [value for value in values if isinstance(value, FunctionType) and is_user_function(value)]
    return [function for function in functions if has_source(function)]


def has_source(function: FunctionType) -> bool:
    """Whether the source of a function can be read; if not, its call is the place to report it."""
    try:
        read(getattr(function, "in_kernel", function))
    except TileSyntaxError:
        return False
    return True


def _nested(code: CodeType, name: str) -> CodeType:
    return next(inner for inner in code.co_consts if isinstance(inner, CodeType) and inner.co_name == name)


def _is_range(function: FunctionType, node: ast.expr) -> bool:
    """Whether the expression calls Python's `range`, which the function does not redefine."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "range":
        return False
    return function.__globals__.get("range", builtins.range) is builtins.range
