"""The values of array parameters, and the arrays of lists, which are read from a table at run time."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.ast_to_tile.arguments import is_integer_scalar, known
from tilec.ast_to_tile.emitter import Emitter, pointer_type, tile_type
from tilec.ast_to_tile.operations.arith import binary
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.view import make_array
from tilec.ast_to_tile.values.values import Array, ArrayList, KernelValue, Tile, describe
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.runtime.arguments.arguments import ArrayArgument
from tilec.signature import dtype_named


def array_value(emitter: Emitter, argument: ArrayArgument, values: Iterator[ir.Value]) -> Array:
    """The array of the next pointer, extents and strides; properties in the signature become assumptions on them."""
    pointer = _assume(emitter, next(values), DivByAttr.get(argument.alignment) if argument.alignment > 1 else None)
    extents = _extents(emitter, argument, argument.shape, argument.shape_divisors, values)
    strides = _extents(emitter, argument, argument.strides, argument.stride_divisors, values)
    return make_array(emitter, argument.name, dtype_named(argument.element), pointer, extents, strides)


def _extents(
    emitter: Emitter,
    argument: ArrayArgument,
    fixed: tuple[int | None, ...],
    divisors: tuple[int, ...],
    values: Iterator[ir.Value],
) -> tuple[Tile | int, ...]:
    extents: list[Tile | int] = []
    for static, divisor in zip(fixed, divisors, strict=True):
        parameter = next(values)
        if static is not None:
            extents.append(static)
            continue
        bounded = _assume(emitter, parameter, BoundedAttr.get(0, None))
        # div_by takes powers of two only: the largest power of two that divides the divisor is used.
        power = divisor & -divisor
        multiple = _assume(emitter, bounded, DivByAttr.get(power) if power > 1 else None)
        extents.append(Tile(multiple, dtype_named(argument.index), ()))
    return tuple(extents)


def _assume(emitter: Emitter, value: ir.Value, predicate: ir.Attribute | None) -> ir.Value:
    if predicate is None:
        return value
    return emitter.build("assume", [value], [value.type], {"predicate": predicate}).results[0]


def list_item(emitter: Emitter, arrays: ArrayList, index: KernelValue) -> Array:
    """The array at an index, a constant or an integer scalar; negative constants count from the end."""
    if not is_integer_scalar(index):
        raise TileTypeError(f"expected an integer scalar as index of {describe(arrays)}, got {describe(index)}")
    position: KernelValue = index
    number = known(index)
    if isinstance(number, int) and number < 0:
        position = binary(emitter, "add", arrays.length, number)
    words = 1 + 2 * arrays.element.rank
    first = binary(emitter, "mul", to_dtype(emitter, emitter.as_tile(position), datatypes.int64), words)
    return array_value(emitter, arrays.element, _words(emitter, arrays, emitter.as_tile(first)))


def _words(emitter: Emitter, arrays: ArrayList, first: Tile) -> Iterator[ir.Value]:
    """The entry arguments that an array argument would have, read from the table where they are needed."""
    element = arrays.element
    address = _word(emitter, arrays, first, 0)
    yield emitter.build("int_to_ptr", [address.value], [pointer_type(dtype_named(element.element))]).results[0]
    for position, static in enumerate((*element.shape, *element.strides)):
        if static is None:
            word = _word(emitter, arrays, first, 1 + position)
            yield to_dtype(emitter, word, dtype_named(element.index)).value
        else:
            yield first.value


def _word(emitter: Emitter, arrays: ArrayList, first: Tile, position: int) -> Tile:
    offset = emitter.as_tile(binary(emitter, "add", first, position) if position else first)
    pointer = emitter.build("offset", [arrays.table, offset.value], [pointer_type(datatypes.int64)]).results[0]
    results = [tile_type(datatypes.int64), TokenType.get()]
    attributes = {"memory_ordering_semantics": "weak"}
    loaded = emitter.build("load_ptr_tko", [pointer, None, None, None], results, attributes)
    return Tile(loaded.results[0], datatypes.int64, ())
