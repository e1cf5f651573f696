"""Run-time assertions, and the check that a value is a constant."""

from __future__ import annotations

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.structured_value import is_static
from tilec.ast_to_tile.values.values import KernelValue, describe
from tilec.errors import TileStaticAssertionError, TileSyntaxError
from tilec.language import datatypes
from tilec.language.operations import control as language


@implements(language.static_eval, language.static_assert, language.static_iter, language.static_exception)
def _static_call(emitter: Emitter, **_arguments: KernelValue) -> KernelValue:
    # A call by the function's own name does not reach this rule: it receives expressions, not their values.
    raise TileSyntaxError("the static functions must be called by their own names, as in ct.static_eval(...)")


@implements(language.ensure_constant)
def _ensure_constant(emitter: Emitter, value: KernelValue) -> KernelValue:
    if not is_static(value):
        problem = f"expected a compile-time value, got {describe(value)}"
        raise arguments.BadArgument("value", problem, TileStaticAssertionError)
    return value


@implements(language.assert_)
def _assert(emitter: Emitter, cond: KernelValue, message: KernelValue) -> None:
    condition = emitter.as_tile(arguments.tile_like(cond, "cond"))
    if not condition.dtype.is_boolean:
        raise arguments.BadArgument("cond", f"expected booleans, got {describe(condition)}")
    if message is not None and not isinstance(message, str):
        raise arguments.BadArgument("message", f"expected a string, got {describe(message)}")
    boolean = to_dtype(emitter, condition, datatypes.bool_)
    emitter.build("assert", [boolean.value], [], {"message": message or ""})
