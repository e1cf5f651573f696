"""The builtins of Python that a kernel may call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilec.ast_to_tile.arguments import known
from tilec.ast_to_tile.arith import binary
from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.values import Range, Tile, TypedConstant, describe, is_number, is_tile_like
from tilec.errors import TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer


def _range(tracer: Tracer, *bounds: Any) -> Range:
    if not 1 <= len(bounds) <= 3:
        raise TileTypeError(f"'range' takes one to three arguments, got {len(bounds)}")
    for bound in bounds:
        number = known(bound)
        integer = isinstance(number, int) and not isinstance(number, bool)
        if not integer and not (isinstance(bound, Tile) and bound.shape == () and bound.dtype.is_integral):
            raise TileTypeError(f"'range' takes integer scalars, got {describe(bound)}")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(known(step), int) and known(step) < 1:
        raise TileTypeError(f"the step of 'range' must be positive, got {known(step)}: count upwards and subtract")
    return Range(start, stop, step)


def _extreme(name: str) -> Callable[..., Any]:
    def build(tracer: Tracer, *values: Any) -> Any:
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        if len(items) < 2 or not all(map(is_tile_like, items)):
            wrong = next((item for item in items if not is_tile_like(item)), None)
            got = f", got {describe(wrong)}" if wrong is not None else f": along an axis of a tile use ct.{name}"
            raise TileTypeError(f"'{name}' takes two or more tiles or numbers{got}")
        return functools.reduce(lambda x, y: binary(tracer.emitter, name, x, y), items)

    return build


def _length(tracer: Tracer, *values: Any) -> int:
    if len(values) != 1 or not isinstance(values[0], tuple | list | dict | str):
        raise TileTypeError(f"'len' takes a tuple, got {', '.join(map(describe, values)) or 'nothing'}")
    return len(values[0])


def _number(kind: type, dtype: DType) -> Callable[..., Any]:
    def build(tracer: Tracer, *values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], str) and kind is not bool:
            return _parsed(kind, values[0])
        if len(values) != 1 or not is_tile_like(values[0]) or isinstance(values[0], Tile) and values[0].shape:
            raise TileTypeError(
                f"'{kind.__name__}' takes a scalar, got {', '.join(map(describe, values)) or 'nothing'}"
            )
        (value,) = values
        if is_number(value) or isinstance(value, TypedConstant):
            return kind(known(value))
        return to_dtype(tracer.emitter, value, dtype)

    return build


def _parsed(kind: type, text: str) -> Any:
    """`float('-inf')` and the like."""
    try:
        return kind(text)
    except ValueError as problem:
        raise TileValueError(f"'{kind.__name__}': {problem}") from problem


def _tuple(tracer: Tracer, *values: Any) -> tuple[Any, ...]:
    if not values:
        return ()
    if len(values) != 1 or not isinstance(values[0], tuple | list):
        raise TileTypeError(f"'tuple' takes a tuple, got {', '.join(map(describe, values))}")
    return tuple(values[0])


def _sum(tracer: Tracer, *values: Any) -> None:
    raise TileTypeError("'sum' of Python cannot be used in a kernel: along axes of a tile use ct.sum")


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range,
    min: _extreme("min"),
    max: _extreme("max"),
    len: _length,
    int: _number(int, datatypes.int32),
    float: _number(float, datatypes.float32),
    bool: _number(bool, datatypes.bool_),
    tuple: _tuple,
    sum: _sum,
}
