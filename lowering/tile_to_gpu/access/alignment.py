"""The width of the accesses of a view, from the known alignment of its base, strides, extents and offsets."""

from __future__ import annotations

import math

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.element_types import element_type
from tilec.lowering.tile.analysis.divisibility import divisibility, divisor_of
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_maker, tensor_strides, tile_steps

# ld.v4.b32 and st.v4.b32, the widest accesses that both targets have.
VECTOR_BYTES = 16
# The unit of accesses of L2.
SECTOR_BYTES = 32


def element_bytes(element: ir.Type) -> int:
    """Bytes of an element in memory: one if several share a byte, eight for addresses."""
    return 8 if isinstance(element, PointerType) else element_type(spell(element)).storage_bytes


def element_bits(element: ir.Type) -> int:
    """Bits of an element in memory: 64 for addresses."""
    return 64 if isinstance(element, PointerType) else element_type(spell(element)).storage_bits


def per_byte(element: ir.Type) -> int:
    """The elements that share a byte of memory."""
    return max(1, 8 // element_bits(element))


def contiguous_dimension(type: ir.Type) -> int | None:
    """The last tile dimension whose stride is the constant one, one of more than one element if possible."""
    extents, strides = type.tensor_view.shape, type.tensor_view.strides
    found = [k for k, dimension in enumerate(type.dim_map) if strides[dimension] == 1]
    long = [k for k in found if extents[type.dim_map[k]] != 1]
    chosen = long or found
    return chosen[-1] if chosen else None


def access_vector(op: ir.OpView) -> tuple[int, int]:
    """The tile dimension contiguous in memory (else the last), and the elements of the widest access along it.

    Elements that share a byte are accessed together: their views have no others (Tile IR 5.2.1).
    """
    type = op.view.type
    k = contiguous_dimension(type)
    if k is None:
        return type.rank - 1, 1
    if k == getattr(type, "sparse_dim", None):
        return k, 1
    tensor = tensor_maker(op.view)
    start = tile_steps(type)[k] * divisibility(list(op.index)[k])
    factors = [start, type.tile_shape[k], *_tensor_factors(tensor, type, type.dim_map[k])]
    elements = math.gcd(*factors, 8 * VECTOR_BYTES // element_bits(type.element) or 1)
    return k, max(per_byte(type.element), elements)


def _tensor_factors(tensor: ir.OpView, type: ir.Type, dimension: int) -> list[int]:
    """Elements that divide the base, the extent along `dimension` and every other stride that is walked."""
    base = max(1, 8 * divisibility(tensor.base) // element_bits(type.element))
    walked = [
        divisor_of(stride)
        for k, stride in enumerate(tensor_strides(tensor))
        if k != dimension and type.tensor_view.shape[k] != 1
    ]
    return [base, divisor_of(tensor_extents(tensor)[dimension]), *walked]
