"""Conversion between element types."""

from __future__ import annotations

import math

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.constant_value import stored
from tilec.ast_to_tile.values.values import (
    Constant,
    KernelValue,
    Number,
    Operand,
    Shape,
    Tile,
    TypedConstant,
    describe,
    is_number,
)
from tilec.dialect.cuda_tile.conversions import rounding_modes
from tilec.errors import CompileError, TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import RoundingMode
from tilec.language.operations import convert as language


def signedness(dtype: DType) -> str:
    """The signedness attribute of Tile IR integer operations for an element type."""
    return "signed" if dtype.signed else "unsigned"


def to_dtype(emitter: Emitter, value: Operand, dtype: DType, rounding: RoundingMode | None = None) -> Tile:
    """The value converted to an element type; constants are converted at compile time."""
    if isinstance(value, TypedConstant) or is_number(value):
        return constant_tile(emitter, value, dtype)
    if value.dtype is dtype:
        return value
    return _convert(emitter, value, dtype, rounding)


def constant_tile(emitter: Emitter, value: Constant, dtype: DType, shape: Shape = ()) -> Tile:
    """A splat of a constant: a typed constant is converted as at run time, a Python integer must be in range."""
    if not isinstance(value, TypedConstant) and dtype.is_float:
        emitter.warn_if_replaced(value, dtype)
    return emitter.constant(constant_value(value, dtype), dtype, shape)


def constant_value(value: Constant, dtype: DType) -> Number:
    """A typed constant converted as at run time; of a Python number, the fraction is dropped for an integer type."""
    if isinstance(value, TypedConstant):
        return TypedConstant(value.value, dtype).value
    return int(value) if dtype.is_integral else value


def named_type_value(emitter: Emitter, value: Constant, dtype: DType) -> Number:
    """A constant in an element type that the program names: as at run time, integers keep their low bits.

    Gives a warning for a constant out of range of the type. Raises TileValueError for an integer that no integer type
    has, and for NaN or infinity as an integer.
    """
    number = arguments.known(value)
    if dtype.is_integral and isinstance(number, int) and not -(1 << 63) <= number < 1 << 64:
        raise TileValueError(f"the constant {number} is out of range of every integer type")
    emitter.warn_if_replaced(number, dtype)
    return stored(number, dtype)


def astype(emitter: Emitter, value: Operand, dtype: DType, rounding: RoundingMode | None = None) -> Operand:
    """The value in another element type; a constant stays constant unless a rounding mode other than RN is given."""
    if isinstance(value, Tile):
        return to_dtype(emitter, value, dtype, rounding)
    if rounding is None or rounding is RoundingMode.RN:
        return TypedConstant(arguments.known(value), dtype)
    return to_dtype(emitter, emitter.as_tile(value), dtype, rounding)


def _convert(emitter: Emitter, tile: Tile, dtype: DType, rounding: RoundingMode | None) -> Tile:
    source = tile.dtype
    if rounding is not None and not (source.is_float and dtype.is_float):
        raise TileTypeError(f"a rounding mode needs a conversion between floats, got {source} to {dtype}")
    is_extended = _is_extended(source, dtype)
    if is_extended and not (source.is_float and dtype.is_float):
        # Tile IR converts integers to and from its own floats; float32 has all values of 6 bits.
        return _convert(emitter, _convert(emitter, tile, datatypes.float32, None), dtype, None)
    if dtype.is_boolean:
        return _not_zero(emitter, tile)
    if source.is_float and dtype.is_float:
        mode = _rounding(source, dtype, rounding or RoundingMode.RN)
        name = "tilex.ftof" if is_extended else "ftof"
        return emitter.tile(name, [tile], dtype, tile.shape, rounding_mode=mode.value)
    if source.is_float:
        return emitter.tile("ftoi", [tile], dtype, tile.shape, signedness=signedness(dtype))
    if dtype is datatypes.float8_e8m0fnu:
        steps = "convert it with astype(ct.float32), then with a rounding_mode of RZ or RP"
        raise TileTypeError(f"{source} cannot be converted to {dtype}: {steps}")
    if dtype.is_float:
        return emitter.tile("itof", [tile], dtype, tile.shape, signedness=signedness(source))
    return _resize(emitter, tile, dtype)


