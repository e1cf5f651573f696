"""Builds tiles, and operations on their shapes."""

from __future__ import annotations

import math

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter
from tilec.ast_to_tile.operations.convert import constant_tile, named_type_value, to_dtype
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.values import KernelValue, Operand, Shape, Tile, describe
from tilec.errors import TileTypeError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.operations import shape as language
from tilec.language.operations import view as view_language


def reshape(emitter: Emitter, tile: Tile, shape: Shape) -> Tile:
    """The same elements in another shape."""
    if tile.shape == shape:
        return tile
    return emitter.tile("reshape", [tile], tile.dtype, shape)


def broadcast(emitter: Emitter, tile: Tile, shape: Shape) -> Tile:
    """The tile broadcast to `shape` by the rules of numpy; raises CompileError if they do not allow it."""
    if len(tile.shape) > len(shape) or any(
        extent not in (1, expected) for extent, expected in zip(reversed(tile.shape), reversed(shape), strict=False)
    ):
        raise TileTypeError(f"shape {tile.shape} cannot be broadcast to {shape}")
    aligned = reshape(emitter, tile, (1,) * (len(shape) - len(tile.shape)) + tile.shape)
    return aligned if aligned.shape == shape else emitter.tile("broadcast", [aligned], tile.dtype, shape)


def operand(emitter: Emitter, value: Operand, dtype: DType, shape: Shape) -> Tile:
    """The operand converted to an element type and broadcast to a shape; a number becomes a splat constant."""
    if isinstance(value, Tile):
        return broadcast(emitter, to_dtype(emitter, value, dtype), shape)
    return constant_tile(emitter, value, dtype, shape)


def common_shape(*shapes: Shape) -> Shape:
    """The common broadcast shape; raises CompileError if there is none."""
    rank = max(map(len, shapes))
    common = []
    for extents in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        widest = max(extents)
        if any(extent not in (1, widest) for extent in extents):
            raise TileTypeError(f"shapes {' and '.join(map(str, shapes))} cannot be broadcast together")
        common.append(widest)
    return tuple(common)


def permute(emitter: Emitter, tile: Tile, axes: tuple[int, ...]) -> Tile:
    """Axis i of the result is axis axes[i]."""
    if axes == tuple(range(len(axes))):
        return tile
    return emitter.tile("permute", [tile], tile.dtype, tuple(tile.shape[a] for a in axes), permutation=list(axes))


def iota(emitter: Emitter, size: int) -> Tile:
    """0, 1, ... as int32."""
    return emitter.tile("iota", [], datatypes.int32, (size,))


@implements(language.full)
def _full(emitter: Emitter, shape: KernelValue, fill_value: KernelValue, dtype: KernelValue) -> Tile:
    extents = arguments.shape(shape)
    element = arguments.dtype(dtype)
    value = arguments.tile_like(fill_value, "fill_value")
    if not isinstance(value, Tile):
        return emitter.constant(arguments.at("fill_value", named_type_value, emitter, value, element), element, extents)
    if value.shape:
        raise BadArgument("fill_value", f"expected a scalar, got {describe(value)}")
    return broadcast(emitter, to_dtype(emitter, value, element), extents)


@implements(language.zeros)
def _zeros(emitter: Emitter, shape: KernelValue, dtype: KernelValue) -> Tile:
    return emitter.constant(0, arguments.dtype(dtype), arguments.shape(shape))


@implements(language.ones)
def _ones(emitter: Emitter, shape: KernelValue, dtype: KernelValue) -> Tile:
    return emitter.constant(1, arguments.dtype(dtype), arguments.shape(shape))


@implements(language.broadcast_to)
def _broadcast_to(emitter: Emitter, x: KernelValue, shape: KernelValue) -> Tile:
    return broadcast(emitter, emitter.as_tile(arguments.tile_like(x, "x")), arguments.shape(shape))


@implements(language.reshape)
def _reshape(emitter: Emitter, x: KernelValue, shape: KernelValue) -> Tile:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    extents = arguments.integers(shape, "shape")
    return reshape(emitter, tile, _complete(tile, extents))


