"""Builds elementwise floating-point functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.arith import common_dtype, float_attributes
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.shape import common_shape, operand
from tilec.ast_to_tile.registry import implements, implements_each
from tilec.ast_to_tile.values.values import KernelValue, Number, Operand, Tile, TypedConstant, is_number, shape_of
from tilec.errors import TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import Category
from tilec.language.operations import math as language

_APPROXIMATIONS = ("full", "approx")


@dataclass(frozen=True)
class _Function:
    """An operation of Tile IR, the Python function that folds constants, and the rounding modes."""

    name: str
    fold: Callable[[float], float]
    roundings: tuple[str, ...] = ()


_FUNCTIONS: dict[Callable[..., object], _Function] = {
    language.exp: _Function("exp", math.exp, _APPROXIMATIONS),
    language.exp2: _Function("exp2", lambda x: 2.0**x),
    language.log: _Function("log", math.log),
    language.log2: _Function("log2", math.log2),
    language.sqrt: _Function("sqrt", math.sqrt, ("nearest_even", "zero", "negative_inf", "positive_inf", "approx")),
    language.rsqrt: _Function("rsqrt", lambda x: x**-0.5),
    language.sin: _Function("sin", math.sin),
    language.cos: _Function("cos", math.cos),
    language.tan: _Function("tan", math.tan),
    language.sinh: _Function("sinh", math.sinh),
    language.cosh: _Function("cosh", math.cosh),
    language.tanh: _Function("tanh", math.tanh, _APPROXIMATIONS),
}


def _unary(row: _Function, emitter: Emitter, x: KernelValue, **options: KernelValue) -> Operand:
    value = arguments.tile_like(x, "x")
    if is_number(value):
        return _folded(row, value)
    dtype = value.dtype if value.dtype.is_float else datatypes.float32
    if dtype.category == Category.RESTRICTED:
        raise arguments.BadArgument("x", f"{dtype} is not supported: convert with astype() first")
    if isinstance(value, TypedConstant):
        return TypedConstant(_folded(row, value.value), dtype)
    attributes = float_attributes(dtype, options, row.roundings)
    return emitter.tile(row.name, [to_dtype(emitter, value, dtype)], dtype, value.shape, **attributes)


def _folded(row: _Function, value: Number) -> float:
    try:
        return float(row.fold(float(value)))
    except (ArithmeticError, ValueError, TypeError) as problem:
        raise TileValueError(f"'{row.name}' of the constant {value}: {problem}") from problem


implements_each(_FUNCTIONS, _unary)

_INTEGRAL: dict[Callable[..., object], _Function] = {
    language.floor: _Function("floor", math.floor),
    language.ceil: _Function("ceil", math.ceil),
}


def _integral(row: _Function, emitter: Emitter, x: KernelValue) -> Operand:
    value = arguments.tile_like(x, "x")
    if is_number(value):
        return row.fold(value)
    tile = emitter.as_tile(value)
    if not tile.dtype.is_float or tile.dtype.category == Category.RESTRICTED:
        raise arguments.BadArgument("x", f"expected floats, got {tile.dtype}: convert with astype() first")
    return emitter.tile(row.name, [tile], tile.dtype, tile.shape)


implements_each(_INTEGRAL, _integral)


@implements(language.atan2)
def _atan2(emitter: Emitter, x1: KernelValue, x2: KernelValue) -> float | Tile:
    if is_number(x1) and is_number(x2):
        return math.atan2(x1, x2)
    values = [arguments.tile_like(value, name) for value, name in ((x1, "x1"), (x2, "x2"))]
    dtype = common_dtype(*values)
    if not dtype.is_float or dtype.category == Category.RESTRICTED:
        raise TileTypeError(f"'ct.atan2' takes floats, got {dtype}: convert with astype() first")
    shape = common_shape(*map(shape_of, values))
    tiles = [operand(emitter, value, dtype, shape) for value in values]
    return emitter.tile("atan2", tiles, dtype, shape)
