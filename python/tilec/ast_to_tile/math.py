"""Builds elementwise floating-point functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arith import common_dtype, float_attributes
from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.shape import common_shape, operand
from tilec.ast_to_tile.values import KernelValue, Number, Operand, Tile, TypedConstant, is_number, shape_of
from tilec.errors import TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language import math as language
from tilec.language.datatypes import Category

# Function -> the Python function that folds constants, and the rounding modes. The operation has the same name.
_APPROXIMATIONS = ("full", "approx")
_FUNCTIONS: dict[Callable[..., object], tuple[Callable[[float], float], tuple[str, ...]]] = {
    language.exp: (math.exp, _APPROXIMATIONS),
    language.exp2: (lambda x: 2.0**x, ()),
    language.log: (math.log, ()),
    language.log2: (math.log2, ()),
    language.sqrt: (math.sqrt, ("nearest_even", "zero", "negative_inf", "positive_inf", "approx")),
    language.rsqrt: (lambda x: x**-0.5, ()),
    language.sin: (math.sin, ()),
    language.cos: (math.cos, ()),
    language.tan: (math.tan, ()),
    language.sinh: (math.sinh, ()),
    language.cosh: (math.cosh, ()),
    language.tanh: (math.tanh, _APPROXIMATIONS),
}


def _unary(name: str, fold: Callable[[float], float], roundings: tuple[str, ...]) -> Callable[..., Operand]:
    def build(emitter: Emitter, x: KernelValue, **options: KernelValue) -> Operand:
        value = arguments.tile_like(x, "x")
        if is_number(value):
            return _folded(name, fold, value)
        dtype = value.dtype if value.dtype.is_float else datatypes.float32
        if dtype.category == Category.RESTRICTED:
            raise arguments.BadArgument("x", f"'{name}' does not support {dtype}: convert with astype() first")
        if isinstance(value, TypedConstant):
            return TypedConstant(_folded(name, fold, value.value), dtype)
        attributes = float_attributes(name, dtype, options, roundings)
        return emitter.tile(name, [to_dtype(emitter, value, dtype)], dtype, value.shape, **attributes)

    build.__qualname__ = f"_unary({name})"
    return build


def _folded(name: str, fold: Callable[[float], float], value: Number) -> float:
    try:
        return float(fold(float(value)))
    except (ArithmeticError, ValueError, TypeError) as problem:
        raise TileValueError(f"'{name}' of the constant {value}: {problem}") from problem


for _function, (_fold, _roundings) in _FUNCTIONS.items():
    implements(_function)(_unary(_function.__name__, _fold, _roundings))


def _integral(name: str, fold: Callable[[float], int]) -> Callable[..., Operand]:
    def build(emitter: Emitter, x: KernelValue) -> Operand:
        value = arguments.tile_like(x, "x")
        if is_number(value):
            return fold(value)
        tile = emitter.as_tile(value)
        if not tile.dtype.is_float or tile.dtype.category == Category.RESTRICTED:
            raise arguments.BadArgument("x", f"'{name}' takes floats, got {tile.dtype}")
        return emitter.tile(name, [tile], tile.dtype, tile.shape)

    build.__qualname__ = f"_integral({name})"
    return build


implements(language.floor)(_integral("floor", math.floor))
implements(language.ceil)(_integral("ceil", math.ceil))


@implements(language.atan2)
def _atan2(emitter: Emitter, x1: KernelValue, x2: KernelValue) -> float | Tile:
    if is_number(x1) and is_number(x2):
        return math.atan2(x1, x2)
    values = [arguments.tile_like(value, name) for value, name in ((x1, "x1"), (x2, "x2"))]
    dtype = common_dtype(*values)
    if not dtype.is_float or dtype.category == Category.RESTRICTED:
        raise TileTypeError(f"'atan2' takes floats, got {dtype}")
    shape = common_shape(*map(shape_of, values))
    tiles = [operand(emitter, value, dtype, shape) for value in values]
    return emitter.tile("atan2", tiles, dtype, shape)
