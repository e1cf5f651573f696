"""Builds loads, stores, gathers and scatters, and the functions of the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import AttributeValue, Emitter, tile_type
from tilec.ast_to_tile.operations import im2col, packed
from tilec.ast_to_tile.operations.accesses import (
    LOAD_ORDERS,
    STORE_ORDERS,
    access_attributes,
    check_inapplicable,
    to_store,
    view_indices,
)
from tilec.ast_to_tile.operations.convert import check_implicit
from tilec.ast_to_tile.operations.pointers import addresses
from tilec.ast_to_tile.operations.shape import broadcast, operand, reshape
from tilec.ast_to_tile.operations.view import tile_view, tiles_along
from tilec.ast_to_tile.registry import implements, implements_each
from tilec.ast_to_tile.values.values import (
    Array,
    Im2colView,
    KernelValue,
    Operand,
    PackedView,
    Shape,
    Tile,
    TiledView,
    describe,
)
from tilec.dialect.cuda_tile.attributes import DivByAttr
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.errors import TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import PaddingMode
from tilec.language.operations import memory as language
from tilec.language.operations import view as view_language

# Function -> the operation whose three results are the coordinates or the extents.
_GRID: dict[Callable[..., object], str] = {
    language.bid: "get_tile_block_id",
    language.num_blocks: "get_num_tile_blocks",
}


def _grid(operation: str, emitter: Emitter, axis: KernelValue) -> Tile:
    at = arguments.constant_int(axis, "axis")
    if not 0 <= at <= 2:
        raise BadArgument("axis", f"expected 0, 1 or 2, got {at}")
    made = emitter.build(operation, [], [tile_type(datatypes.int32)] * 3)
    return Tile(made.results[at], datatypes.int32, ())


implements_each(_GRID, _grid)


@implements(language.num_tiles)
def _num_tiles(
    emitter: Emitter, array: KernelValue, axis: KernelValue, shape: KernelValue, order: KernelValue
) -> KernelValue:
    source = arguments.array(array)
    rank = len(source.shape)
    extents = arguments.shape(shape, rank=rank) or (1,) * rank
    at = arguments.axis(axis, rank)
    return tiles_along(emitter, source.shape[arguments.order(order, rank)[at]], extents[at])


@implements(language.load)
def _load(
    emitter: Emitter,
    array: KernelValue,
    index: KernelValue,
    shape: KernelValue,
    order: KernelValue,
    padding_mode: KernelValue,
    check_bounds: KernelValue,
    offset: KernelValue,
    **options: KernelValue,
) -> Tile:
    layout = {"shape": shape, "order": order, "padding_mode": padding_mode, "check_bounds": check_bounds}
    if isinstance(array, Im2colView):
        check_inapplicable("an im2col view", im2col.INAPPLICABLE, {**layout, **options})
        return im2col.load(array, emitter, index, offset, **options)
    if isinstance(array, PackedView):
        check_inapplicable("a packed view", packed.INAPPLICABLE, {**layout, "offset": offset, **options})
        return packed.load(array, emitter, index, **options)
    source = _array_without_offset(array, offset)
    if shape is None:
        raise BadArgument("shape", "expected the extents of the tile to load from an array, got none")
    rank = len(source.shape)
    result_shape = arguments.shape(shape, rank=rank)
    items = arguments.index(index, rank)
    if rank == 0:
        return load_pointer(emitter, source, source.pointer, (), None, None, options)
    extents = result_shape or (1,) * rank
    padding = arguments.keyword(padding_mode, PaddingMode, "padding_mode")
    view = tile_view(emitter, source, extents, arguments.order(order, rank), padding, extents)
    return _load_view(emitter, source, view, items, extents, result_shape, check_bounds, options)


def _array_without_offset(array: KernelValue, offset: KernelValue) -> Array:
    source = arguments.array(array)
    if offset is not None:
        raise BadArgument("offset", f"expected an offset for im2col views only, got {source}: use ct.im2col_view")
    return source


@implements(view_language.TiledView.load)
def _view_load(
    self: TiledView, emitter: Emitter, index: KernelValue, check_bounds: KernelValue, **options: KernelValue
) -> Tile:
    rank = len(self.array.shape)
    extents = self.tile_shape or (1,) * rank
    items = arguments.index(index, rank)
    view = tile_view(emitter, self.array, extents, tuple(range(rank)), self.padding_mode, self.traversal_steps)
    return _load_view(emitter, self.array, view, items, extents, self.tile_shape, check_bounds, options)


def _load_view(
    emitter: Emitter,
    array: Array,
    view: ir.Value,
    items: Sequence[Operand],
    extents: Shape,
    result_shape: Shape,
    check_bounds: KernelValue,
    options: dict[str, KernelValue],
) -> Tile:
    operands = [view, view_indices(emitter, items), None]
    results = [tile_type(array.dtype, extents), TokenType.get()]
    attributes = access_attributes(options, LOAD_ORDERS) | _inbounds(check_bounds, len(items))
    loaded = emitter.build("load_view_tko", operands, results, attributes)
    return reshape(emitter, Tile(loaded.results[0], array.dtype, extents), result_shape)


@implements(language.store)
def _store(
    emitter: Emitter,
    array: KernelValue,
    index: KernelValue,
    tile: KernelValue,
    order: KernelValue,
    check_bounds: KernelValue,
    offset: KernelValue,
    **options: KernelValue,
) -> None:
    layout = {"order": order, "check_bounds": check_bounds}
    if isinstance(array, Im2colView):
        check_inapplicable("an im2col view", im2col.INAPPLICABLE, {**layout, **options})
        return im2col.store(array, emitter, index, tile, offset, **options)
    if isinstance(array, PackedView):
        check_inapplicable("a packed view", packed.INAPPLICABLE, {**layout, "offset": offset, **options})
        return packed.store(array, emitter, index, tile, **options)
    target = _array_without_offset(array, offset)
    rank = len(target.shape)
    value = to_store(emitter, tile, target.dtype)
    items = arguments.index(index, rank)
    if rank == 0:
        return store_pointer(emitter, target.pointer, value, None, options)
    if value.shape and len(value.shape) != rank:
        raise BadArgument("tile", f"expected a tile of {rank} dimensions like array '{target.name}', got {value}")
    extents = value.shape or (1,) * rank
    view = tile_view(emitter, target, extents, arguments.order(order, rank), PaddingMode.UNDETERMINED, extents)
    _store_view(emitter, reshape(emitter, value, extents), view, items, check_bounds, options)


@implements(view_language.TiledView.store)
def _view_store(
    self: TiledView,
    emitter: Emitter,
    index: KernelValue,
    tile: KernelValue,
    check_bounds: KernelValue,
    **options: KernelValue,
) -> None:
    rank = len(self.array.shape)
    extents = self.tile_shape or (1,) * rank
    value = arguments.at("tile", broadcast, emitter, to_store(emitter, tile, self.array.dtype), extents)
    items = arguments.index(index, rank)
    padding = PaddingMode.UNDETERMINED
    view = tile_view(emitter, self.array, extents, tuple(range(rank)), padding, self.traversal_steps)
    _store_view(emitter, value, view, items, check_bounds, options)


def _store_view(
    emitter: Emitter,
    value: Tile,
    view: ir.Value,
    items: Sequence[Operand],
    check_bounds: KernelValue,
    options: dict[str, KernelValue],
) -> None:
    operands = [value.value, view, view_indices(emitter, items), None]
    attributes = access_attributes(options, STORE_ORDERS) | _inbounds(check_bounds, len(items))
    emitter.build("store_view_tko", operands, [TokenType.get()], attributes)


def _inbounds(check_bounds: KernelValue, rank: int) -> dict[str, AttributeValue]:
    return {} if arguments.constant_bool(check_bounds, "check_bounds") else {"inbounds": [True] * rank}


@implements(language.gather)
def _gather(
    emitter: Emitter,
    array: KernelValue,
    indices: KernelValue,
    mask: KernelValue,
    padding_value: KernelValue,
    check_bounds: KernelValue,
    **options: KernelValue,
) -> Tile:
    source = arguments.array(array)
    pointers, shape, chosen = addresses(emitter, source, indices, mask, check_bounds)
    padding = None
    if chosen is not None:
        padding = to_index_shape(emitter, padding_value, "padding_value", source.dtype, shape)
    return load_pointer(emitter, source, pointers, shape, chosen, padding, options)


@implements(language.scatter)
def _scatter(
    emitter: Emitter,
    array: KernelValue,
    indices: KernelValue,
    value: KernelValue,
    mask: KernelValue,
    check_bounds: KernelValue,
    **options: KernelValue,
) -> None:
    target = arguments.array(array)
    pointers, shape, chosen = addresses(emitter, target, indices, mask, check_bounds)
    store_pointer(emitter, pointers, to_index_shape(emitter, value, "value", target.dtype, shape), chosen, options)


def to_index_shape(emitter: Emitter, value: KernelValue, parameter: str, dtype: DType, shape: Shape) -> Tile:
    """The argument converted to the element type of the array and broadcast to the shape of the indices."""
    checked = arguments.tile_like(value, parameter)
    arguments.at(parameter, check_implicit, checked, dtype)
    return arguments.at(parameter, operand, emitter, checked, dtype, shape)


def load_pointer(
    emitter: Emitter,
    array: Array,
    pointers: ir.Value,
    shape: Shape,
    mask: Tile | None,
    padding: Tile | None,
    options: dict[str, KernelValue],
) -> Tile:
    """Loads the elements of an array at pointers."""
    operands = [pointers, mask and mask.value, padding and padding.value, None]
    results = [tile_type(array.dtype, shape), TokenType.get()]
    loaded = emitter.build("load_ptr_tko", operands, results, access_attributes(options, LOAD_ORDERS))
    return Tile(loaded.results[0], array.dtype, shape)


def store_pointer(
    emitter: Emitter, pointers: ir.Value, value: Tile, mask: Tile | None, options: dict[str, KernelValue]
) -> None:
    """Stores the elements of a tile at pointers."""
    operands = [pointers, value.value, mask and mask.value, None]
    emitter.build("store_ptr_tko", operands, [TokenType.get()], access_attributes(options, STORE_ORDERS))


@implements(language.assume_divisible_by)
def _assume_divisible_by(emitter: Emitter, x: KernelValue, divisor: KernelValue) -> KernelValue:
    factor = arguments.constant_int(divisor, "divisor")
    if factor < 1 or factor & (factor - 1):
        raise BadArgument("divisor", f"expected a power of two, got {factor}")
    number = arguments.known(x)
    if isinstance(number, int):
        if number % factor:
            raise TileValueError(f"{number} is not divisible by {factor}")
        return x
    if not isinstance(x, Tile) or x.shape or not x.dtype.is_integral:
        raise BadArgument("x", f"expected an integer scalar, got {describe(x)}")
    assumption = {"predicate": DivByAttr.get(factor)}
    return Tile(emitter.build("assume", [x.value], [x.value.type], assumption).results[0], x.dtype, ())
