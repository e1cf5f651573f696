"""Views and their tiles: through registers, or by TMA; accesses of im2col views that TMA does not do are expanded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.tma import TmaPrefetchOp
from tilec.dialect.tile_gpu.operations.view import LoadViewOp, StoreViewOp
from tilec.lowering import emitter
from tilec.lowering.tile.simplify.mark_inbounds import proven_inbounds
from tilec.lowering.tile_to_gpu.access.alignment import access_vector, element_bits, per_byte
from tilec.lowering.tile_to_gpu.access.index import index_constant, index_of, of_one_width
from tilec.lowering.tile_to_gpu.access.memory_order import order_of
from tilec.lowering.tile_to_gpu.access.packing import padding_of, tile_of_bytes, tile_of_elements, type_of_bytes
from tilec.lowering.tile_to_gpu.access.pointers import address_of
from tilec.lowering.tile_to_gpu.access.sliced_tensors import Slice, list_item, slice_of
from tilec.lowering.tile_to_gpu.conversion.conversion import (
    Conversion,
    TensorView,
    TileView,
    converts,
    is_repeatable,
    runs_ahead,
)
from tilec.lowering.tile_to_gpu.conversion.declared_map import coordinates, declare_map, offsets
from tilec.lowering.tile_to_gpu.conversion.placed_tiles import load_by_tma, read_from_run, store_by_tma
from tilec.lowering.tile_to_gpu.conversion.sliced_map import SlicePosition, position_of
from tilec.lowering.tile_to_gpu.conversion.view_operands import sparse_view_operands


@converts("make_tensor_view")
def _make_tensor_view(op: ir.OpView, conversion: Conversion) -> None:
    type = op.operation.results[0].type
    extents = _scalars(type.shape, op.dynamicShape, conversion)
    view = TensorView(
        address_of(conversion.get(op.base), op.base.type.element),
        extents,
        _scalars(type.strides, op.dynamicStrides, conversion),
        type,
        op,
        _position(op, extents, conversion),
        _item(op, conversion),
    )
    conversion.tensor_views[op.operation.results[0]] = view


def _position(op: ir.OpView, extents: Sequence[ir.Value], conversion: Conversion) -> SlicePosition | None:
    """The coordinates of a slice of an array in the tensor map of all of them."""
    slice = slice_of(op, element_bits(op.operation.results[0].type.element))
    if not isinstance(slice, Slice):
        return None
    indices = [offset.index for offset in slice.offsets]
    made = [index if isinstance(index, int) else conversion.get(index) for index in indices]
    return position_of(slice, None if slice.dimension is None else extents[slice.dimension], made)


def _item(op: ir.OpView, conversion: Conversion) -> ir.Value | None:
    """The number of the array of a list that a tensor is, or is a slice of."""
    item = list_item(op)
    if item is None:
        return None
    return (
        emitter.i32(item.index) if isinstance(item.index, int) else emitter.cast_integer(conversion.get(item.index), 32)
    )


def _scalars(known: Sequence[int | None], dynamic: Sequence[ir.Value], conversion: Conversion) -> tuple[ir.Value, ...]:
    given = [index_of(value, conversion.get(value)) for value in dynamic]
    return tuple(of_one_width([given.pop(0) if value is None else index_constant(value) for value in known]))


@converts(
    "make_partition_view",
    "make_strided_view",
    "make_gather_scatter_view",
    "tilex.make_im2col_view",
    "tilex.make_packed_view",
)
def _make_tile_view(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    conversion.tile_views[result] = TileView(conversion.tensor_views[op.operation.operands[0]], result.type)


@converts("get_tensor_shape")
def _get_tensor_shape(op: ir.OpView, conversion: Conversion) -> None:
    view = conversion.tensor_views[op.operation.operands[0]]
    for result, extent in zip(op.operation.results, view.extents, strict=True):
        conversion.set(result, emitter.cast_integer(extent, result.type.element.width))


@converts("get_index_space_shape")
def _get_index_space_shape(op: ir.OpView, conversion: Conversion) -> None:
    view = conversion.tile_views[op.operation.operands[0]]
    for k, result in enumerate(op.operation.results):
        extent = view.tensor.extents[view.dim_map[k]]
        count = emitter.binary("arith.ceildivui", extent, emitter.constant(extent.type, view.steps[k]))
        conversion.set(result, emitter.cast_integer(count, result.type.element.width))


@converts("load_view_tko", "tilex.load_im2col_tko", "tilex.load_packed_tko")
def _load_view(op: ir.OpView, conversion: Conversion) -> None:
    tile = op.operation.results[0]
    if tile in conversion.plan.loads:
        load_by_tma(op, conversion)
        return
    if tile in conversion.plan.runs:
        read_from_run(op, conversion)
        return
    if tile in conversion.plan.stationary:
        # Multiplies place it.
        return
    view, type = conversion.tile_views[op.view], conversion.type(tile)
    packed, _ = access_vector(op)
    stored = type_of_bytes(type, packed)
    attributes = {
        **_vector(op),
        "sparse_dimension": view.sparse_dimension,
        "padding": padding_of(op),
        "inbounds": proven_inbounds(op),
        "early": runs_ahead(op, conversion),
        "repeatable": is_repeatable(op, conversion) and view.sparse_dimension is None,
    }
    conversion.synchronize(op)
    operands = sparse_view_operands(view, op, stored, conversion)
    loaded = emitter.gpu(LoadViewOp, operands, [stored], **attributes, **order_of(op)).result
    conversion.set(tile, tile_of_elements(loaded, type, packed))


@converts("tilex.prefetch")
def _prefetch(op: ir.OpView, conversion: Conversion) -> None:
    """Each box of the tile; without a map the plan has a remark."""
    map = conversion.stores.get(op.operation)
    if map is None:
        return
    view = conversion.tile_views[op.view]
    handle, start = declare_map(map, view, conversion), coordinates(map, view, op, offsets(view, op, conversion))
    extents, box = [view.type.tile_shape[k] for k in map.order], list(handle.owner.box)
    extents[0] //= map.parts
    # Coordinates after those of the tile, of a slice or of a list, are those of each box.
    for firsts in itertools.product(*(range(0, extent, size) for extent, size in zip(extents, box, strict=False))):
        moved = [emitter.plus(value, first) for value, first in itertools.zip_longest(start, firsts, fillvalue=0)]
        emitter.gpu(TmaPrefetchOp, [handle, moved])


@converts("store_view_tko", "tilex.store_im2col_tko", "tilex.store_packed_tko")
def _store_view(op: ir.OpView, conversion: Conversion) -> None:
    view = conversion.tile_views[op.view]
    tile, map = conversion.get(op.tile), conversion.stores.get(op.operation)
    if map is not None:
        store_by_tma(op, tile, map, conversion)
        return
    packed, _ = access_vector(op)
    value = tile_of_bytes(tile, packed, conversion.warps)
    conversion.synchronize(op)
    attributes = {**_vector(op), "sparse_dimension": view.sparse_dimension, "inbounds": proven_inbounds(op)}
    operands = [value, *sparse_view_operands(view, op, value.type, conversion)]
    emitter.gpu(StoreViewOp, operands, [], **attributes, **order_of(op))


def _vector(op: ir.OpView) -> dict[str, int]:
    """The elements or bytes of one access and the dimension they run along; ordered accesses take one at a time."""
    dimension, vector = access_vector(op)
    vector //= per_byte(op.view.type.element)
    if vector == 1 or op.memory_ordering_semantics != "weak":
        return {"vector": 1}
    return {"vector": vector, "vector_dimension": dimension}
