"""Tensor maps of rows of floats of less than 8 bits, of which TMA stores 16 in 16 bytes (PTX ISA 5.5.1.1).

The bytes of the rows are those of a packed view, or of a view of bytes that a kernel unpacks to f4E2M1FN.
"""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PartitionViewType
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.divisibility import divisibility, divisor_of
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_maker, tensor_strides
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap, address_reason, rows_reason
from tilec.lowering.tma.rules import MAX_RANK
from tilec.lowering.tma.tensor_map import PADDED_GROUP

# The element of the map by the bits of the elements in memory.
_ELEMENTS = {4: "u4_align16b", 6: "u6_align16b"}
# PTX ISA 9.7.9.27.1.1: the granule of addresses and strides.
_ALIGNMENT_BYTES = 32
_BYTE = 8


def packed_map_for(load: ir.OpView, bits: int, target: Target) -> TensorMap | str:
    """The map with which TMA loads elements of `bits` bits for a multiply, or the reason why it cannot."""
    view = load.view
    type = view.type
    if not target.loads_packed_elements:
        return f"TMA of {target.name} does not unpack elements of {bits} bits"
    if not isinstance(type, PackedViewType | PartitionViewType) or type.rank > MAX_RANK:
        return "the elements are not loaded through a packed view or a partition view"
    tensor, inner = tensor_maker(view), type.dim_map[-1]
    if type.tensor_view.strides[inner] != 1:
        return "the bytes of a row are not known to be adjacent in memory"
    *outer, row = tile_shape(view, bits)
    if row % PADDED_GROUP:
        return f"TMA unpacks groups of {PADDED_GROUP} elements, a row of the tile has {row}"
    reason = rows_reason(outer) or _alignment_reason(tensor, inner, bits) or address_reason(tensor, type, inner, _BYTE)
    if reason is not None:
        return reason
    last = type.rank - 1
    return TensorMap(view, (last, *reversed(range(last))), last, "128B", _ELEMENTS[bits], packed_bits=bits)


def tile_shape(view: ir.Value, bits: int) -> tuple[int, ...]:
    """The shape of the tiles of a view in elements."""
    *outer, row = view.type.tile_shape
    return (*outer, row if isinstance(view.type, PackedViewType) else row * _BYTE // bits)


def _alignment_reason(tensor: ir.OpView, inner: int, bits: int) -> str | None:
    if divisibility(tensor.base) % _ALIGNMENT_BYTES:
        needed = f"a multiple of {_ALIGNMENT_BYTES} bytes, which unpacking needs"
        return f"the base address is not known to be {needed}: state 'align {_ALIGNMENT_BYTES}' in the signature"
    for k, stride in enumerate(tensor_strides(tensor)):
        if k != inner and divisor_of(stride) % _ALIGNMENT_BYTES:
            needed = f"a multiple of {_ALIGNMENT_BYTES} bytes, which unpacking needs"
            return f"stride {k} is not known to be {needed}: state '?%{_ALIGNMENT_BYTES}' in the signature"
    group_bytes = PADDED_GROUP * bits // _BYTE
    if divisor_of(tensor_extents(tensor)[inner]) % group_bytes:
        stated = f"'?%{group_bytes}'" if group_bytes & (group_bytes - 1) == 0 else "the extent"
        return (
            f"extent {inner} is not known to be a multiple of {group_bytes} bytes, the {PADDED_GROUP} elements that "
            f"TMA unpacks at once: state {stated} in the signature"
        )
    return None
