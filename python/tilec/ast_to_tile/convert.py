"""From one element type to another."""

from __future__ import annotations

from typing import Any

from tilec import datatypes
from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.chapters import implements
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.values import Tile, TypedConstant, describe, is_number
from tilec.datatypes import DType
from tilec.errors import CompileError
from tilec.language import convert as language
from tilec.modes import RoundingMode


def signedness(dtype: DType) -> str:
    """How Tile IR's integer operations shall read an element."""
    return "signed" if dtype.signed else "unsigned"


def to_dtype(emitter: Emitter, value: Any, dtype: DType, rounding: RoundingMode | None = None) -> Tile:
    """The value, converted; numbers are converted while compiling."""
    if isinstance(value, TypedConstant) or is_number(value):
        number = arguments.known(value)
        return emitter.constant(python_number(number, dtype), dtype)
    if value.dtype is dtype:
        return value
    return _convert(emitter, value, dtype, rounding)


def python_number(number: Any, dtype: DType) -> Any:
    """Truncates towards zero as the conversion at run time does; wraps nothing, out of range is refused later."""
    if dtype.is_boolean:
        return bool(number)
    return float(number) if dtype.is_float else int(number)


def _convert(emitter: Emitter, tile: Tile, dtype: DType, rounding: RoundingMode | None) -> Tile:
    source = tile.dtype
    if rounding is not None and not (source.is_float and dtype.is_float):
        raise CompileError(f"a rounding mode is for conversions between floats, got {source} to {dtype}")
    if dtype.is_boolean:
        return _not_zero(emitter, tile)
    if source.is_float and dtype.is_float:
        mode = (rounding or RoundingMode.RN).value
        return emitter.tile("ftof", [tile], dtype, tile.shape, rounding_mode=mode)
    if source.is_float:
        return emitter.tile("ftoi", [tile], dtype, tile.shape, signedness=signedness(dtype))
    if dtype.is_float:
        return emitter.tile("itof", [tile], dtype, tile.shape, signedness=signedness(source))
    return _resize(emitter, tile, dtype)


def _resize(emitter: Emitter, tile: Tile, dtype: DType) -> Tile:
    # A bool is one bit in Tile IR, whatever it takes in memory.
    source_width = 1 if tile.dtype.is_boolean else tile.dtype.bitwidth
    if dtype.bitwidth > source_width:
        return emitter.tile("exti", [tile], dtype, tile.shape, signedness=signedness(tile.dtype))
    if dtype.bitwidth < source_width:
        return emitter.tile("trunci", [tile], dtype, tile.shape)
    return Tile(tile.value, dtype, tile.shape)


def _not_zero(emitter: Emitter, tile: Tile) -> Tile:
    zero = emitter.constant(0, tile.dtype, tile.shape)
    if tile.dtype.is_float:
        ordering = {"comparison_predicate": "not_equal", "comparison_ordering": "unordered"}
        return emitter.tile("cmpf", [tile, zero], datatypes.bool_, tile.shape, **ordering)
    compare = {"comparison_predicate": "not_equal", "signedness": signedness(tile.dtype)}
    return emitter.tile("cmpi", [tile, zero], datatypes.bool_, tile.shape, **compare)


def check_implicit(value: Any, dtype: DType) -> None:
    """Raises CompileError where the value cannot become `dtype` without being asked: only what loses nothing can."""
    if is_number(value):
        fits = datatypes.promote_literal(dtype, value) is dtype
    else:
        fits = value.dtype is dtype or _widens(value.dtype, dtype)
    if not fits:
        raise CompileError(f"{describe(value)} cannot become {dtype} by itself: convert it with astype()")


def implicit(emitter: Emitter, value: Any, dtype: DType) -> Tile:
    """The value as an element type that it may take without being asked."""
    check_implicit(value, dtype)
    return to_dtype(emitter, value, dtype)


def _widens(source: DType, dtype: DType) -> bool:
    try:
        return datatypes.promote(source, dtype) is dtype
    except CompileError:
        return False


@implements(language.astype)
def _astype(emitter: Emitter, x: Any, dtype: Any, rounding_mode: Any) -> Any:
    element = arguments.dtype(dtype)
    rounding = arguments.keyword_or_none(rounding_mode, RoundingMode, "rounding_mode")
    value = arguments.tile_like(x, "x")
    if not isinstance(value, Tile):
        return TypedConstant(python_number(arguments.known(value), element), element)
    return to_dtype(emitter, value, element, rounding)


def construct(dtype: DType, value: Any, emitter: Emitter) -> Any:
    """`ct.int16(5)`: a scalar of a fixed type, constant if the value is."""
    if is_number(value) or isinstance(value, TypedConstant):
        return TypedConstant(python_number(arguments.known(value), dtype), dtype)
    if not isinstance(value, Tile) or value.shape:
        raise CompileError(f"'{dtype}(...)' takes a scalar, got {describe(value)}")
    return to_dtype(emitter, value, dtype)


@implements(language.bitcast)
def _bitcast(emitter: Emitter, x: Any, dtype: Any) -> Tile:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    element = arguments.dtype(dtype)
    if tile.dtype.bitwidth != element.bitwidth or datatypes.bool_ in (tile.dtype, element):
        raise arguments.BadArgument(
            "dtype", f"expected an element type of {tile.dtype.bitwidth} bits, got {element} of {element.bitwidth}"
        )
    if tile.dtype.is_integral and element.is_integral:
        return Tile(tile.value, element, tile.shape)
    return emitter.tile("bitcast", [tile], element, tile.shape)
