"""Builds reductions of tiles along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan, prod

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import AttributeValue, Emitter, check_groups, element_attribute, tile_type
from tilec.ast_to_tile.operations.arith import binary, compare, float_attributes, select
from tilec.ast_to_tile.operations.convert import implicit, named_type_value, to_dtype
from tilec.ast_to_tile.operations.reduction_body import check_reduction_body
from tilec.ast_to_tile.operations.shape import broadcast, common_shape, iota, reshape
from tilec.ast_to_tile.registry import implements, implements_each
from tilec.ast_to_tile.values.values import (
    KernelValue,
    Number,
    Shape,
    Tile,
    describe,
    function_name,
    is_number,
    shape_of,
)
from tilec.dialect.fields import MANY_RUNS
from tilec.dialect.mlir import ir
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.operations import reduce as language

# Combines two groups of scalars, one scalar per reduced tile.
Combine = Callable[[Sequence[Tile], Sequence[Tile]], Sequence[Tile]]


def reduce_axis(
    emitter: Emitter, tiles: Sequence[Tile], identities: Sequence[Number], axis: int, combine: Combine
) -> list[Tile]:
    """Reduces several tiles of one shape along `axis` in one operation."""
    shape = tiles[0].shape[:axis] + tiles[0].shape[axis + 1 :]
    return combined_along(emitter, "reduce", tiles, shape, identities, {"dim": axis}, combine)


def combined_along(
    emitter: Emitter,
    operation: str,
    tiles: Sequence[Tile],
    shape: Shape,
    identities: Sequence[Number],
    attributes: dict[str, AttributeValue],
    combine: Combine,
) -> list[Tile]:
    """Builds a `reduce` or `scan` of several tiles with the body `combine`; returns its results of shape `shape`."""
    results = [tile_type(tile.dtype, shape) for tile in tiles]
    check_groups(results, f"'ct.{operation}' takes", MANY_RUNS)
    values = [element_attribute(value, tile.dtype) for value, tile in zip(identities, tiles, strict=True)]
    attributes = attributes | {"identities": ir.ArrayAttr.get(values)}
    made = emitter.build(operation, [[tile.value for tile in tiles]], [results], attributes)
    _fill_body(emitter, made, tiles, combine)
    check_reduction_body(operation, made.regions[0].blocks[0])
    return [Tile(value, tile.dtype, shape) for value, tile in zip(made.results, tiles, strict=True)]


def _fill_body(emitter: Emitter, made: ir.Operation, tiles: Sequence[Tile], combine: Combine) -> None:
    """Builds the body of a `reduce` or `scan`: the operations of `combine`, and the `yield` of their results."""
    types = [tile_type(tile.dtype) for tile in tiles for _ in range(2)]
    location = emitter.locate()
    block = ir.Block.create_at_start(made.regions[0], types, [location] * len(types))
    scalars = [Tile(value, tiles[at // 2].dtype, ()) for at, value in enumerate(block.arguments)]
    outer, emitter.reduction = emitter.reduction, made.name.removeprefix("cuda_tile.")
    try:
        with ir.InsertionPoint(block):
            combined = combine(scalars[0::2], scalars[1::2])
            emitter.build("yield", [value.value for value in combined])
    finally:
        emitter.reduction = outer


def _axes(axis: KernelValue, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    items = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(arguments.axis(item, rank) for item in items)
    if len(set(axes)) != len(axes):
        raise BadArgument("axis", f"expected each axis once, got {axes}")
    return axes


def _kept(shape: Shape, axes: tuple[int, ...], keepdims: KernelValue) -> Shape:
    keep = arguments.constant_bool(keepdims, "keepdims")
    return tuple(1 if at in axes else extent for at, extent in enumerate(shape) if keep or at not in axes)


def _limits(dtype: DType) -> tuple[Number, Number]:
    return (-inf, inf) if dtype.is_float else dtype.range


_IDENTITIES: dict[str, Callable[[DType], Number]] = {
    "add": lambda dtype: 0,
    "mul": lambda dtype: 1,
    "max": lambda dtype: _limits(dtype)[0],
    "min": lambda dtype: _limits(dtype)[1],
}


def _reduction(
    name: str, emitter: Emitter, x: KernelValue, axis: KernelValue, keepdims: KernelValue, **options: KernelValue
) -> Tile:
    tile = reducible(emitter, x)
    axes = _axes(axis, len(tile.shape))
    shape = _kept(tile.shape, axes, keepdims)
    identity, combine = operation_combination(emitter, name, tile.dtype, options)
    # Reducing the last axis first keeps the indices of the remaining axes.
    for at in sorted(axes, reverse=True):
        (tile,) = reduce_axis(emitter, [tile], [identity], at, combine)
    return reshape(emitter, tile, shape)


def operation_combination(
    emitter: Emitter, name: str, dtype: DType, options: dict[str, KernelValue]
) -> tuple[Number, Combine]:
    """The identity and body of a reduction by a binary operation; raises TileTypeError for invalid options."""
    # The options are checked before the body is built, so that an error has the location of the call.
    if dtype.is_float:
        float_attributes(dtype, options, ("nearest_even", "zero", "negative_inf", "positive_inf"))
    elif options.get("rounding_mode") is not None or options.get("flush_to_zero"):
        raise TileTypeError(f"rounding_mode and flush_to_zero are for floats, got {dtype}")
    return _IDENTITIES[name](dtype), lambda x, y: [binary(emitter, name, x[0], y[0], **options)]


def reducible(emitter: Emitter, x: KernelValue) -> Tile:
    """The operand of a reduction or scan: a tile with arithmetic; bool is converted to int32."""
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    if not tile.dtype.is_arithmetic:
        raise BadArgument("x", f"{tile.dtype} has no arithmetic: convert with astype() first")
    return to_dtype(emitter, tile, datatypes.int32) if tile.dtype.is_boolean else tile


# The binary operation of each reduction.
_REDUCTIONS: dict[Callable[..., object], str] = {
    language.sum: "add",
    language.prod: "mul",
    language.max: "max",
    language.min: "min",
}


implements_each(_REDUCTIONS, _reduction)

# The comparison that is true for the element whose index is returned.
_INDEX_REDUCTIONS: dict[Callable[..., object], str] = {language.argmax: "gt", language.argmin: "lt"}


def _index_reduction(
    better: str, emitter: Emitter, x: KernelValue, axis: KernelValue, keepdims: KernelValue, propagate_nan: KernelValue
) -> Tile:
    tile = reducible(emitter, x)
    rank = len(tile.shape)
    axes = _axes(None if axis is None else arguments.constant_int(axis, "axis"), rank)
    shape = _kept(tile.shape, axes, keepdims)
    flat = tile if axis is not None else reshape(emitter, tile, (prod(tile.shape),))
    at = axes[0] if axis is not None else 0
    line = tuple(extent if dimension == at else 1 for dimension, extent in enumerate(flat.shape))
    positions = broadcast(emitter, reshape(emitter, iota(emitter, flat.shape[at]), line), flat.shape)
    nan_wins = arguments.constant_bool(propagate_nan, "propagate_nan")
    # Every element wins over the identity: it has the worst value and the largest index.
    worst = nan if flat.dtype.is_float and not nan_wins else _IDENTITIES["max" if better == "gt" else "min"](flat.dtype)
    identities = [worst, datatypes.int32.range[1]]

    def combine(x: Sequence[Tile], y: Sequence[Tile]) -> Sequence[Tile]:
        first = _first_wins(emitter, better, x, y, nan_wins)
        return [select(emitter, first, a, b) for a, b in zip(x, y, strict=True)]

    _, position = reduce_axis(emitter, [flat, positions], identities, at, combine)
    return reshape(emitter, position, shape)


implements_each(_INDEX_REDUCTIONS, _index_reduction)


def _first_wins(emitter: Emitter, better: str, x: Sequence[Tile], y: Sequence[Tile], nan_wins: bool) -> Tile:
    """Whether pair (value, index) x wins over y: by value, then by lower index; NaN is the best or the worst value."""
    (a, i), (b, j) = x, y
    wins, equal = compare(emitter, better, a, b), compare(emitter, "eq", a, b)
    if a.dtype.is_float:
        a_nan, b_nan = compare(emitter, "ne", a, a), compare(emitter, "ne", b, b)
        only_one = binary(
            emitter, "and", a_nan if nan_wins else b_nan, compare(emitter, "eq", *([b, b] if nan_wins else [a, a]))
        )
        wins = binary(emitter, "or", wins, only_one)
        equal = binary(emitter, "or", equal, binary(emitter, "and", a_nan, b_nan))
    earlier = binary(emitter, "and", equal, compare(emitter, "lt", i, j))
    return binary(emitter, "or", wins, earlier)


def user_combination(
    emitter: Emitter, x: KernelValue, func: KernelValue, identity: KernelValue
) -> tuple[list[Tile], list[Number], Combine]:
    """The tiles, identities and body of a reduction by a user function; raises BadArgument if their counts differ."""
    many = isinstance(x, tuple)
    tiles = [arguments.tile(item, "x") for item in (x if isinstance(x, tuple) else (x,))]
    if not tiles:
        raise BadArgument("x", "expected a tile or a tuple of tiles, got an empty tuple")
    shape = arguments.at("x", common_shape, *(tile.shape for tile in tiles))
    tiles = [broadcast(emitter, tile, shape) for tile in tiles]
    constants = [_identity(item) for item in (identity if isinstance(identity, tuple) else (identity,))]
    if len(constants) != len(tiles):
        raise BadArgument("identity", f"expected {len(tiles)} constants, one per tile, got {len(constants)}")
    identities = [
        arguments.at("identity", named_type_value, emitter, constant, tile.dtype)
        for constant, tile in zip(constants, tiles, strict=True)
    ]

    def combine(x: Sequence[Tile], y: Sequence[Tile]) -> Sequence[Tile]:
        combined = emitter.call(func, [*x, *y])
        return _scalars(emitter, func, combined if many else (combined,), tiles)

    return tiles, identities, combine


def _identity(value: KernelValue) -> Number:
    number = arguments.known(value)
    if not is_number(number):
        raise BadArgument("identity", f"expected constants, got {describe(value)}")
    return number


@implements(language.reduce)
def _reduce(
    emitter: Emitter, x: KernelValue, axis: KernelValue, func: KernelValue, identity: KernelValue, keepdims: KernelValue
) -> Tile | tuple[Tile, ...]:
    tiles, identities, combine = user_combination(emitter, x, func, identity)
    shape = tiles[0].shape
    at = arguments.axis(axis, len(shape))
    results = reduce_axis(emitter, tiles, identities, at, combine)
    kept = _kept(shape, (at,), keepdims)
    reduced = tuple(reshape(emitter, tile, kept) for tile in results)
    return reduced if isinstance(x, tuple) else reduced[0]


def _scalars(emitter: Emitter, func: KernelValue, made: KernelValue, tiles: Sequence[Tile]) -> Sequence[Tile]:
    if not isinstance(made, tuple) or len(made) != len(tiles):
        raise BadArgument(
            "func", f"expected '{function_name(func)}' to return {len(tiles)} values, got {describe(made)}"
        )
    for item in made:
        if shape_of(item):
            raise BadArgument("func", f"expected '{function_name(func)}' to return scalars, got {describe(item)}")
    return [
        arguments.at("func", implicit, emitter, arguments.tile_like(item, "func"), tile.dtype)
        for item, tile in zip(made, tiles, strict=True)
    ]
