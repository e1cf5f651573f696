"""Compile-time assertions and evaluation, and run-time assertions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values import Array, ArrayList, KernelValue, Text, Tile, View, describe, function_name
from tilec.errors import (
    CompileError,
    StaticException,
    TilecError,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileSyntaxError,
    TileValueError,
)
from tilec.language import control as language
from tilec.language import datatypes
from tilec.runtime.structured_values import fields_of

# Functions whose arguments are Python code that runs at compile time.
STATIC = (language.static_assert, language.static_eval, language.static_iter)


def is_static(value: KernelValue) -> bool:
    """Whether the value is a compile-time constant."""
    if isinstance(value, tuple):
        return all(map(is_static, value))
    if isinstance(value, Tile | Array | ArrayList | View):
        return False
    if type(value).__module__.partition(".")[0] == "tilec":
        return True
    return all(map(is_static, (fields_of(value) or {}).values()))


@implements(language.static_assert)
def _static_assert(emitter: Emitter, condition: KernelValue, message: KernelValue) -> None:
    if not is_static(condition):
        raise arguments.BadArgument("condition", f"expected a compile-time condition, got {describe(condition)}")
    if not known(condition):
        raise TileStaticAssertionError("static assertion failed" + ("" if message is None else f": {_text(message)}"))


@contextmanager
def python_exceptions_reported(function: object) -> Iterator[None]:
    """Converts a Python exception in the arguments of a function of STATIC to a StaticException."""
    try:
        yield
    except TileValueError as error:
        problem = error.__cause__
        if function not in STATIC or problem is None or isinstance(problem, TilecError):
            raise
        message = f"the argument of '{function_name(function)}' raised {type(problem).__name__}: {problem}"
        raise StaticException(message, error.location, error.notes) from problem


def _text(message: KernelValue) -> str:
    """The text of an assertion message, in which a run-time value is replaced by its type."""
    if isinstance(message, Text):
        return "".join(piece if isinstance(piece, str) else f"<{piece[0]}>" for piece in message.pieces)
    return str(known(message)) if is_static(message) else f"<{describe(message)}>"


@implements(language.static_eval)
def _static_eval(emitter: Emitter, expr: KernelValue) -> KernelValue:
    return _constant(expr, "expr", TileStaticEvalError)


@implements(language.ensure_constant)
def _ensure_constant(emitter: Emitter, value: KernelValue) -> KernelValue:
    return _constant(value, "value", TileStaticAssertionError)


def _constant(value: KernelValue, parameter: str, kind: type[CompileError]) -> KernelValue:
    if not is_static(value):
        raise arguments.BadArgument(parameter, f"expected a compile-time value, got {describe(value)}", kind)
    return value


@implements(language.static_iter)
def _static_iter(emitter: Emitter, iterable: KernelValue) -> KernelValue:
    raise TileSyntaxError("ct.static_iter can be used only after 'in' of a for statement")


@implements(language.assert_)
def _assert(emitter: Emitter, cond: KernelValue, message: KernelValue) -> None:
    condition = emitter.as_tile(arguments.tile_like(cond, "cond"))
    if not condition.dtype.is_boolean:
        raise arguments.BadArgument("cond", f"expected booleans, got {describe(condition)}")
    if message is not None and not isinstance(message, str):
        raise arguments.BadArgument("message", f"expected a string, got {describe(message)}")
    boolean = to_dtype(emitter, condition, datatypes.bool_)
    emitter.build("assert", [boolean.value], [], {"message": message or ""})
