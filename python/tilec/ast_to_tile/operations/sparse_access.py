"""Builds loads and stores of slices of an array that a tile of indices selects."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.operations.accesses import LOAD_ORDERS, STORE_ORDERS, access_attributes, view_indices
from tilec.ast_to_tile.operations.convert import implicit, to_dtype
from tilec.ast_to_tile.operations.view import sparse_view
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.values import Array, IndexSlice, KernelValue, Shape, Tile, describe
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.language import datatypes
from tilec.language.modes import PaddingMode
from tilec.language.operations import memory as language


@implements(language.Slice)
def _slice(emitter: Emitter, start: KernelValue, length: KernelValue) -> IndexSlice:
    (first,) = arguments.index((start,), 1, "start")
    (extent,) = arguments.shape((arguments.constant_int(length, "length"),), "length")
    return IndexSlice(first, extent)


@dataclass(frozen=True)
class _SparseIndex:
    """The indices of an access in Tile IR, the extents of its tile, and the dimension of the tile of indices."""

    values: list[ir.Value]
    shape: Shape
    dimension: int


def _sparse_index(emitter: Emitter, array: Array, indices: KernelValue) -> _SparseIndex:
    rank = len(array.shape)
    if rank < 2:
        raise BadArgument("array", f"expected two dimensions or more, got {array}: use ct.gather and ct.scatter")
    if not isinstance(indices, tuple) or len(indices) != rank:
        raise BadArgument("indices", f"expected one index per dimension, {rank} in all, got {describe(indices)}")
    for item in indices:
        if not isinstance(item, IndexSlice) and not _is_index_tile(item):
            expected = "an integer tile of one dimension or ct.Slice(start, length)"
            raise BadArgument("indices", f"expected {expected}, got {describe(item)}")
    tiles = [dimension for dimension, item in enumerate(indices) if isinstance(item, Tile)]
    if len(tiles) != 1:
        raise BadArgument("indices", f"expected one tile of indices, and slices for the others, got {len(tiles)} tiles")
    slices = iter(view_indices(emitter, [item.start for item in indices if isinstance(item, IndexSlice)]))
    values = [_index_tile(emitter, item) if isinstance(item, Tile) else next(slices) for item in indices]
    shape = tuple(item.shape[0] if isinstance(item, Tile) else item.length for item in indices)
    return _SparseIndex(values, shape, tiles[0])


def _index_tile(emitter: Emitter, tile: Tile) -> ir.Value:
    """Indices of 32 bits or more: the extension of a negative index, which Tile IR reads as unsigned, is outside."""
    return to_dtype(emitter, tile, datatypes.int32).value if tile.dtype.bitwidth < 32 else tile.value


def _is_index_tile(item: KernelValue) -> bool:
    return isinstance(item, Tile) and len(item.shape) == 1 and item.dtype.is_integral


@implements(language.load_advanced_indexing)
def _load(
    emitter: Emitter, array: KernelValue, indices: KernelValue, padding_mode: KernelValue, **options: KernelValue
) -> Tile:
    source = arguments.array(array)
    index = _sparse_index(emitter, source, indices)
    padding = arguments.keyword(padding_mode, PaddingMode, "padding_mode")
    view = sparse_view(emitter, source, index.shape, index.dimension, padding)
    results = [tile_type(source.dtype, index.shape), TokenType.get()]
    loaded = emitter.build(
        "load_view_tko", [view, index.values, None], results, access_attributes(options, LOAD_ORDERS)
    )
    return Tile(loaded.results[0], source.dtype, index.shape)


@implements(language.store_advanced_indexing)
def _store(
    emitter: Emitter, array: KernelValue, indices: KernelValue, tile: KernelValue, **options: KernelValue
) -> None:
    target = arguments.array(array)
    index = _sparse_index(emitter, target, indices)
    value = arguments.at("tile", implicit, emitter, arguments.tile_like(tile, "tile"), target.dtype)
    if value.shape != index.shape:
        raise BadArgument("tile", f"expected a tile of shape {index.shape}, that of the indices, got {value}")
    view = sparse_view(emitter, target, index.shape, index.dimension, PaddingMode.UNDETERMINED)
    operands = [value.value, view, index.values, None]
    emitter.build("store_view_tko", operands, [TokenType.get()], access_attributes(options, STORE_ORDERS))
