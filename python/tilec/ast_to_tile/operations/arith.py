"""Arithmetic, comparison and bitwise operations on tiles and compile-time numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.emitter import AttributeValue, Emitter
from tilec.ast_to_tile.fold import fold_numbers, fold_typed
from tilec.ast_to_tile.operations.convert import astype, comparable, signedness, to_dtype
from tilec.ast_to_tile.operations.shape import common_shape, operand
from tilec.ast_to_tile.registry import implements, implements_each
from tilec.ast_to_tile.values.constant_value import stored
from tilec.ast_to_tile.values.values import (
    KernelValue,
    Number,
    Operand,
    Tile,
    TypedConstant,
    describe,
    is_number,
    is_tile_like,
    shape_of,
)
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language.datatypes import Category, DType
from tilec.language.modes import RoundingMode
from tilec.language.operations import arith as language
from tilec.language.operations import bitwise, comparison

_PREDICATES = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less_than",
    "le": "less_than_or_equal",
    "gt": "greater_than",
    "ge": "greater_than_or_equal",
}
_BITWISE = ("and", "or", "xor")
_SHIFTS = ("lshift", "rshift")
_ROUNDINGS = ("nearest_even", "zero", "negative_inf", "positive_inf")


@overload
def binary(emitter: Emitter, name: str, x: Tile, y: KernelValue, **options: KernelValue) -> Tile: ...
@overload
def binary(emitter: Emitter, name: str, x: KernelValue, y: Tile, **options: KernelValue) -> Tile: ...
@overload
def binary(emitter: Emitter, name: str, x: KernelValue, y: KernelValue, **options: KernelValue) -> Operand: ...
def binary(emitter: Emitter, name: str, x: KernelValue, y: KernelValue, **options: KernelValue) -> Operand:
    """x <name> y with promotion and broadcasting; the result of two constants is a constant."""
    if is_number(x) and is_number(y):
        return fold_numbers(name, x, y)
    lhs, rhs = (_checked_operand(value) for value in (x, y))
    dtype = _operand_dtype(name, lhs, rhs)
    # Constants are not folded with a rounding mode or flush_to_zero: the operation implements both.
    if not isinstance(lhs, Tile) and not isinstance(rhs, Tile) and not any(options.values()):
        return fold_typed(name, lhs, rhs, dtype)
    if name == "pow" and _is_rounded_exponent(rhs, dtype):
        # A float of 16 bits does not have all integers above 2^8 or 2^11, so that odd exponents would become even.
        wide = (astype(emitter, value, datatypes.float32) for value in (astype(emitter, lhs, dtype), rhs))
        return astype(emitter, binary(emitter, "pow", *wide), dtype)
    shape = common_shape(shape_of(lhs), shape_of(rhs))
    return _emit(emitter, name, operand(emitter, lhs, dtype, shape), operand(emitter, rhs, dtype, shape), options)


def _checked_operand(value: KernelValue) -> Operand:
    if not is_tile_like(value):
        raise TileTypeError(f"expected tiles or numbers, got {describe(value)}")
    return value


def common_dtype(x: Operand, y: Operand) -> DType:
    """The element type to which two operands are promoted."""
    if is_number(x):
        if is_number(y):
            return datatypes.promote(datatypes.of_literal(x), datatypes.of_literal(y))
        return datatypes.promote_literal(y.dtype, x)
    return datatypes.promote_literal(x.dtype, y) if is_number(y) else datatypes.promote(x.dtype, y.dtype)


def _operand_dtype(name: str, x: Operand, y: Operand) -> DType:
    if name in _BITWISE or name in _SHIFTS:
        _check_integers(name, x, y)
    if name == "truediv" and (is_number(x) or is_number(y)) and not (_is_float(x) or _is_float(y)):
        # The number is converted to a float even if the integer type cannot represent it.
        return datatypes.float32
    dtype = common_dtype(x, y)
    if name == "truediv" and not dtype.is_float:
        return datatypes.float32
    if dtype.category == Category.RESTRICTED and name not in _PREDICATES:
        raise TileTypeError(f"{dtype} has no arithmetic: convert with astype() first")
    if dtype.is_boolean and name not in _PREDICATES and name not in _BITWISE:
        raise TileTypeError("booleans have no arithmetic: convert one to an integer with astype()")
    return dtype


def _is_rounded_exponent(exponent: Operand, dtype: DType) -> bool:
    """Whether an exponent is an integer that a float of 16 bits may lack."""
    if not dtype.is_float or dtype.bitwidth != 16 or _is_float(exponent):
        return False
    if isinstance(exponent, Tile):
        return exponent.dtype.is_integral
    number = arguments.known(exponent)
    return stored(number, dtype) != number


def _is_float(value: Operand) -> bool:
    return isinstance(value, float) if is_number(value) else value.dtype.is_float


def _check_integers(name: str, x: Operand, y: Operand) -> None:
    dtypes = [dtype_of(value) for value in (x, y)]
    for value, dtype in zip((x, y), dtypes, strict=True):
        if dtype.is_float or dtype.is_boolean and name in _SHIFTS:
            raise TileTypeError(f"expected integers, got {describe(value)}")
    # cuTile accepts different types only if one operand is a Python number, and never bool with int8.
    different = dtypes[0] is not dtypes[1] and not is_number(x) and not is_number(y)
    if name in _BITWISE and (different or set(dtypes) == {datatypes.bool_, datatypes.int8}):
        raise TileTypeError(f"expected one integer type, got {dtypes[0]} and {dtypes[1]}: convert one with astype()")


def dtype_of(value: Operand) -> DType:
    """The element type of a tile or constant; for a Python number, its default element type."""
    return datatypes.of_literal(value) if is_number(value) else value.dtype


def _emit(emitter: Emitter, name: str, lhs: Tile, rhs: Tile, options: dict[str, KernelValue]) -> Tile:
    if name in _PREDICATES:
        return compare(emitter, name, lhs, rhs)
    if name == "mod":
        return _python_modulo(emitter, lhs, rhs)
    kind = _float if lhs.dtype.is_float else _integer
    return kind(emitter, name, lhs, rhs, options)


def compare(emitter: Emitter, name: str, lhs: Tile, rhs: Tile) -> Tile:
    """A bool tile; both operands have the same type. Comparisons with NaN are false, except `ne`."""
    if lhs.dtype.is_float:
        lhs, rhs = comparable(emitter, lhs), comparable(emitter, rhs)
        ordering = "unordered" if name == "ne" else "ordered"
        attributes = {"comparison_predicate": _PREDICATES[name], "comparison_ordering": ordering}
        return emitter.tile("cmpf", [lhs, rhs], datatypes.bool_, lhs.shape, **attributes)
    attributes = {"comparison_predicate": _PREDICATES[name], "signedness": signedness(lhs.dtype)}
    return emitter.tile("cmpi", [lhs, rhs], datatypes.bool_, lhs.shape, **attributes)


_INTEGER = {
    "add": ("addi", {}),
    "sub": ("subi", {}),
    "mul": ("muli", {}),
    "floordiv": ("divi", {"rounding": "negative_inf"}),
    "cdiv": ("divi", {"rounding": "positive_inf"}),
    "min": ("mini", {}),
    "max": ("maxi", {}),
    "and": ("andi", {}),
    "or": ("ori", {}),
    "xor": ("xori", {}),
    "lshift": ("shli", {}),
    "rshift": ("shri", {}),
}
_SIGNED = ("divi", "mini", "maxi", "shri")


def _integer(emitter: Emitter, name: str, lhs: Tile, rhs: Tile, options: dict[str, KernelValue]) -> Tile:
    _no_float_options(name, options)
    if name not in _INTEGER:
        raise TileTypeError(f"'{name}' takes floats, got {lhs.dtype}: convert with astype() first")
    operation, fixed = _INTEGER[name]
    attributes: dict[str, AttributeValue] = dict(fixed)
    if operation in _SIGNED:
        attributes["signedness"] = signedness(lhs.dtype)
    # Unsigned division toward zero equals floor division; Tile IR does not allow negative_inf for unsigned types.
    if name == "floordiv" and not lhs.dtype.signed:
        attributes["rounding"] = "zero"
    return emitter.tile(operation, [lhs, rhs], lhs.dtype, lhs.shape, **attributes)


def _no_float_options(name: str, options: dict[str, KernelValue]) -> None:
    if options.get("rounding_mode") is not None or options.get("flush_to_zero"):
        raise TileTypeError(f"rounding_mode and flush_to_zero are for floats, but '{name}' has integer operands")


_FLOAT = {"add": "addf", "sub": "subf", "mul": "mulf", "truediv": "divf", "min": "minf", "max": "maxf"}


def _float(emitter: Emitter, name: str, lhs: Tile, rhs: Tile, options: dict[str, KernelValue]) -> Tile:
    if name == "floordiv":
        quotient = _float(emitter, "truediv", lhs, rhs, {})
        return emitter.tile("floor", [quotient], lhs.dtype, lhs.shape)
    if name == "pow":
        return emitter.tile("fpowf", [lhs, rhs], lhs.dtype, lhs.shape)
    if name not in _FLOAT:
        raise TileTypeError(f"'{name}' takes integers, got {lhs.dtype}")
    roundings = _ROUNDINGS + (("approx", "full") if name == "truediv" else ())
    attributes = float_attributes(lhs.dtype, options, roundings)
    return emitter.tile(_FLOAT[name], [lhs, rhs], lhs.dtype, lhs.shape, **attributes)


def float_attributes(
    dtype: DType, options: dict[str, KernelValue], roundings: tuple[str, ...]
) -> dict[str, AttributeValue]:
    """rounding_mode, flush_to_zero and propagate_nan as attributes; raises BadArgument for an invalid one."""
    attributes: dict[str, AttributeValue] = {}
    rounding = arguments.keyword_or_none(options.get("rounding_mode"), RoundingMode, "rounding_mode")
    if rounding is not None:
        if rounding.value not in roundings:
            names = ", ".join(RoundingMode(value).name for value in roundings)
            raise arguments.BadArgument("rounding_mode", f"expected one of {names}, got {rounding.name}")
        if rounding in (RoundingMode.APPROX, RoundingMode.FULL) and dtype is not datatypes.float32:
            raise arguments.BadArgument("rounding_mode", f"{rounding.name} requires float32, got {dtype}")
        attributes["rounding_mode"] = rounding.value
    for flag in ("flush_to_zero", "propagate_nan"):
        if flag in options and arguments.constant_bool(options[flag], flag):
            attributes[flag] = True
    if attributes.get("flush_to_zero") and dtype is not datatypes.float32:
        raise arguments.BadArgument("flush_to_zero", f"expected float32 operands, got {dtype}")
    return attributes


def _python_modulo(emitter: Emitter, lhs: Tile, rhs: Tile) -> Tile:
    """The remainder with the sign of the divisor, as in Python; that of Tile IR has the sign of the dividend."""
    if lhs.dtype.is_float:
        remainder = emitter.tile("remf", [lhs, rhs], lhs.dtype, lhs.shape)
    else:
        remainder = emitter.tile("remi", [lhs, rhs], lhs.dtype, lhs.shape, signedness=signedness(lhs.dtype))
        if not lhs.dtype.signed:
            return remainder
    zero = emitter.constant(0, lhs.dtype, lhs.shape)
    signs_differ = binary(emitter, "xor", compare(emitter, "lt", remainder, zero), compare(emitter, "lt", rhs, zero))
    needs_correction = binary(emitter, "and", signs_differ, compare(emitter, "ne", remainder, zero))
    return select(emitter, needs_correction, binary(emitter, "add", remainder, rhs), remainder)


def select(emitter: Emitter, condition: Tile, x: Tile, y: Tile) -> Tile:
    """Elementwise selection; all operands have the same shape."""
    if x.dtype.bitwidth < 8 and not x.dtype.is_boolean:
        # Tile IR does not select elements of less than a byte; float32 has all of their values.
        wide = select(emitter, condition, *(to_dtype(emitter, value, datatypes.float32) for value in (x, y)))
        return to_dtype(emitter, wide, x.dtype)
    return emitter.tile("select", [condition, x, y], x.dtype, x.shape)


def as_signed_number(emitter: Emitter, x: Operand) -> Operand:
    """The operand of a unary plus or minus; bool is converted to int32."""
    if is_number(x):
        return x
    if not x.dtype.is_arithmetic:
        raise TileTypeError(f"{x.dtype} has no arithmetic: convert with astype() first")
    return astype(emitter, x, datatypes.int32) if x.dtype.is_boolean else x


def negate(emitter: Emitter, operand: Operand) -> Operand:
    """-x; integers wrap."""
    x = as_signed_number(emitter, operand)
    if is_number(x):
        return -x
    if isinstance(x, TypedConstant):
        return TypedConstant(-x.value, x.dtype)
    return emitter.tile("negf" if x.dtype.is_float else "negi", [x], x.dtype, x.shape)


def _inverted(x: Number) -> Number:
    if isinstance(x, float):
        raise TileTypeError(f"expected integers or booleans, got {describe(x)}")
    return not x if isinstance(x, bool) else ~x


@overload
def invert(emitter: Emitter, x: Tile) -> Tile: ...
@overload
def invert(emitter: Emitter, x: Operand) -> Operand: ...
def invert(emitter: Emitter, x: Operand) -> Operand:
    """~x; logical negation of booleans."""
    if is_number(x):
        return _inverted(x)
    if x.dtype.is_float:
        raise TileTypeError(f"expected integers or booleans, got {describe(x)}")
    if isinstance(x, TypedConstant):
        return TypedConstant(not x.value if x.dtype.is_boolean else ~int(x.value), x.dtype)
    all_ones = 1 if x.dtype.is_boolean else -1 if x.dtype.signed else x.dtype.range[1]
    ones = emitter.constant(all_ones, x.dtype, x.shape)
    return emitter.tile("xori", [x, ones], x.dtype, x.shape)


def where(emitter: Emitter, condition: Operand, x: Operand, y: Operand) -> Tile:
    """x where the condition is true, else y, promoted and broadcast."""
    dtype = common_dtype(x, y)
    shape = common_shape(shape_of(condition), shape_of(x), shape_of(y))
    chosen = operand(emitter, condition, datatypes.bool_, shape)
    lhs, rhs = (operand(emitter, value, dtype, shape) for value in (x, y))
    return select(emitter, chosen, lhs, rhs)


# The binary operation of each language function.
_BINARY: dict[Callable[..., object], str] = {
    language.add: "add",
    language.sub: "sub",
    language.mul: "mul",
    language.truediv: "truediv",
    language.floordiv: "floordiv",
    language.mod: "mod",
    language.pow: "pow",
    language.cdiv: "cdiv",
    language.minimum: "min",
    language.maximum: "max",
    comparison.greater: "gt",
    comparison.greater_equal: "ge",
    comparison.less: "lt",
    comparison.less_equal: "le",
    comparison.equal: "eq",
    comparison.not_equal: "ne",
    bitwise.bitwise_and: "and",
    bitwise.bitwise_or: "or",
    bitwise.bitwise_xor: "xor",
    bitwise.bitwise_lshift: "lshift",
    bitwise.bitwise_rshift: "rshift",
    pow: "pow",
}


def _binary(name: str, emitter: Emitter, x: KernelValue, y: KernelValue, **options: KernelValue) -> Operand:
    return binary(emitter, name, x, y, **options)


implements_each(_BINARY, _binary)


@implements(language.divmod, divmod)
def _divmod(emitter: Emitter, x: KernelValue, y: KernelValue) -> tuple[Operand, Operand]:
    lhs, rhs = (_checked_operand(value) for value in (x, y))
    if (isinstance(lhs, Tile) or isinstance(rhs, Tile)) and common_dtype(lhs, rhs).is_float:
        raise TileTypeError("'divmod' takes integers: for floats use '//' and '%'")
    return binary(emitter, "floordiv", x, y), binary(emitter, "mod", x, y)


@implements(language.negative)
def _negative(emitter: Emitter, x: KernelValue) -> Operand:
    return negate(emitter, arguments.tile_like(x, "x"))


@implements(bitwise.bitwise_not)
def _bitwise_not(emitter: Emitter, x: KernelValue) -> Operand:
    return invert(emitter, arguments.tile_like(x, "x"))


@implements(language.abs, abs)
def _abs(emitter: Emitter, x: KernelValue) -> Operand:
    value = arguments.tile_like(x, "x")
    if not isinstance(value, Tile):
        number = abs(arguments.known(value))
        return TypedConstant(number, value.dtype) if isinstance(value, TypedConstant) else number
    if not value.dtype.is_arithmetic:
        raise arguments.BadArgument("x", f"{value.dtype} has no arithmetic: convert with astype() first")
    if value.dtype.is_float:
        return emitter.tile("absf", [value], value.dtype, value.shape)
    return emitter.tile("absi", [value], value.dtype, value.shape) if value.dtype.signed else value


@implements(comparison.isnan)
def _isnan(emitter: Emitter, x: KernelValue) -> Tile:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    if not tile.dtype.is_float:
        raise arguments.BadArgument("x", f"expected floats, got {describe(x)}")
    return compare(emitter, "ne", tile, tile)


@implements(comparison.where)
def _where(emitter: Emitter, cond: KernelValue, x: KernelValue, y: KernelValue) -> Tile:
    condition = arguments.tile_like(cond, "cond")
    return where(emitter, condition, arguments.tile_like(x, "x"), arguments.tile_like(y, "y"))
