"""Sizes of elements, tiles and buffers, and the layout of a tile with the elements that a thread has."""

from __future__ import annotations

from math import prod

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.types import BufferType
from tilec.element_types import element_type
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout

_BITS_PER_BYTE = 8


@cached
def element_bits(element: ir.Type) -> int:
    """Bits of an element in memory."""
    return element_type(spell(element)).packed_bits


@cached
def tile_bytes(type: ir.Type) -> float:
    """Bytes of the elements of a register tile, of a buffer, or of a scalar."""
    if isinstance(type, BufferType):
        return prod(type.shape) * element_bits(type.element) / _BITS_PER_BYTE
    if isinstance(type, ir.RankedTensorType):
        return prod(type.shape) * element_bits(type.element_type) / _BITS_PER_BYTE
    return element_bits(type) / _BITS_PER_BYTE


def layout_of(tile: ir.Type) -> LinearLayout:
    """The layout of a register tile."""
    return parse_layout(ir.StringAttr(ir.RankedTensorType(tile).encoding).value)


@cached
def thread_elements(tile: ir.RankedTensorType) -> int:
    """The different elements of a tile that a thread has, without registers that repeat others."""
    layout = layout_of(tile)
    return layout.register_count >> layout.free_register_mask.bit_count()