def _is_extended(source: DType, dtype: DType) -> bool:
    """Whether a conversion is from or to a float that Tile IR lacks."""
    return source in datatypes.SIX_BIT_FLOATS or dtype in datatypes.SIX_BIT_FLOATS


def _rounding(source: DType, dtype: DType, mode: RoundingMode) -> RoundingMode:
    """The rounding mode of a conversion; raises TileTypeError if the conversion does not have it."""
    supported = ("nearest_even",) if _is_extended(source, dtype) else rounding_modes(source.element, dtype.element)
    if mode.value not in supported:
        names = ", ".join(member.name for member in RoundingMode if member.value in supported)
        found = f"got {mode.name}{', the default' if mode is RoundingMode.RN else ''}"
        raise TileTypeError(f"expected a rounding_mode of {names} to convert {source} to {dtype}, {found}")
    return mode


def _resize(emitter: Emitter, tile: Tile, dtype: DType) -> Tile:
    # A bool has one bit in Tile IR and eight in memory.
    source_width = 1 if tile.dtype.is_boolean else tile.dtype.bitwidth
    if dtype.bitwidth > source_width:
        return emitter.tile("exti", [tile], dtype, tile.shape, signedness=signedness(tile.dtype))
    if dtype.bitwidth < source_width:
        return emitter.tile("trunci", [tile], dtype, tile.shape)
    return Tile(tile.value, dtype, tile.shape)


def comparable(emitter: Emitter, tile: Tile) -> Tile:
    """A tile in a type that Tile IR compares; float32 has all values of the types without arithmetic."""
    return tile if tile.dtype.is_arithmetic else _convert(emitter, tile, datatypes.float32, None)


def _not_zero(emitter: Emitter, tile: Tile) -> Tile:
    tile = comparable(emitter, tile)
    zero = emitter.constant(0, tile.dtype, tile.shape)
    if tile.dtype.is_float:
        ordering = {"comparison_predicate": "not_equal", "comparison_ordering": "unordered"}
        return emitter.tile("cmpf", [tile, zero], datatypes.bool_, tile.shape, **ordering)
    compare = {"comparison_predicate": "not_equal", "signedness": signedness(tile.dtype)}
    return emitter.tile("cmpi", [tile, zero], datatypes.bool_, tile.shape, **compare)


def check_implicit(value: Operand, dtype: DType) -> None:
    """Raises CompileError if the conversion to `dtype` may lose information and therefore needs astype()."""
    if is_number(value) and dtype.is_boolean:
        lossless = isinstance(value, int) and value in (0, 1)
    elif is_number(value):
        lossless = datatypes.promote_literal(dtype, value) is dtype
    else:
        lossless = value.dtype is dtype or _widens(value.dtype, dtype)
    if not lossless:
        raise TileTypeError(f"{describe(value)} cannot be converted to {dtype} implicitly: convert it with astype()")


def implicit(emitter: Emitter, value: Operand, dtype: DType) -> Tile:
    """The value converted implicitly to an element type."""
    check_implicit(value, dtype)
    return to_dtype(emitter, value, dtype)


def _widens(source: DType, dtype: DType) -> bool:
    try:
        return datatypes.promote(source, dtype) is dtype
    except CompileError:
        return False


@implements(language.astype)
def _astype(emitter: Emitter, x: KernelValue, dtype: KernelValue, rounding_mode: KernelValue) -> Operand:
    element = arguments.dtype(dtype)
    rounding = arguments.keyword_or_none(rounding_mode, RoundingMode, "rounding_mode")
    return astype(emitter, arguments.tile_like(x, "x"), element, rounding)


def _parsed(dtype: DType, text: str) -> float:
    """The number of a constant string, as in `ct.float32("-inf")`."""
    try:
        return float(text)
    except ValueError as problem:
        raise TileTypeError(f"'{dtype}(...)' cannot convert {text!r}: {problem}") from problem