def _complete(tile: Tile, extents: tuple[int, ...]) -> Shape:
    """The extents with -1 replaced by the remaining size."""
    size, given = math.prod(tile.shape), math.prod(extent for extent in extents if extent != -1)
    if extents.count(-1) > 1:
        raise BadArgument("shape", f"expected at most one extent of -1, got {extents}")
    if -1 in extents and given > 0 and size % given == 0:
        extents = tuple(size // given if extent == -1 else extent for extent in extents)
    if math.prod(extents) != size or any(extent < 1 for extent in extents):
        raise BadArgument(
            "shape", f"a tile of shape {tile.shape} has {size} elements and cannot be reshaped to {extents}"
        )
    return arguments.shape(extents)


@implements(language.permute)
def _permute(emitter: Emitter, x: KernelValue, axes: KernelValue) -> Tile:
    tile = arguments.tile(x, "x")
    return permute(emitter, tile, arguments.order(axes, len(tile.shape), "axes"))


@implements(language.transpose)
def _transpose(emitter: Emitter, x: KernelValue, axis0: KernelValue, axis1: KernelValue) -> Tile:
    tile = arguments.tile(x, "x")
    rank = len(tile.shape)
    if rank < 2:
        raise BadArgument("x", f"expected a tile of at least two dimensions, got {describe(tile)}")
    if (axis0 is None) != (axis1 is None) or axis0 is None and rank > 2:
        raise BadArgument("axis0", f"expected axis0 and axis1 for a tile of shape {tile.shape}")
    first, second = (
        (0, 1) if axis0 is None else (arguments.axis(axis0, rank, "axis0"), arguments.axis(axis1, rank, "axis1"))
    )
    axes = list(range(rank))
    axes[first], axes[second] = second, first
    return permute(emitter, tile, tuple(axes))


@implements(language.expand_dims)
def _expand_dims(emitter: Emitter, x: KernelValue, axis: KernelValue) -> Tile:
    tile = emitter.as_tile(arguments.tile_like(x, "x"))
    at = arguments.axis(axis, len(tile.shape) + 1)
    return reshape(emitter, tile, (*tile.shape[:at], 1, *tile.shape[at:]))


def index_with_new_axes(emitter: Emitter, tile: Tile, key: KernelValue) -> Tile:
    """`tile[:, None]`: a new axis of extent 1 for each None; other subscripts are not supported."""
    items = key if isinstance(key, tuple) else (key,)
    if (
        isinstance(key, slice)
        or items.count(...) > 1
        or any(item is not None and item is not ... and item != slice(None) for item in items)
    ):
        raise TileTypeError("a tile subscript takes only ':', '...' and None: for parts of a tile use ct.extract")
    kept = sum(item == slice(None) for item in items)
    if kept > len(tile.shape):
        raise TileTypeError(f"expected at most {len(tile.shape)} ':' for a tile of shape {tile.shape}, got {kept}")
    items = items if ... in items else (*items, ...)
    at = items.index(...)
    rest = len(tile.shape) - kept
    shape: list[int] = []
    extents = iter(tile.shape)
    for item in (*items[:at], *[slice(None)] * rest, *items[at + 1 :]):
        shape.append(1 if item is None else next(extents))
    return reshape(emitter, tile, tuple(shape))


@implements(language.cat)
def _cat(emitter: Emitter, tiles: KernelValue, axis: KernelValue) -> Tile:
    if not isinstance(tiles, tuple) or len(tiles) not in (1, 2):
        raise BadArgument("tiles", f"expected a tuple of one or two tiles, got {describe(tiles)}")
    first, *others = (arguments.tile(item, "tiles") for item in tiles)
    at = arguments.axis(axis, len(first.shape))
    if not others:
        return first
    (second,) = others
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        raise BadArgument("tiles", f"expected two tiles of one type and shape, got {first} and {second}")
    shape = tuple(extent * 2 if dimension == at else extent for dimension, extent in enumerate(first.shape))
    return emitter.tile("cat", [first, second], first.dtype, shape, dim=at)


@implements(language.extract)
def _extract(emitter: Emitter, x: KernelValue, index: KernelValue, shape: KernelValue) -> Tile:
    tile = arguments.tile(x, "x")
    rank = len(tile.shape)
    result_shape = arguments.shape(shape, rank=rank)
    part = result_shape or (1,) * rank
    indices = _part_indices(emitter, tile.shape, part, index, "shape")
    return reshape(emitter, emitter.tile("extract", [tile, *indices], tile.dtype, part), result_shape)


@implements(language.insert)
def _insert(emitter: Emitter, x: KernelValue, index: KernelValue, value: KernelValue) -> Tile:
    tile = arguments.tile(x, "x")
    rank = len(tile.shape)
    given = value if isinstance(value, Tile) else emitter.as_tile(arguments.tile_like(value, "value"), tile.dtype)
    if given.dtype is not tile.dtype:
        raise BadArgument("value", f"expected elements of {tile.dtype} like x, got {given.dtype}")
    part = reshape(emitter, given, given.shape or (1,) * rank)
    if len(part.shape) != rank:
        raise BadArgument("value", f"expected a tile of {rank} dimensions like x, got {given}")
    indices = _part_indices(emitter, tile.shape, part.shape, index, "value")
    return emitter.tile("insert", [part, tile, *indices], tile.dtype, tile.shape)


def _part_indices(emitter: Emitter, whole: Shape, part: Shape, index: KernelValue, parameter: str) -> list[Tile]:
    """Indices into the grid of parts of a tile; raises BadArgument if a constant index is out of range."""
    items = arguments.index(index, len(whole))
    for size, extent, item in zip(whole, part, items, strict=True):
        if extent > size:
            raise BadArgument(parameter, f"expected extents of at most {whole}, got {part}")
        number, count = arguments.known(item), size // extent
        if isinstance(number, int) and not 0 <= number < count:
            raise BadArgument("index", f"expected an index of 0 to {count - 1} ({size} / {extent}), got {number}")
    return [to_dtype(emitter, item, datatypes.int32) for item in items]


@implements(view_language.Tile.item)
def _item(emitter: Emitter, self: Operand) -> Tile:
    tile = emitter.as_tile(self)
    if math.prod(tile.shape) != 1:
        raise TileTypeError(f"'item' takes a tile of one element, got {describe(self)}")
    return reshape(emitter, tile, ())
