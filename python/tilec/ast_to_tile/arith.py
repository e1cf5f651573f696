"""Arithmetic, comparison and bits, on tiles and on numbers known while compiling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.convert import astype, signedness
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.fold import fold_numbers, fold_typed
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.shape import common_shape, operand
from tilec.ast_to_tile.values import Shape, Tile, TypedConstant, describe, is_number, is_tile_like
from tilec.errors import TileTypeError
from tilec.language import arith as language
from tilec.language import datatypes
from tilec.language.datatypes import Category, DType
from tilec.language.modes import RoundingMode

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


def binary(emitter: Emitter, name: str, x: Any, y: Any, **options: Any) -> Any:
    """x <name> y with promotion and broadcasting; two constants give a constant."""
    if is_number(x) and is_number(y):
        return fold_numbers(name, x, y)
    dtype = _operand_dtype(name, x, y)
    # Rounding modes and flushing are left to the operation.
    if not isinstance(x, Tile) and not isinstance(y, Tile) and not any(options.values()):
        return fold_typed(name, x, y, dtype)
    shape = common_shape(_shape(x), _shape(y))
    lhs, rhs = (operand(emitter, value, dtype, shape) for value in (x, y))
    return _emit(emitter, name, lhs, rhs, options)


def _shape(value: Any) -> Shape:
    return value.shape if isinstance(value, Tile) else ()


def common_dtype(x: Any, y: Any) -> DType:
    """The element type in which two operands meet."""
    if is_number(x) and is_number(y):
        return datatypes.promote(datatypes.of_literal(x), datatypes.of_literal(y))
    if is_number(x):
        return datatypes.promote_literal(y.dtype, x)
    return datatypes.promote_literal(x.dtype, y) if is_number(y) else datatypes.promote(x.dtype, y.dtype)


def _operand_dtype(name: str, x: Any, y: Any) -> DType:
    for value in (x, y):
        if not is_tile_like(value):
            raise TileTypeError(f"expected tiles or numbers, got {describe(value)}")
    if name in _BITWISE or name in _SHIFTS:
        _check_integers(name, x, y)
    if name == "truediv" and (is_number(x) or is_number(y)) and not (_is_float(x) or _is_float(y)):
        # The number becomes a float whatever the range of the integer type.
        return datatypes.float32
    dtype = common_dtype(x, y)
    if name == "truediv" and not dtype.is_float:
        return datatypes.float32
    if dtype.category == Category.RESTRICTED and name not in _PREDICATES:
        raise TileTypeError(f"{dtype} has no arithmetic: convert with astype() first")
    if dtype.is_boolean and name not in _PREDICATES and name not in _BITWISE:
        raise TileTypeError("booleans have no arithmetic: convert one to an integer with astype()")
    return dtype


def _is_float(value: Any) -> bool:
    return isinstance(value, float) if is_number(value) else value.dtype.is_float


def _check_integers(name: str, x: Any, y: Any) -> None:
    dtypes = [dtype_of(value) for value in (x, y)]
    for value, dtype in zip((x, y), dtypes, strict=True):
        if dtype.is_float or dtype.is_boolean and name in _SHIFTS:
            raise TileTypeError(f"expected integers, got {describe(value)}")
    # cuTile joins the bits of unlike types only where one is a Python number, and never those of bool and int8.
    unlike = dtypes[0] is not dtypes[1] and not is_number(x) and not is_number(y)
    if name in _BITWISE and (unlike or set(dtypes) == {datatypes.bool_, datatypes.int8}):
        raise TileTypeError(f"expected one integer type, got {dtypes[0]} and {dtypes[1]}: convert one with astype()")


def dtype_of(value: Any) -> DType:
    """The element type of a tile or constant; that of a Python number is what it has by itself."""
    return datatypes.of_literal(value) if is_number(value) else value.dtype


def _emit(emitter: Emitter, name: str, lhs: Tile, rhs: Tile, options: dict[str, Any]) -> Tile:
    if name in _PREDICATES:
        return compare(emitter, name, lhs, rhs)
    if name == "mod":
        return _python_modulo(emitter, lhs, rhs)
    kind = _float if lhs.dtype.is_float else _integer
    return kind(emitter, name, lhs, rhs, options)


def compare(emitter: Emitter, name: str, lhs: Tile, rhs: Tile) -> Tile:
    """A bool tile; both operands have one type already. A NaN compares false, but for `ne`."""
    if lhs.dtype.is_float:
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


def _integer(emitter: Emitter, name: str, lhs: Tile, rhs: Tile, options: dict[str, Any]) -> Tile:
    _no_float_options(name, options)
    if name not in _INTEGER:
        raise TileTypeError(f"'{name}' takes floats, got {lhs.dtype}: convert with astype() first")
    operation, fixed = _INTEGER[name]
    attributes: dict[str, Any] = dict(fixed)
    if operation in _SIGNED:
        attributes["signedness"] = signedness(lhs.dtype)
    # Unsigned division rounds towards zero, which is down; Tile IR refuses negative_inf there.
    if name == "floordiv" and not lhs.dtype.signed:
        attributes["rounding"] = "zero"
    return emitter.tile(operation, [lhs, rhs], lhs.dtype, lhs.shape, **attributes)


def _no_float_options(name: str, options: dict[str, Any]) -> None:
    if options.get("rounding_mode") is not None or options.get("flush_to_zero"):
        raise TileTypeError(f"rounding_mode and flush_to_zero are for floats, and '{name}' is on integers here")


_FLOAT = {"add": "addf", "sub": "subf", "mul": "mulf", "truediv": "divf", "min": "minf", "max": "maxf"}


def _float(emitter: Emitter, name: str, lhs: Tile, rhs: Tile, options: dict[str, Any]) -> Tile:
    if name == "floordiv":
        quotient = _float(emitter, "truediv", lhs, rhs, {})
        return emitter.tile("floor", [quotient], lhs.dtype, lhs.shape)
    if name == "pow":
        return emitter.tile("fpowf", [lhs, rhs], lhs.dtype, lhs.shape)
    if name not in _FLOAT:
        raise TileTypeError(f"'{name}' takes integers, got {lhs.dtype}")
    attributes = float_attributes(
        name, lhs.dtype, options, _ROUNDINGS + (("approx", "full") if name == "truediv" else ())
    )
    return emitter.tile(_FLOAT[name], [lhs, rhs], lhs.dtype, lhs.shape, **attributes)


def float_attributes(name: str, dtype: DType, options: dict[str, Any], roundings: tuple[str, ...]) -> dict[str, Any]:
    """rounding_mode, flush_to_zero and propagate_nan as attributes; raises BadArgument where the type forbids one."""
    attributes: dict[str, Any] = {}
    rounding = arguments.keyword_or_none(options.get("rounding_mode"), RoundingMode, "rounding_mode")
    if rounding is not None:
        if rounding.value not in roundings:
            names = ", ".join(roundings)
            raise arguments.BadArgument("rounding_mode", f"'{name}' rounds one of: {names}, got {rounding.value}")
        if rounding in (RoundingMode.APPROX, RoundingMode.FULL) and dtype is not datatypes.float32:
            raise arguments.BadArgument("rounding_mode", f"{rounding.value} is for float32, got {dtype}")
        attributes["rounding_mode"] = rounding.value
    for flag in ("flush_to_zero", "propagate_nan"):
        if flag in options and arguments.constant_bool(options[flag], flag):
            attributes[flag] = True
    if attributes.get("flush_to_zero") and dtype is not datatypes.float32:
        raise arguments.BadArgument("flush_to_zero", f"flushing to zero is for float32, got {dtype}")
    return attributes


def _python_modulo(emitter: Emitter, lhs: Tile, rhs: Tile) -> Tile:
    """The remainder has the sign of the divisor in Python, that of the dividend in Tile IR."""
    if lhs.dtype.is_float:
        remainder = emitter.tile("remf", [lhs, rhs], lhs.dtype, lhs.shape)
    else:
        remainder = emitter.tile("remi", [lhs, rhs], lhs.dtype, lhs.shape, signedness=signedness(lhs.dtype))
        if not lhs.dtype.signed:
            return remainder
    zero = emitter.constant(0, lhs.dtype, lhs.shape)
    signs_differ = binary(emitter, "xor", compare(emitter, "lt", remainder, zero), compare(emitter, "lt", rhs, zero))
    wrong = binary(emitter, "and", signs_differ, compare(emitter, "ne", remainder, zero))
    return select(emitter, wrong, binary(emitter, "add", remainder, rhs), remainder)


def select(emitter: Emitter, condition: Tile, x: Tile, y: Tile) -> Tile:
    """Element by element; all three have one shape."""
    return emitter.tile("select", [condition, x, y], x.dtype, x.shape)


def as_signed_number(emitter: Emitter, x: Any) -> Any:
    """The operand of a unary plus or minus: a bool counts as int32."""
    if is_number(x):
        return x
    if not x.dtype.is_arithmetic:
        raise TileTypeError(f"{x.dtype} has no arithmetic: convert with astype() first")
    return astype(emitter, x, datatypes.int32) if x.dtype.is_boolean else x


def negate(emitter: Emitter, operand: Any) -> Any:
    """-x; integers wrap."""
    x = as_signed_number(emitter, operand)
    if is_number(x):
        return -x
    if isinstance(x, TypedConstant):
        return TypedConstant(-x.value, x.dtype)
    return emitter.tile("negf" if x.dtype.is_float else "negi", [x], x.dtype, x.shape)


def invert(emitter: Emitter, x: Any) -> Any:
    if is_number(x):
        return not x if isinstance(x, bool) else ~x
    if x.dtype.is_float:
        raise TileTypeError(f"expected integers or booleans, got {describe(x)}")
    if isinstance(x, TypedConstant):
        return TypedConstant(not x.value if x.dtype.is_boolean else ~int(x.value), x.dtype)
    tile = x
    ones = emitter.constant(
        1 if tile.dtype.is_boolean else -1 if tile.dtype.signed else tile.dtype.range[1], tile.dtype, tile.shape
    )
    return emitter.tile("xori", [tile, ones], tile.dtype, tile.shape)


def where(emitter: Emitter, condition: Any, x: Any, y: Any) -> Tile:
    """x where the condition holds, else y, promoted and broadcast."""
    dtype = common_dtype(x, y)
    shape = common_shape(_shape(condition), _shape(x), _shape(y))
    chosen = operand(emitter, condition, datatypes.bool_, shape)
    lhs, rhs = (operand(emitter, value, dtype, shape) for value in (x, y))
    return select(emitter, chosen, lhs, rhs)


@implements(language.add)
def _add(emitter: Emitter, x: Any, y: Any, **options: Any) -> Any:
    return binary(emitter, "add", x, y, **options)


@implements(language.sub)
def _sub(emitter: Emitter, x: Any, y: Any, **options: Any) -> Any:
    return binary(emitter, "sub", x, y, **options)


@implements(language.mul)
def _mul(emitter: Emitter, x: Any, y: Any, **options: Any) -> Any:
    return binary(emitter, "mul", x, y, **options)


@implements(language.truediv)
def _truediv(emitter: Emitter, x: Any, y: Any, **options: Any) -> Any:
    return binary(emitter, "truediv", x, y, **options)


@implements(language.minimum)
def _minimum(emitter: Emitter, x: Any, y: Any, **options: Any) -> Any:
    return binary(emitter, "min", x, y, **options)


@implements(language.maximum)
def _maximum(emitter: Emitter, x: Any, y: Any, **options: Any) -> Any:
    return binary(emitter, "max", x, y, **options)


def _plain(name: str) -> Callable[[Emitter, Any, Any], Any]:
    def build(emitter: Emitter, x: Any, y: Any) -> Any:
        return binary(emitter, name, x, y)

    build.__qualname__ = f"_plain({name})"
    return build


_PLAIN: dict[Any, str] = {
    language.floordiv: "floordiv",
    language.mod: "mod",
    language.pow: "pow",
    language.cdiv: "cdiv",
    language.greater: "gt",
    language.greater_equal: "ge",
    language.less: "lt",
    language.less_equal: "le",
    language.equal: "eq",
    language.not_equal: "ne",
    language.bitwise_and: "and",
    language.bitwise_or: "or",
    language.bitwise_xor: "xor",
    language.bitwise_lshift: "lshift",
    language.bitwise_rshift: "rshift",
    pow: "pow",
}
for _function, _name in _PLAIN.items():
    implements(_function)(_plain(_name))


@implements(language.divmod, divmod)
def _divmod(emitter: Emitter, x: Any, y: Any) -> Any:
    if (isinstance(x, Tile) or isinstance(y, Tile)) and common_dtype(x, y).is_float:
        raise TileTypeError("'divmod' takes integers: for floats use '//' and '%'")
    return binary(emitter, "floordiv", x, y), binary(emitter, "mod", x, y)


@implements(language.negative)
def _negative(emitter: Emitter, x: Any) -> Any:
    return negate(emitter, arguments.tile_like(x, "x"))


@implements(language.bitwise_not)
def _bitwise_not(emitter: Emitter, x: Any) -> Any:
    return invert(emitter, arguments.tile_like(x, "x"))


@implements(language.abs, abs)
def _abs(emitter: Emitter, x: Any) -> Any:
    value = arguments.tile_like(x, "x")
    if not isinstance(value, Tile):
        number = abs(arguments.known(value))
        return TypedConstant(number, value.dtype) if isinstance(value, TypedConstant) else number
    if value.dtype.is_float:
        return emitter.tile("absf", [value], value.dtype, value.shape)
    return emitter.tile("absi", [value], value.dtype, value.shape) if value.dtype.signed else value


@implements(language.isnan)
def _isnan(emitter: Emitter, x: Any) -> Any:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    if not tile.dtype.is_float:
        raise arguments.BadArgument("x", f"'isnan' takes floats, got {describe(x)}")
    return compare(emitter, "ne", tile, tile)


@implements(language.where)
def _where(emitter: Emitter, cond: Any, x: Any, y: Any) -> Tile:
    for value, parameter in ((cond, "cond"), (x, "x"), (y, "y")):
        arguments.tile_like(value, parameter)
    return where(emitter, cond, x, y)
