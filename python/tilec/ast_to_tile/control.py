"""What is decided while the kernel is compiled, and assertions at run time."""

from __future__ import annotations

from typing import Any

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values import Array, Text, Tile, TiledView, describe
from tilec.errors import TileStaticAssertionError, TileSyntaxError
from tilec.language import control as language
from tilec.language import datatypes


def is_static(value: Any) -> bool:
    """Whether the value is known while compiling."""
    if isinstance(value, tuple):
        return all(map(is_static, value))
    return not isinstance(value, Tile | Array | TiledView)


@implements(language.static_assert)
def _static_assert(emitter: Emitter, condition: Any, message: Any) -> None:
    if not is_static(condition):
        raise arguments.BadArgument(
            "condition", f"expected a condition known while compiling, got {describe(condition)}"
        )
    if not known(condition):
        raise TileStaticAssertionError("static assertion failed" + ("" if message is None else f": {_text(message)}"))


def _text(message: Any) -> str:
    """A message as the user reads it; values at run time appear by their types."""
    if isinstance(message, Text):
        return "".join(piece if isinstance(piece, str) else f"<{piece[0]}>" for piece in message.pieces)
    return str(known(message)) if is_static(message) else f"<{describe(message)}>"


@implements(language.static_eval)
def _static_eval(emitter: Emitter, expr: Any) -> Any:
    return _constant(expr, "expr")


@implements(language.ensure_constant)
def _ensure_constant(emitter: Emitter, value: Any) -> Any:
    return _constant(value, "value")


def _constant(value: Any, parameter: str) -> Any:
    if not is_static(value):
        raise arguments.BadArgument(parameter, f"expected a value known while compiling, got {describe(value)}")
    return value


@implements(language.static_iter)
def _static_iter(emitter: Emitter, iterable: Any) -> Any:
    raise TileSyntaxError("ct.static_iter stands only after 'in' of a for statement")


@implements(language.assert_)
def _assert(emitter: Emitter, cond: Any, message: Any) -> None:
    condition = emitter.as_tile(arguments.tile_like(cond, "cond"))
    if not condition.dtype.is_boolean:
        raise arguments.BadArgument("cond", f"expected booleans, got {describe(condition)}")
    if message is not None and not isinstance(message, str):
        raise arguments.BadArgument("message", f"expected a string, got {describe(message)}")
    held = to_dtype(emitter, condition, datatypes.bool_)
    emitter.build("assert", [held.value], [], {"message": message or ""})