def construct(dtype: DType, value: KernelValue, emitter: Emitter) -> Operand:
    """`ct.int16(5)`: a scalar of a fixed type; constant if `value` is constant.

    Raises TileTypeError for types of less than a byte, which cuTile does not construct, and for values that are not
    scalars.
    """
    if dtype.bitwidth < 8 and not dtype.is_boolean:
        raise TileTypeError(f"'{dtype}(...)' cannot be called: make a tile with ct.full, or convert one with astype()")
    if isinstance(value, str):
        value = _parsed(dtype, value)
    if is_number(value) or isinstance(value, TypedConstant):
        if is_number(value):
            emitter.warn_if_replaced(value, dtype)
        return TypedConstant(arguments.known(value), dtype)
    if not isinstance(value, Tile) or value.shape:
        raise TileTypeError(f"'{dtype}(...)' takes a scalar, got {describe(value)}")
    return to_dtype(emitter, value, dtype)


@implements(language.bitcast)
def _bitcast(emitter: Emitter, x: KernelValue, dtype: KernelValue) -> Tile:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    element = arguments.dtype(dtype)
    if tile.dtype.bitwidth != element.bitwidth or datatypes.bool_ in (tile.dtype, element):
        raise arguments.BadArgument(
            "dtype", f"expected an element type of {tile.dtype.bitwidth} bits, got {element} of {element.bitwidth}"
        )
    if tile.dtype is not element and datatypes.tfloat32 in (tile.dtype, element):
        # The type of Tile IR has 19 bits.
        raise arguments.BadArgument("dtype", "the bits of tfloat32 are not accessible: convert with astype(ct.float32)")
    return _bits(emitter, tile, element)


def _bits(emitter: Emitter, tile: Tile, element: DType) -> Tile:
    """The same bits as another type of the same width; Tile IR integers are signless, so they need no operation."""
    if tile.dtype.is_integral and element.is_integral:
        return Tile(tile.value, element, tile.shape)
    if tile.dtype in datatypes.SIX_BIT_FLOATS:
        raise arguments.BadArgument("x", f"expected a type of Tile IR, got {describe(tile)}: convert it with astype()")
    return emitter.tile("bitcast", [tile], element, tile.shape)


def _flattened_bytes(tile: Tile, width: int) -> int:
    """The size of a tile in elements of `width` bits; raises CompileError if it is not a multiple of `width`."""
    bits = math.prod(tile.shape) * tile.dtype.bitwidth
    if bits % width or bits % 8:
        raise TileTypeError(f"size of {describe(tile)} ({bits} bits) is not a multiple of {width} bits")
    return bits // width


@implements(language.pack_to_bytes)
def _pack_to_bytes(emitter: Emitter, x: KernelValue) -> Tile:
    tile = arguments.tile(x, "x")
    if tile.dtype.is_boolean:
        raise arguments.BadArgument("x", f"expected numbers, got {describe(tile)}: convert it with astype(ct.uint8)")
    count = _flattened_bytes(tile, 8)
    flat = emitter.tile("reshape", [tile], tile.dtype, (math.prod(tile.shape),)) if len(tile.shape) != 1 else tile
    if flat.dtype.bitwidth == 8:
        return flat if flat.dtype is datatypes.uint8 else _bits(emitter, flat, datatypes.uint8)
    return emitter.tile("pack", [flat], datatypes.uint8, (count,))


@implements(language.unpack_from_bytes)
def _unpack_from_bytes(emitter: Emitter, x: KernelValue, dtype: KernelValue) -> Tile:
    tile, element = arguments.tile(x, "x"), arguments.dtype(dtype)
    if tile.dtype is not datatypes.uint8 or len(tile.shape) != 1:
        raise arguments.BadArgument("x", f"expected a uint8 tile of one dimension, got {describe(tile)}")
    if element.is_boolean:
        raise arguments.BadArgument("dtype", f"expected a type of numbers, got {element}: compare the bytes with 0")
    count = _flattened_bytes(tile, element.bitwidth)
    if element.bitwidth == 8:
        return _bits(emitter, tile, element)
    return emitter.tile("unpack", [tile], element, (count,))
