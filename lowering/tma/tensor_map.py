"""The fields of a tensor map."""

from __future__ import annotations

from tilec.frozen import Frozen, replace
from tilec.lowering.tma.element_types import ELEMENTS
from tilec.lowering.tma.enumerations import IM2COL_KINDS, WIDE_KINDS


class TensorMap(Frozen):
    """The fields of a tensor map, in the order of the driver's functions.

    Dimension 0 is contiguous. Strides are in bytes and start with dimension 1. None is a value that is not yet known.
    The dimensions of the im2col kinds are C, W, H, D, N; those of rank 3 and 4 have no D, or neither H nor D.

    Attributes:
        box: the extents of the box of kind tiled; empty for the im2col kinds.
        kind: a name of KINDS.
        lower: the lower corner of the im2col kinds, relative to the first pixel, in the order W, H, D; W alone for the
            wide kinds.
        upper: the upper corner, relative to the last pixel, in the same order.
        channels_per_pixel: the extent of the box along C.
        pixels_per_column: the number of pixels of a copy.
    """

    element: str
    extents: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    base: int | None = None
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2_promotion: str = "none"
    kind: str = "tiled"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels_per_pixel: int = 0
    pixels_per_column: int = 0

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def is_im2col(self) -> bool:
        return self.kind in IM2COL_KINDS

    @property
    def corner_rank(self) -> int:
        """The number of values of a corner."""
        return corner_rank(self.kind, self.rank)

    @property
    def granule_bytes(self) -> int:
        """The required alignment of the base address and of every stride, in bytes."""
        return 32 if self.interleave == "32B" or ELEMENTS[self.element].padded else 16

    @property
    def row_bits(self) -> int:
        """The size of a row of the box, or of the channels of a pixel, in global memory, in bits."""
        return (self.channels_per_pixel if self.is_im2col else self.box[0]) * ELEMENTS[self.element].bits

    @property
    def box_is_empty(self) -> bool:
        """Whether the bounding box of an im2col kind is known to have no position along W, H or D."""
        return any(
            extent is not None and extent + upper - lower < 1
            for extent, lower, upper in zip(self.extents[1:], self.lower, self.upper, strict=False)
        )


def with_usable_strides(tensor_map: TensorMap) -> TensorMap:
    """The map with a valid stride for each extent of 1, whose stride has no effect."""
    strides = tuple(
        tensor_map.granule_bytes if extent == 1 else stride
        for extent, stride in zip(tensor_map.extents[1:], tensor_map.strides, strict=True)
    )
    return replace(tensor_map, strides=strides)


def corner_rank(kind: str, rank: int) -> int:
    """The number of values of a corner of maps of this kind and rank."""
    return 0 if kind not in IM2COL_KINDS else 1 if kind in WIDE_KINDS else rank - 2
