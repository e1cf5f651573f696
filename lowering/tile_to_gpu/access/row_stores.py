"""Stores that go straight from registers to memory, and the swizzle of those that TMA makes from shared memory.

Threads whose vectors fill whole lines of memory gain nothing from a copy through shared memory. TMA has the stores
whose accesses would be narrow or scattered: it checks the extents itself, and writes rows from any threads.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.shared_layout import swizzle_span_bytes
from tilec.lowering.layout.vectors import global_vector
from tilec.lowering.target import LANES
from tilec.lowering.tile_to_gpu.access.alignment import (
    VECTOR_BYTES,
    access_vector,
    contiguous_dimension,
    element_bits,
    element_bytes,
    per_byte,
)
from tilec.lowering.tile_to_gpu.access.tensor_maps import swizzle_for

# The bytes that one phase of a vector access of a warp reads or writes: a line of memory, all banks of shared memory.
LINE_BYTES = 128
_BITS_PER_BYTE = 8


def is_stored_by_threads(store: ir.OpView, layout: LinearLayout) -> bool:
    """Whether threads store a tile in this layout by the widest vectors, and neighbouring lanes whole lines or rows."""
    dimension, vector = access_vector(store)
    bits = element_bits(store.view.type.element)
    if vector * bits < VECTOR_BYTES * _BITS_PER_BYTE or 1 << len(global_vector(layout, dimension, vector)) < vector:
        return False
    row_bytes = layout.shape[dimension] * bits // _BITS_PER_BYTE
    return adjacent_elements(layout, dimension, vector) * bits // _BITS_PER_BYTE >= min(row_bytes, LINE_BYTES)


def staging_swizzle(store: ir.OpView, layout: LinearLayout) -> str | None:
    """`none` if boxes without swizzle are wider and the threads fill them without bank conflicts, else None."""
    type = store.view.type
    dimension, size = contiguous_dimension(type), element_bytes(type.element)
    if dimension is None or per_byte(type.element) > 1:
        return None
    span = swizzle_span_bytes(swizzle_for(type.tile_shape[dimension] * size))
    if span is None or type.tile_shape[dimension] * size == span:
        return None
    vector = 1 << len(global_vector(layout, dimension, VECTOR_BYTES // size))
    adjacent = adjacent_elements(layout, dimension, vector)
    return "none" if adjacent * size >= LINE_BYTES or adjacent == vector * LANES else None


def adjacent_elements(layout: LinearLayout, dimension: int, vector: int) -> int:
    """The consecutive elements along a dimension that a vector of a thread and the lanes after it hold."""
    elements = vector
    for basis in layout.lane:
        if basis != tuple(elements * (k == dimension) for k in range(len(layout.shape))):
            break
        elements *= 2
    return elements
