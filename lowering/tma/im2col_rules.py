"""The rules on the corners, channels and pixels of the im2col kinds."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.lowering.target import Target
from tilec.lowering.tma.element_types import ELEMENTS, PADDED_GROUP
from tilec.lowering.tma.enumerations import IM2COL_KINDS
from tilec.lowering.tma.rule import Rule, Violation, rule
from tilec.lowering.tma.rules import PACKED_SECTION
from tilec.lowering.tma.tensor_map import TensorMap

MAX_CHANNELS = 256
MAX_PIXELS = 1024
# The number of bits of a corner along each dimension, by the number of its values.
CORNER_BITS = {1: 16, 2: 8, 3: 5}
# The order of the values of a corner. The CUDA driver API writes {D, H, W}, but the driver reads the innermost
# dimension first, as CUTLASS passes them (cute/atom/copy_traits_sm90_im2col.hpp).
CORNERS = "WHD"

IM2COL_RULES: list[Rule] = []


def corner_range(corner_rank: int) -> tuple[int, int]:
    """The smallest and the largest value of a corner with this number of values (PTX ISA 5.5.4.1)."""
    limit = 2 ** (CORNER_BITS[corner_rank] - 1)
    return -limit, limit - 1


@rule(IM2COL_RULES, kinds=IM2COL_KINDS, ptx="5.5.4.1")
def corner_values(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Corners have 16 signed bits for rank 3 and for the wide kinds, 8 for rank 4, and 5 for rank 5."""
    low, high = corner_range(tensor_map.corner_rank)
    for field in ("lower", "upper"):
        for name, value in zip(CORNERS, getattr(tensor_map, field), strict=False):
            if not low <= value <= high:
                expected = f"{low} to {high} along {name} for kind {tensor_map.kind} of {tensor_map.rank} dimensions"
                yield Violation(field, CORNERS.index(name), expected, str(value))


@rule(IM2COL_RULES, kinds=IM2COL_KINDS)
def nonempty_box(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The box between the corners has a position along each dimension."""
    for index, (extent, lower, upper) in enumerate(
        zip(tensor_map.extents[1:], tensor_map.lower, tensor_map.upper, strict=False)
    ):
        if extent is not None and extent + upper - lower < 1:
            expected = f"at least {lower - extent + 1}, so that the box has a position along {CORNERS[index]}"
            yield Violation("upper", index, expected, str(upper))


@rule(IM2COL_RULES, kinds=IM2COL_KINDS)
def channel_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Channels per pixel are 1 to 256."""
    channels = tensor_map.channels_per_pixel
    if not 1 <= channels <= MAX_CHANNELS:
        yield Violation("channels_per_pixel", None, f"1 to {MAX_CHANNELS} channels", str(channels))


@rule(IM2COL_RULES, kinds=IM2COL_KINDS, ptx=PACKED_SECTION)
def padded_channels(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """A pixel of a padded type has 128 channels."""
    channels = tensor_map.channels_per_pixel
    if ELEMENTS[tensor_map.element].padded and channels != PADDED_GROUP:
        expected = f"exactly {PADDED_GROUP} channels of {tensor_map.element}"
        yield Violation("channels_per_pixel", None, expected, str(channels))


# The driver states this rule for the boxes of kind tiled alone, PTX for every box.
@rule(IM2COL_RULES, kinds=IM2COL_KINDS, driver=False, ptx="5.5.3.1")
def channel_granule(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Without interleave, the channels of a pixel are a multiple of 16 bytes."""
    padded, row = ELEMENTS[tensor_map.element].padded, tensor_map.row_bits
    if not padded and tensor_map.interleave == "none" and row % 128:
        yield Violation("channels_per_pixel", None, "channels of a multiple of 16 bytes", f"{row / 8:g} bytes")


@rule(IM2COL_RULES, kinds=["im2col", "im2col_w"])
def pixel_range(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """Pixels per column are 1 to 1024; kind im2col_w128 ignores them."""
    pixels = tensor_map.pixels_per_column
    if not 1 <= pixels <= MAX_PIXELS:
        yield Violation("pixels_per_column", None, f"1 to {MAX_PIXELS} pixels", str(pixels))


@rule(IM2COL_RULES, kinds=IM2COL_KINDS, driver=False, ptx="5.5.4.2", undocumented=True)
def element_stride_of_images(tensor_map: TensorMap, _target: Target | None) -> Iterator[Violation]:
    """The element stride of N is 1: strides of W, H and D alone have a meaning."""
    stride = tensor_map.element_strides[-1]
    if stride != 1:
        expected = "1 along N, because other strides are undocumented"
        yield Violation("element_strides", tensor_map.rank - 1, expected, str(stride))
