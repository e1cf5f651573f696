"""Folding tiles along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.arith import binary, compare, float_attributes, select
from tilec.ast_to_tile.convert import to_dtype
from tilec.ast_to_tile.emitter import Emitter, element_attribute, tile_type
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.shape import broadcast, common_shape, iota, reshape
from tilec.ast_to_tile.values import Shape, Tile, describe, function_name
from tilec.dialect.mlir import ir
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language import reduce as language
from tilec.language.datatypes import DType

# Takes two groups of scalars and gives the combined group.
Combine = Callable[[Sequence[Tile], Sequence[Tile]], Sequence[Tile]]


def fold(emitter: Emitter, tiles: Sequence[Tile], identities: Sequence[Any], axis: int, combine: Combine) -> list[Tile]:
    """Each tile without `axis`, folded together with the others."""
    shape = tiles[0].shape[:axis] + tiles[0].shape[axis + 1 :]
    results = [tile_type(tile.dtype, shape) for tile in tiles]
    values = [element_attribute(value, tile.dtype) for value, tile in zip(identities, tiles, strict=True)]
    attributes = {"dim": axis, "identities": ir.ArrayAttr.get(values)}
    made = emitter.build("reduce", [[tile.value for tile in tiles]], [results], attributes)
    fill_body(emitter, made, tiles, combine)
    return [Tile(value, tile.dtype, shape) for value, tile in zip(made.results, tiles, strict=True)]


def fill_body(emitter: Emitter, made: ir.Operation, tiles: Sequence[Tile], combine: Combine) -> None:
    types = [tile_type(tile.dtype) for tile in tiles for _ in range(2)]
    location = emitter.locate()
    block = ir.Block.create_at_start(made.regions[0], types, [location] * len(types))
    scalars = [Tile(value, tiles[at // 2].dtype, ()) for at, value in enumerate(block.arguments)]
    with ir.InsertionPoint(block):
        combined = combine(scalars[0::2], scalars[1::2])
        emitter.build("yield", [value.value for value in combined])


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    items = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(arguments.axis(item, rank) for item in items)
    if len(set(axes)) != len(axes):
        raise BadArgument("axis", f"expected each axis once, got {axes}")
    return axes


def _kept(shape: Shape, axes: tuple[int, ...], keepdims: Any) -> Shape:
    keep = arguments.constant_bool(keepdims, "keepdims")
    return tuple(1 if at in axes else extent for at, extent in enumerate(shape) if keep or at not in axes)


def _limits(dtype: DType) -> tuple[Any, Any]:
    return (-inf, inf) if dtype.is_float else dtype.range


IDENTITIES: dict[str, Callable[[DType], Any]] = {
    "add": lambda dtype: 0,
    "mul": lambda dtype: 1,
    "max": lambda dtype: _limits(dtype)[0],
    "min": lambda dtype: _limits(dtype)[1],
}


def _reduced(emitter: Emitter, name: str, x: Any, axis: Any, keepdims: Any, options: dict[str, Any]) -> Tile:
    tile = foldable(emitter, x)
    axes = _axes(axis, len(tile.shape))
    shape = _kept(tile.shape, axes, keepdims)
    check_options(name, tile.dtype, options)
    identity = IDENTITIES[name](tile.dtype)
    # The last axis first, so that the numbers of the others stay right.
    for at in sorted(axes, reverse=True):
        (tile,) = fold(emitter, [tile], [identity], at, lambda x, y: [binary(emitter, name, x[0], y[0], **options)])
    return reshape(emitter, tile, shape)


def check_options(name: str, dtype: DType, options: dict[str, Any]) -> None:
    """Complain at the call, not inside the fold."""
    if dtype.is_float:
        float_attributes(name, dtype, options, ("nearest_even", "zero", "negative_inf", "positive_inf"))
    elif options.get("rounding_mode") is not None or options.get("flush_to_zero"):
        raise TileTypeError(f"rounding_mode and flush_to_zero are for floats, got {dtype}")


def foldable(emitter: Emitter, x: Any) -> Tile:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    if not tile.dtype.is_arithmetic:
        raise BadArgument("x", f"{tile.dtype} has no arithmetic: convert with astype() first")
    return to_dtype(emitter, tile, datatypes.int32) if tile.dtype.is_boolean else tile


@implements(language.sum)
def _sum(emitter: Emitter, x: Any, axis: Any, keepdims: Any, **options: Any) -> Tile:
    return _reduced(emitter, "add", x, axis, keepdims, options)


@implements(language.prod)
def _prod(emitter: Emitter, x: Any, axis: Any, keepdims: Any, **options: Any) -> Tile:
    return _reduced(emitter, "mul", x, axis, keepdims, options)


@implements(language.max)
def _max(emitter: Emitter, x: Any, axis: Any, keepdims: Any, **options: Any) -> Tile:
    return _reduced(emitter, "max", x, axis, keepdims, options)


@implements(language.min)
def _min(emitter: Emitter, x: Any, axis: Any, keepdims: Any, **options: Any) -> Tile:
    return _reduced(emitter, "min", x, axis, keepdims, options)


@implements(language.argmax)
def _argmax(emitter: Emitter, x: Any, axis: Any, keepdims: Any, propagate_nan: Any) -> Tile:
    return _position(emitter, "gt", x, axis, keepdims, propagate_nan)


@implements(language.argmin)
def _argmin(emitter: Emitter, x: Any, axis: Any, keepdims: Any, propagate_nan: Any) -> Tile:
    return _position(emitter, "lt", x, axis, keepdims, propagate_nan)


def _position(emitter: Emitter, better: str, x: Any, axis: Any, keepdims: Any, propagate_nan: Any) -> Tile:
    tile = foldable(emitter, x)
    rank = len(tile.shape)
    axes = _axes(None if axis is None else arguments.constant_int(axis, "axis"), rank)
    shape = _kept(tile.shape, axes, keepdims)
    flat = tile if axis is not None else reshape(emitter, tile, (_size(tile.shape),))
    at = axes[0] if axis is not None else 0
    line = tuple(extent if dimension == at else 1 for dimension, extent in enumerate(flat.shape))
    positions = broadcast(emitter, reshape(emitter, iota(emitter, flat.shape[at]), line), flat.shape)
    nan_wins = arguments.constant_bool(propagate_nan, "propagate_nan")
    # The identity loses to every element: its value is the worst there is, and its index is above all.
    worst = nan if flat.dtype.is_float and not nan_wins else IDENTITIES["max" if better == "gt" else "min"](flat.dtype)
    identities = [worst, datatypes.int32.range[1]]

    def combine(x: Sequence[Tile], y: Sequence[Tile]) -> Sequence[Tile]:
        first = _first_wins(emitter, better, x, y, nan_wins)
        return [select(emitter, first, a, b) for a, b in zip(x, y, strict=True)]

    _, position = fold(emitter, [flat, positions], identities, at, combine)
    return reshape(emitter, position, shape)


def _first_wins(emitter: Emitter, better: str, x: Sequence[Tile], y: Sequence[Tile], nan_wins: bool) -> Tile:
    """Whether (value, index) x beats y: by its value, by its index where values are equal; NaN is best or worst."""
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


def _size(shape: Shape) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def own_fold(emitter: Emitter, x: Any, func: Any, identity: Any) -> tuple[list[Tile], list[Any], Combine]:
    """The tiles, identities and the body of a fold by a function of the user; raises BadArgument where they differ."""
    many = isinstance(x, tuple)
    tiles = [arguments.tile(item, "x") for item in (x if many else (x,))]
    shape = arguments.at("x", common_shape, *(tile.shape for tile in tiles))
    tiles = [broadcast(emitter, tile, shape) for tile in tiles]
    identities = [arguments.known(item) for item in (identity if isinstance(identity, tuple) else (identity,))]
    if len(identities) != len(tiles):
        raise BadArgument("identity", f"expected {len(tiles)} constants, one a tile, got {len(identities)}")

    def combine(x: Sequence[Tile], y: Sequence[Tile]) -> Sequence[Tile]:
        made = emitter.call(func, [*x, *y])
        return _scalars(emitter, func, made if many else (made,), tiles)

    return tiles, identities, combine


@implements(language.reduce)
def _reduce(emitter: Emitter, x: Any, axis: Any, func: Any, identity: Any, keepdims: Any) -> Any:
    tiles, identities, combine = own_fold(emitter, x, func, identity)
    shape = tiles[0].shape
    at = arguments.axis(axis, len(shape))
    results = fold(emitter, tiles, identities, at, combine)
    kept = _kept(shape, (at,), keepdims)
    folded = tuple(reshape(emitter, tile, kept) for tile in results)
    return folded if isinstance(x, tuple) else folded[0]


def _scalars(emitter: Emitter, func: Any, made: Any, tiles: Sequence[Tile]) -> Sequence[Tile]:
    if not isinstance(made, tuple) or len(made) != len(tiles):
        raise BadArgument("func", f"expected '{function_name(func)}' to give {len(tiles)} values, got {describe(made)}")
    scalars = [to_dtype(emitter, emitter.as_tile(item), tile.dtype) for item, tile in zip(made, tiles, strict=True)]
    for scalar in scalars:
        if scalar.shape:
            raise BadArgument("func", f"expected '{function_name(func)}' to give scalars, got {describe(scalar)}")
    return scalars
