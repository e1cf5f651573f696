"""The Python builtins that kernels may call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.ast_to_tile.arguments import is_integer_scalar, known
from tilec.ast_to_tile.operations.arith import binary
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operators import FUNCTIONS, special_method
from tilec.ast_to_tile.values.attributes import attribute
from tilec.ast_to_tile.values.value_text import representation_of, text_of
from tilec.ast_to_tile.values.values import (
    ArrayList,
    KernelValue,
    Number,
    Operand,
    Range,
    Record,
    Tile,
    describe,
    is_tile_like,
    shape_of,
)
from tilec.errors import TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer


def _range(tracer: Tracer, *bounds: KernelValue) -> Range:
    if not 1 <= len(bounds) <= 3:
        raise TileTypeError(f"'range' takes one to three arguments, got {len(bounds)}")
    scalars = [_integer_scalar(bound) for bound in bounds]
    start, stop, step = (0, scalars[0], 1) if len(scalars) == 1 else (*scalars, 1)[:3]
    constant_step = known(step)
    if isinstance(constant_step, int) and constant_step < 1:
        raise TileTypeError(f"the step of 'range' must be positive, got {constant_step}: count upwards and subtract")
    return Range(start, stop, step)


def _integer_scalar(bound: KernelValue) -> Operand:
    if not is_integer_scalar(bound):
        raise TileTypeError(f"'range' takes integer scalars, got {describe(bound)}")
    return bound


def _extreme(name: str) -> Callable[..., Operand]:
    def build(tracer: Tracer, *values: KernelValue) -> Operand:
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        operands = [item for item in items if is_tile_like(item)]
        if len(items) < 2 or len(operands) != len(items):
            invalid = next((item for item in items if not is_tile_like(item)), None)
            got = f", got {describe(invalid)}" if invalid is not None else f": along an axis of a tile use ct.{name}"
            raise TileTypeError(f"'{name}' takes two or more tiles or numbers{got}")
        return functools.reduce(lambda x, y: binary(tracer.emitter, name, x, y), operands)

    return build


def _length(tracer: Tracer, *values: KernelValue) -> int | Tile:
    if len(values) == 1 and isinstance(values[0], ArrayList):
        return values[0].length
    if len(values) == 1 and isinstance(values[0], Record) and (method := special_method(values[0], "__len__")):
        return _checked_length(tracer.emitter.call(method, values))
    if len(values) != 1 or not isinstance(values[0], tuple | list | dict | str):
        raise TileTypeError(f"'len' takes a tuple, got {', '.join(map(describe, values)) or 'nothing'}")
    return len(values[0])


def _checked_length(length: KernelValue) -> int | Tile:
    value = known(length) if is_integer_scalar(length) else None
    if not isinstance(value, int | Tile):
        raise TileTypeError(f"'__len__' returns an integer, got {describe(length)}")
    return value


def _getattr(tracer: Tracer, value: KernelValue, name: KernelValue) -> KernelValue:
    if not isinstance(name, str):
        raise TileTypeError(f"'getattr' takes a constant name, got {describe(name)}")
    return attribute(tracer.emitter, value, name)


def _number(kind: type[Number], dtype: DType) -> Callable[..., Operand]:
    def build(tracer: Tracer, *values: KernelValue) -> Operand:
        if len(values) == 1 and isinstance(values[0], str) and kind is not bool:
            return _parsed(kind, values[0])
        value = values[0] if len(values) == 1 else None if values else kind()
        if not is_tile_like(value) or shape_of(value):
            raise TileTypeError(
                f"'{kind.__name__}' takes a scalar, got {', '.join(map(describe, values)) or 'nothing'}"
            )
        return to_dtype(tracer.emitter, value, dtype) if isinstance(value, Tile) else kind(known(value))

    return build


def _parsed(kind: type[Number], text: str) -> Number:
    """The number of a constant string, as in `float('-inf')`."""
    try:
        return kind(text)
    except ValueError as problem:
        raise TileValueError(f"'{kind.__name__}': {problem}") from problem


def _tuple(tracer: Tracer, *values: KernelValue) -> tuple[KernelValue, ...]:
    if not values:
        return ()
    if len(values) != 1 or not isinstance(values[0], tuple | list):
        raise TileTypeError(f"'tuple' takes a tuple, got {', '.join(map(describe, values))}")
    return tuple(values[0])


def _sum(tracer: Tracer, *values: KernelValue) -> None:
    raise TileTypeError("Python's 'sum' cannot be used in a kernel: along axes of a tile use ct.sum")


def _get(tracer: Tracer, mapping: KernelValue, key: KernelValue, default: KernelValue = None) -> KernelValue:
    if not isinstance(mapping, dict) or not isinstance(key, str):
        raise TileTypeError(
            f"'dict.get' takes a dictionary and a constant key, got {describe(mapping)}, {describe(key)}"
        )
    return mapping.get(key, default)


BUILTINS: dict[Callable[..., object], Callable[..., KernelValue]] = {
    range: _range,
    min: _extreme("min"),
    max: _extreme("max"),
    len: _length,
    int: _number(int, datatypes.int32),
    float: _number(float, datatypes.float32),
    bool: _number(bool, datatypes.bool_),
    tuple: _tuple,
    sum: _sum,
    str: lambda tracer, value: text_of(tracer.emitter, value),
    repr: lambda tracer, value: representation_of(tracer.emitter, value),
    slice: lambda tracer, *bounds: slice(*bounds),
    getattr: _getattr,
    dict.get: _get,
    **FUNCTIONS,
}
