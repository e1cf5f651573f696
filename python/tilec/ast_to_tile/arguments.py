"""Checks of the arguments of language functions; a failed check raises BadArgument."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, ParamSpec, TypeVar, overload

from tilec.ast_to_tile.values.values import (
    Array,
    Constant,
    KernelValue,
    Number,
    Operand,
    Shape,
    Tile,
    TypedConstant,
    describe,
    is_tile_like,
)
from tilec.errors import CompileError, TileTypeError
from tilec.language.datatypes import DType

if TYPE_CHECKING:
    from typing_extensions import TypeIs

E = TypeVar("E", bound=Enum)
P = ParamSpec("P")
R = TypeVar("R")


class BadArgument(CompileError):
    """An invalid argument of a call; the tracer adds the source location of the argument."""

    def __init__(self, parameter: str, message: str, kind: type[CompileError] = TileTypeError) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.kind = kind


@overload
def known(value: Constant) -> Number: ...
@overload
def known(value: Operand) -> Number | Tile: ...
@overload
def known(value: KernelValue) -> KernelValue: ...
def known(value: KernelValue) -> KernelValue:
    """The number of a typed constant; any other value unchanged."""
    return value.value if isinstance(value, TypedConstant) else value


def constant_int(value: KernelValue, parameter: str) -> int:
    """A compile-time integer."""
    number = known(value)
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    raise BadArgument(parameter, f"expected a constant integer, got {describe(value)}{_constant_suggestion(value)}")


def constant_bool(value: KernelValue, parameter: str) -> bool:
    """A compile-time boolean."""
    number = known(value)
    if isinstance(number, bool):
        return number
    raise BadArgument(parameter, f"expected a constant True or False, got {describe(value)}")


def constant_int_or_none(value: KernelValue, parameter: str) -> int | None:
    return None if value is None else constant_int(value, parameter)


def keyword(value: KernelValue, kind: type[E], parameter: str) -> E:
    """A member of an enumeration."""
    if isinstance(value, kind):
        return value
    members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
    raise BadArgument(parameter, f"expected one of {members}, got {describe(value)}")


def keyword_or_none(value: KernelValue, kind: type[E], parameter: str) -> E | None:
    return None if value is None else keyword(value, kind, parameter)


def dtype(value: KernelValue, parameter: str = "dtype") -> DType:
    """An element type."""
    if isinstance(value, DType) and value.pointee is None:
        return value
    raise BadArgument(parameter, f"expected an element type such as ct.float32, got {describe(value)}")


def integers(value: KernelValue, parameter: str) -> tuple[int, ...]:
    """The items of a tuple of constant integers, or one integer."""
    return tuple(constant_int(item, parameter) for item in (value if isinstance(value, tuple) else (value,)))


def shape(value: KernelValue, parameter: str = "shape", *, rank: int | None = None, powers: bool = True) -> Shape:
    """A shape: a tuple of constant integers, or one integer; each a power of two unless `powers` is false."""
    extents = integers(value, parameter)
    for extent in extents:
        if extent < 1 or powers and extent & (extent - 1):
            expected = "powers of two" if powers else "positive"
            nearest = f" (the next is {1 << extent.bit_length()})" if powers and extent > 0 else ""
            raise BadArgument(parameter, f"expected extents that are {expected}, got {extent} in {extents}{nearest}")
    if rank is not None and len(extents) != rank and extents != ():
        raise BadArgument(parameter, f"expected one extent per dimension, {rank} in all, got {extents}")
    return extents


def axis(value: KernelValue, rank: int, parameter: str = "axis") -> int:
    """A normalized axis; a negative argument counts from the last axis."""
    number = constant_int(value, parameter)
    if not -rank <= number < rank:
        raise BadArgument(parameter, f"expected an axis of {-rank} to {rank - 1}, got {number}")
    return number % rank


def order(value: KernelValue, rank: int, parameter: str = "order") -> tuple[int, ...]:
    """ "C", "F" or a permutation."""
    if value in ("C", "F"):
        return tuple(range(rank)) if value == "C" else tuple(reversed(range(rank)))
    axes = tuple(axis(item, rank, parameter) for item in value) if isinstance(value, tuple) else ()
    if sorted(axes) != list(range(rank)):
        raise BadArgument(parameter, f"expected 'C', 'F' or a permutation of {rank} axes, got {describe_order(value)}")
    return axes


def describe_order(value: KernelValue) -> str:
    return repr(value) if isinstance(value, tuple) and all(isinstance(item, int) for item in value) else describe(value)


def array(value: KernelValue, parameter: str = "array") -> Array:
    if isinstance(value, Array):
        return value
    raise BadArgument(parameter, f"expected an array, got {describe(value)}")


def tile(value: KernelValue, parameter: str) -> Tile:
    """A run-time tile; a scalar is a tile of shape ()."""
    if isinstance(value, Tile):
        return value
    raise BadArgument(parameter, f"expected a tile, got {describe(value)}")


def tile_like(value: KernelValue, parameter: str) -> Operand:
    """A tile, or a number that can be converted to one."""
    if is_tile_like(value):
        return value
    raise BadArgument(parameter, f"expected a tile or a number, got {describe(value)}")


def index(value: KernelValue, rank: int, parameter: str = "index") -> tuple[Operand, ...]:
    """One integer scalar per dimension."""
    items = value if isinstance(value, tuple) else (value,)
    if len(items) != rank:
        raise BadArgument(parameter, f"expected one index per dimension, {rank} in all, got {len(items)}")
    return tuple(_integer_scalar(item, parameter) for item in items)


def is_integer_scalar(value: KernelValue) -> TypeIs[Operand]:
    """Whether the value is an integer constant or an integer scalar at run time."""
    number = known(value)
    if isinstance(number, int) and not isinstance(number, bool):
        return True
    return isinstance(value, Tile) and value.shape == () and value.dtype.is_integral


def _integer_scalar(value: KernelValue, parameter: str) -> Operand:
    if is_integer_scalar(value):
        return value
    raise BadArgument(parameter, f"expected integer scalars, got {describe(value)}")


def _constant_suggestion(value: KernelValue) -> str:
    if isinstance(value, Tile) and value.shape == ():
        return " (annotate a parameter of the kernel as ct.Constant[int] to make it one)"
    return ""


def at(parameter: str, function: Callable[P, R], *arguments: P.args, **keywords: P.kwargs) -> R:
    """The result of a call whose errors are attributed to the argument `parameter`, unless they have a location."""
    try:
        return function(*arguments, **keywords)
    except BadArgument:
        raise
    except CompileError as problem:
        if problem.location is not None:
            raise
        raise BadArgument(parameter, problem.message, type(problem)) from problem
