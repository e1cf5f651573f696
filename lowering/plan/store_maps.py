"""Stores and reductions of tiles that TMA does, with their tensor maps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering.layout.shared_layout import SharedLayout
from tilec.lowering.layout.vectors import byte_shape
from tilec.lowering.target import Target
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes, per_byte
from tilec.lowering.tile_to_gpu.access.im2col_map import im2col_store_map
from tilec.lowering.tile_to_gpu.access.layouts import Layouts
from tilec.lowering.tile_to_gpu.access.memory_order import BULK_ORDERS, REDUCTION, MemoryOrder
from tilec.lowering.tile_to_gpu.access.row_stores import is_stored_by_threads, staging_swizzle
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, has_whole_rows, tensor_map_for
from tilec.lowering.tile_to_gpu.access.tile_hints import allows_tma
from tilec.lowering.tile_to_gpu.access.tma_reduction import refusal_of_reduction

STAGING_LIMIT_BYTES = 65536


def store_maps(
    operations: Iterable[ir.OpView], order: MemoryOrder, target: Target, layouts: Layouts
) -> dict[ir.Operation, TensorMap]:
    """The map of each store and reduction that TMA does."""
    stores = [op for op in operations if op.operation.name in BULK_ORDERS]
    maps = {op.operation: store_map(op, order, target, layouts) for op in stores}
    return {op: map for op, map in maps.items() if map is not None}


def store_map(op: ir.OpView, order: MemoryOrder, target: Target, layouts: Layouts | None = None) -> TensorMap | None:
    """The map for a store or a reduction by TMA; None if it is ordered after stores that do not use TMA.

    Without `layouts` as if no layout were good enough for stores by threads.
    """
    stores = [op, *(earlier.opview for earlier in order.stores_before(op))]
    if isinstance(op.view.type, Im2colViewType):
        layouts = None
    maps = [_own_map(store, target, layouts) for store in stores]
    return maps[0] if None not in maps else None


def _own_map(store: ir.OpView, target: Target, layouts: Layouts | None) -> TensorMap | None:
    """The map of one store or reduction, for any operations before it."""
    order = BULK_ORDERS.get(store.operation.name)
    if order is None or store.memory_ordering_semantics != order or not allows_tma(store, target):
        return None
    type = store.view.type
    if isinstance(type, Im2colViewType):
        map = im2col_store_map(store.view, target)
    elif layouts is None or type.rank < 2:
        map = tensor_map_for(store.view)
    else:
        is_reduction = store.operation.name == REDUCTION
        layout = layouts[store.value if is_reduction else store.tile]
        if not is_reduction and is_stored_by_threads(store, layout):
            return None
        map = tensor_map_for(store.view, swizzle=staging_swizzle(store, layout))
    if not isinstance(map, TensorMap) or not _staging_fits(type, map):
        return None
    if not has_storable_rows(store):
        return None
    if not has_whole_rows(store.view):
        map = replace(map, truncated=True)
    refused = store.operation.name == REDUCTION and refusal_of_reduction(store, map.element)
    return None if refused else map


def has_storable_rows(store: ir.OpView) -> bool:
    """Whether rows are known to be multiples of 16 bytes, or threads may store the elements after the last multiple.

    Threads do so neither for elements that share a byte nor for reductions and im2col views.
    """
    type = store.view.type
    is_plain = store.operation.name != REDUCTION and not isinstance(type, Im2colViewType)
    return has_whole_rows(store.view) or is_plain and per_byte(type.element) == 1


def _staging_fits(type: ir.Type, map: TensorMap) -> bool:
    """Whether the staging buffer of a tile is within the limit; tiles of rank one use plain stores."""
    stored = byte_shape(type.tile_shape, map.contiguous, per_byte(type.element))
    size = SharedLayout(stored, element_bytes(type.element), map.contiguous, map.swizzle).size_bytes
    return type.rank >= 2 and size <= STAGING_LIMIT_BYTES
