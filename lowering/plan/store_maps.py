"""Stores and reductions of tiles that TMA does, with their tensor maps.

Threads whose vectors fill whole lines of memory gain nothing from a copy through shared memory. TMA has the stores
whose accesses would be narrow or scattered: it checks the extents itself, and writes rows from any threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.dialect.walk import operations_named
from tilec.lowering.kernel_hints import allows_tma
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.shared_layout import SharedLayout, swizzle_span_bytes
from tilec.lowering.layout.vectors import byte_shape, global_vector
from tilec.lowering.model.constants import device_of
from tilec.lowering.target import LANES, Target
from tilec.lowering.tile.analysis.tensor_extent import tensor_maker
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, in_loop, is_tile, loops_around
from tilec.lowering.tile.expand.expand_packed_views import PACKED_STORE_BITS
from tilec.lowering.tile_to_gpu.access.alignment import (
    SECTOR_BYTES,
    VECTOR_BYTES,
    access_vector,
    contiguous_dimension,
    element_bits,
    element_bytes,
    per_byte,
)
from tilec.lowering.tile_to_gpu.access.layouts import Layouts
from tilec.lowering.tile_to_gpu.access.memory_order import BULK_ORDERS, REDUCTIONS, MemoryOrder
from tilec.lowering.tile_to_gpu.access.packed_maps import packed_map_for
from tilec.lowering.tile_to_gpu.access.sliced_tensors import list_item
from tilec.lowering.tile_to_gpu.access.tensor_maps import (
    TensorMap,
    has_whole_rows,
    refusal_of_reduction,
    slice_under,
    swizzle_for,
)
from tilec.lowering.tile_to_gpu.access.tensor_modes import im2col_store_map, store_map_for

# The bytes that one phase of a vector access of a warp reads or writes: a line of memory, all banks of shared memory.
LINE_BYTES = 128
_BITS_PER_BYTE = 8
STAGING_LIMIT_BYTES = 65536
# A thread stores in as many instructions as the staging buffer, its barriers and the store by TMA take.
_MOST_ACCESSES = 8


def store_maps(
    operations: Iterable[ir.OpView], order: MemoryOrder, target: Target, layouts: Layouts, limit_bytes: int
) -> dict[ir.Operation, TensorMap]:
    """The map of each store and reduction that TMA does; shared memory has `limit_bytes` for a staging buffer."""
    stores = [op for op in operations if op.operation.name in BULK_ORDERS]
    maps = {op.operation: store_map(op, order, target, layouts, limit_bytes) for op in stores}
    return {op: map for op, map in maps.items() if map is not None}


def store_map(
    op: ir.OpView,
    order: MemoryOrder,
    target: Target,
    layouts: Layouts | None = None,
    limit_bytes: int = STAGING_LIMIT_BYTES,
) -> TensorMap | None:
    """The map for a store or a reduction by TMA; None if it is ordered after stores that do not use TMA.

    Without `layouts` as if no layout were good enough for stores by threads. Tiles of images and packed tiles may have
    staging buffers above `limit_bytes`, as their stores are not planned again.
    """
    stores = [op, *(earlier.opview for earlier in order.stores_before(op))]
    if isinstance(op.view.type, Im2colViewType | PackedViewType):
        layouts, limit_bytes = None, STAGING_LIMIT_BYTES
    maps = [_own_map(store, target, layouts, limit_bytes) for store in stores]
    return maps[0] if None not in maps else None


def _own_map(store: ir.OpView, target: Target, layouts: Layouts | None, limit_bytes: int) -> TensorMap | None:
    """The map of one store or reduction, for any operations before it."""
    order = BULK_ORDERS.get(store.operation.name)
    if order is None or store.memory_ordering_semantics != order or not allows_tma(store, target):
        return None
    type = store.view.type
    if isinstance(type, PackedViewType):
        # PTX ISA 5.5.1.1: .b6p2x16 packs bytes; elements of 4 bits have no such type.
        map = packed_map_for(store, type.bits, target) if type.bits == PACKED_STORE_BITS else ""
        return map if isinstance(map, TensorMap) and _staging_fits(type, map, limit_bytes) else None
    if isinstance(type, Im2colViewType):
        map = im2col_store_map(store.view, target)
    elif layouts is None or type.rank < 2:
        map = store_map_for(store, target)
    else:
        is_reduction = store.operation.name in REDUCTIONS
        layout = layouts[store.value if is_reduction else store.tile]
        if not is_reduction and (_is_small(store, layout, target) or _is_stored_by_threads(store, layout)):
            return None
        map = store_map_for(store, target, _staging_swizzle(store, layout, target))
    if not isinstance(map, TensorMap) or not _staging_fits(type, map, limit_bytes):
        return None
    if not has_storable_rows(store):
        return None
    if not has_whole_rows(store.view):
        map = replace(map, truncated=True)
    refused = store.operation.name in REDUCTIONS and refusal_of_reduction(store, map.element)
    return None if refused else map


def has_storable_rows(store: ir.OpView) -> bool:
    """Whether rows are known to be multiples of 16 bytes, or threads may store the elements after the last multiple.

    Threads do so neither for elements that share a byte nor for reductions, im2col views and slices of arrays of lists.
    """
    type = store.view.type
    is_plain = store.operation.name not in REDUCTIONS and not isinstance(type, Im2colViewType)
    if list_item(tensor_maker(store.view)) is not None:
        is_plain &= slice_under(store.view) is None
    return has_whole_rows(store.view) or is_plain and per_byte(type.element) == 1


def _staging_fits(type: ir.Type, map: TensorMap, limit_bytes: int) -> bool:
    """Whether the staging buffer of a tile is within the limit; tiles of rank one use plain stores."""
    stored = byte_shape(type.tile_shape, map.contiguous, per_byte(type.element))
    size = SharedLayout(stored, element_bytes(type.element), map.contiguous, map.swizzle).size_bytes
    return type.rank >= 2 and size <= limit_bytes


def _is_stored_by_threads(store: ir.OpView, layout: LinearLayout) -> bool:
    """Whether threads store a tile in this layout by the widest vectors, and neighbouring lanes whole lines or rows."""
    dimension, vector = access_vector(store)
    bits = element_bits(store.view.type.element)
    if vector * bits < VECTOR_BYTES * _BITS_PER_BYTE or 1 << len(global_vector(layout, dimension, vector)) < vector:
        return False
    row_bytes = layout.shape[dimension] * bits // _BITS_PER_BYTE
    return _adjacent_elements(layout, dimension, vector) * bits // _BITS_PER_BYTE >= min(row_bytes, LINE_BYTES)


def _is_small(store: ir.OpView, layout: LinearLayout, target: Target) -> bool:
    """Whether TMA would take longer to issue the store of a loop than memory to write it, and lanes store sectors.

    Threads store it without the two barriers of a staging buffer. In a loop that carries tiles they store larger tiles
    too, as all warps would wait in each iteration.
    """
    if not in_loop(store):
        return False
    type, device = store.view.type, device_of(target.name)
    dimension, vector = access_vector(store)
    bits = element_bits(type.element)
    vector = 1 << len(global_vector(layout, dimension, vector))
    if _carries_tiles(loops_around(store)[0]):
        return len(set(layout.representatives)) <= _MOST_ACCESSES * vector
    if prod(type.tile_shape) * bits >= device.tma_issue_cycles * device.hbm_bytes_per_cycle * _BITS_PER_BYTE:
        return False
    distinct = replace(layout, lane=tuple(sorted(layout.lane, key=any, reverse=True)))
    adjacent = _adjacent_elements(distinct, dimension, vector)
    return adjacent * bits >= min(type.tile_shape[dimension] * bits, SECTOR_BYTES * _BITS_PER_BYTE)


def _carries_tiles(loop: ir.Operation) -> bool:
    """Whether threads alone compute tiles that an iteration of a loop passes to the next one."""
    arguments = loop.regions[0].blocks[0].arguments
    return any(map(is_tile, arguments)) and not operations_named(loop, MULTIPLIES)


def _staging_swizzle(store: ir.OpView, layout: LinearLayout, target: Target) -> str | None:
    """`none` if wider boxes without swizzle have no bank conflicts, or swizzled ones are too small, else None.

    TMA takes longer to issue the store of a box of few rows than memory to write its bytes.
    """
    type = store.view.type
    dimension, size = contiguous_dimension(type), element_bytes(type.element)
    if dimension is None or per_byte(type.element) > 1:
        return None
    span = swizzle_span_bytes(swizzle_for(type.tile_shape[dimension] * size))
    if span is None or type.tile_shape[dimension] * size == span:
        return None
    device, rows = device_of(target.name), prod(type.tile_shape) // type.tile_shape[dimension]
    if rows * span < device.tma_issue_cycles * device.hbm_bytes_per_cycle:
        return "none"
    vector = 1 << len(global_vector(layout, dimension, VECTOR_BYTES // size))
    adjacent = _adjacent_elements(layout, dimension, vector)
    return "none" if adjacent * size >= LINE_BYTES or adjacent == vector * LANES else None


def _adjacent_elements(layout: LinearLayout, dimension: int, vector: int) -> int:
    """The consecutive elements along a dimension that a vector of a thread and the lanes after it hold."""
    elements = vector
    for basis in layout.lane:
        if basis != tuple(elements * (k == dimension) for k in range(len(layout.shape))):
            break
        elements *= 2
    return elements
