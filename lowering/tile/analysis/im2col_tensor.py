"""The tensor under an im2col view, and the integers that its elements and pixels need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW, bounds, greatest
from tilec.lowering.tile.analysis.divisibility import UNBOUNDED, divisor_of
from tilec.lowering.tile.analysis.index_arithmetic import Number
from tilec.lowering.tile.analysis.index_space import index_space, output_extents
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_maker, tensor_strides
from tilec.lowering.tile.analysis.tile_index import is_below


@dataclass(frozen=True)
class Im2colTensor:
    """The tensor under an im2col view: its base, extents and strides, as in its make_tensor_view.

    If the channels are in slices, the extents and strides are those of one slice [N, spatial dimensions, c], and
    `slices` and `slice_stride` are the extent and the stride of the dimension of the slices.
    """

    type: Im2colViewType
    base: ir.Value
    extents: tuple[Number, ...]
    strides: tuple[Number, ...]
    slices: Number = 1
    slice_stride: Number = 0

    @cached_property
    def unit(self) -> int:
        """The elements that divide the distances between pixels, along all dimensions but the channels."""
        walked = [*zip(self.extents[:-1], self.strides[:-1], strict=True), (self.slices, self.slice_stride)]
        moving = [stride for extent, stride in walked if not isinstance(extent, int) or extent != 1]
        # Every number divides a stride of 0.
        return math.gcd(*(divisor for divisor in map(divisor_of, moving) if divisor < UNBOUNDED)) or 1

    @property
    def tile_slices(self) -> int:
        """The slices of channels that a tile has."""
        return max(1, self.type.tile_shape[1] // (self.type.interleave or self.type.tile_shape[1]))

    @property
    def gathered_shape(self) -> tuple[int, int]:
        """The shape of the tile that is gathered: a row for each pixel of each slice, of the channels of a slice."""
        pixels, channels = self.type.tile_shape
        return pixels * self.tile_slices, channels // self.tile_slices

    @property
    def channels_fill_tiles(self) -> bool:
        """Whether the tiles of the index space do not exceed the channels, or those of a slice."""
        return divisor_of(self.extents[-1]) % self.gathered_shape[1] == 0

    def has_pixels(self, tile: ir.Value) -> bool:
        """Whether the number of a tile of pixels is known to be inside the index space, by intervals."""
        known = bounds(tile)
        extents = [extent if isinstance(extent, int) else max(0, bounds(extent).low) for extent in self.extents]
        tiles, _ = index_space(self.type, extents, output_extents(self.type, extents))
        return known.low >= 0 and known.high < int(tiles)

    def has_channels(self, tile: ir.Value) -> bool:
        """Whether the number of a tile of channels is known to be inside the index space."""
        if self.type.interleave is None:
            return is_below(tile, self.extents[-1], 1, self.type.tile_shape[1])
        return is_below(tile, self.slices, self.type.interleave, self.type.tile_shape[1])

    @property
    def greatest_output(self) -> int:
        """An upper bound of the output extents."""
        return max(map(greatest, output_extents(self.type, [greatest(extent) for extent in self.extents])))

    @property
    def has_narrow_positions(self) -> bool:
        """Whether i32 holds the spatial extents and the positions at the first tap, and u32 how far the taps move."""
        type = self.type
        extents = [greatest(extent) for extent in self.extents]
        steps = zip(output_extents(type, extents), type.stride, type.lower, strict=True)
        positions = [(output - 1) * stride - lower for output, stride, lower in steps]
        distances = [(taps - 1) * dilation for taps, dilation in zip(type.window, type.dilation, strict=True)]
        return max(*extents[1:-1], *positions) <= MAXIMUM_NARROW and max(distances) <= 2 * MAXIMUM_NARROW

    @property
    def is_narrow(self) -> bool:
        """Whether i32 holds every extent, the numbers of the pixels, and the offsets in units."""
        type = self.type
        extents, strides = ([greatest(each) for each in values] for values in (self.extents, self.strides))
        padding = max(map(abs, (*type.lower, *type.upper)))
        outputs = output_extents(type, extents)
        tiles, _ = index_space(type, extents, outputs)
        extents, strides = [greatest(self.slices), *extents], [greatest(self.slice_stride), *strides]
        units = sum(extent * (stride // self.unit) for extent, stride in zip(extents[:-1], strides[:-1], strict=True))
        needed = [max(extents) + padding, greatest(tiles) * type.tile_shape[0], units, strides[-1]]
        return max(*extents, *needed) <= MAXIMUM_NARROW


def tensor_of(view: ir.Value) -> Im2colTensor:
    """The tensor under an im2col view."""
    # Views are neither carried nor arguments, so both are made in the kernel.
    tensor = tensor_maker(view)
    extents, strides = tensor_extents(tensor), tensor_strides(tensor)
    channels = view.type.interleave
    if channels is None:
        return Im2colTensor(view.type, tensor.base, extents, strides)
    slice_extents, slice_strides = (extents[0], *extents[2:-1], channels), (strides[0], *strides[2:])
    return Im2colTensor(view.type, tensor.base, slice_extents, slice_strides, extents[1], strides[1])
