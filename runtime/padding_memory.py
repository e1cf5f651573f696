"""Tensor maps over tensors without elements.

Each extent of a tensor map is at least 1 (CUDA driver API, cuTensorMapEncodeTiled), so a tensor with an extent of 0 is
replaced by one element in memory filled with the padding value: every element that TMA reads has this value, and
stores go to memory that nothing else uses.
"""

from __future__ import annotations

from dataclasses import replace

from tilec.lowering.tma.contract import ELEMENTS, PADDED_GROUP, TensorMap

# The largest required multiple of an extent, in bytes, and an alignment that satisfies every interleave.
PADDING_BYTES = 128
# All bits set is a NaN in every floating-point type that TMA fills.
_FILL_BYTES = {"zero": 0x00, "nan": 0xFF}


def has_no_elements(tensor_map: TensorMap) -> bool:
    """Whether a known extent is 0."""
    return 0 in tensor_map.extents


def padding_byte(tensor_map: TensorMap) -> int:
    """The byte that fills the memory of the map of an empty tensor."""
    return _FILL_BYTES[tensor_map.fill]


def over_padding(tensor_map: TensorMap, address: int) -> TensorMap:
    """The map of a tensor without elements, over PADDING_BYTES at `address` filled with `padding_byte`."""
    element = ELEMENTS[tensor_map.element]
    first = PADDED_GROUP if element.padded else 2 if element.bits == 4 else 1
    return replace(
        tensor_map,
        base=address,
        extents=(first, *(1 for _ in tensor_map.strides)),
        strides=tuple(PADDING_BYTES for _ in tensor_map.strides),
    )
