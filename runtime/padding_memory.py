"""Tensor maps over tensors without elements.

Each extent of a tensor map is at least 1 (CUDA driver API, cuTensorMapEncodeTiled), so a tensor with an extent of 0 has
none of its own. Its map is one of a single element in memory that holds the value of elements outside of the tensor:
then every element that TMA reads is one outside, and every store goes to memory that belongs to nobody.
"""

from __future__ import annotations

from dataclasses import replace

from tilec.lowering.tma.contract import ELEMENTS, PADDED_GROUP, TensorMap

# The largest group of elements that one extent is a multiple of, and an alignment that serves every interleave.
PADDING_BYTES = 128
# Bits that are all ones are a NaN in every floating-point type that TMA fills.
_FILL_BYTES = {"zero": 0x00, "nan": 0xFF}


def has_no_elements(tensor_map: TensorMap) -> bool:
    """Whether an extent is 0, as far as the extents are known."""
    return 0 in tensor_map.extents


def padding_byte(tensor_map: TensorMap) -> int:
    """The byte that the memory behind the map of an empty tensor consists of."""
    return _FILL_BYTES[tensor_map.fill]


def over_padding(tensor_map: TensorMap, address: int) -> TensorMap:
    """The map for a tensor without elements, over PADDING_BYTES at `address` that are all `padding_byte`."""
    element = ELEMENTS[tensor_map.element]
    first = PADDED_GROUP if element.padded else 2 if element.bits == 4 else 1
    return replace(
        tensor_map,
        base=address,
        extents=(first, *(1 for _ in tensor_map.strides)),
        strides=tuple(PADDING_BYTES for _ in tensor_map.strides),
    )
