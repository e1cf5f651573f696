"""Tensor maps that read nothing: tensors without elements, and im2col boxes without positions.

Each extent of a tensor map is at least 1, and the box of an im2col kind is not empty (CUDA driver API,
cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col), so such a tensor is replaced by 16 bytes, or one group of a
packed type, in memory filled with the padding value: every element that TMA reads has this value, and stores go to
memory that nothing else uses.
"""

from __future__ import annotations

from tilec.frozen import replace
from tilec.lowering.tma.rules import corner_range
from tilec.lowering.tma.tensor_map import ELEMENTS, TensorMap

# The largest required multiple of an extent, in bytes, and an alignment that satisfies every interleave.
PADDING_BYTES = 128
# What a store by TMA writes as a whole (docs/hardware.md).
WRITTEN_BYTES = 16
# All bits set is a NaN in every floating-point type that TMA fills.
_FILL_BYTES = {"zero": 0x00, "nan": 0xFF}


def reads_nothing(tensor_map: TensorMap) -> bool:
    """Whether a known extent is 0, or the box of an im2col kind has no position."""
    return 0 in tensor_map.extents or tensor_map.box_is_empty


def padding_byte(tensor_map: TensorMap) -> int:
    """The byte that fills the memory of a map that reads nothing."""
    return _FILL_BYTES[tensor_map.fill]


def over_padding(tensor_map: TensorMap, address: int) -> TensorMap:
    """The map that replaces one that reads nothing, over PADDING_BYTES at `address` filled with `padding_byte`."""
    if tensor_map.is_im2col and min(tensor_map.lower) >= 0 and max(tensor_map.upper) <= 0:
        return _one_pixel(tensor_map, address)
    lower, upper = _corners(tensor_map)
    return replace(
        tensor_map,
        base=address,
        extents=(extent_of_padding(tensor_map.element), *(1 for _ in tensor_map.strides)),
        strides=tuple(PADDING_BYTES for _ in tensor_map.strides),
        lower=lower,
        upper=upper,
    )


def extent_of_padding(name: str) -> int:
    """The elements along the innermost dimension: those of 16 bytes, which TMA writes as a whole, or of a group."""
    element = ELEMENTS[name]
    return max(element.group, 8 * WRITTEN_BYTES // element.bits)


def _one_pixel(tensor_map: TensorMap, address: int) -> TensorMap:
    """The replacement of a map whose box lies inside of the tensor, as that of a store (PTX ISA 9.7.9.27.1.3).

    Its box is the pixel at the lower corner, the only one that is in the memory.
    """
    spatial = [*tensor_map.lower, *(0 for _ in tensor_map.strides)][: len(tensor_map.strides)]
    return replace(
        tensor_map,
        base=address - PADDING_BYTES * sum(spatial),
        extents=(extent_of_padding(tensor_map.element), *(corner + 1 for corner in spatial)),
        strides=tuple(PADDING_BYTES for _ in tensor_map.strides),
        upper=tuple(0 for _ in tensor_map.upper),
    )


def _corners(tensor_map: TensorMap) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The corners of the box of the replaced map in a tensor whose extents are 1, not empty.

    A copy starts inside the box (PTX ISA 5.5.4.1): the new box holds the coordinates of the old one, up to the largest
    upper corner, or, if it was empty, its lower corner.
    """
    if not tensor_map.is_im2col:
        return (), ()
    _, high = corner_range(tensor_map.corner_rank)
    extents = [extent for extent in tensor_map.extents[1:] if extent is not None]
    last = [extent - 1 + corner for extent, corner in zip(extents, tensor_map.upper, strict=False)]
    upper = tuple(min(max(at), high) for at in zip(last, tensor_map.lower, strict=True))
    return tensor_map.lower, upper
