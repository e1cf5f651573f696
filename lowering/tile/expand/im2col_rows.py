"""An im2col view as a gather_scatter_view of the tensor's memory, and the rows that the pixels of a tile select in it.

Row r of the gather_scatter_view is the pixel whose first channel is `unit` * r elements after the base, so rows overlap
unless the pixels are that far apart. Pixels outside of the tensor select the row after the last one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import GatherScatterViewType, TensorViewType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.divisibility import divisor_of
from tilec.lowering.tile.analysis.im2col_tensor import Im2colTensor
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, WIDE, Number, broadcast
from tilec.lowering.tile.analysis.index_space import divides_rows, index_space
from tilec.lowering.tile.analysis.tile_index import limited
from tilec.lowering.tile.analysis.tile_operations import without_assumptions
from tilec.lowering.tile.analysis.tile_parts import reshaped
from tilec.lowering.tile.expand.im2col_positions import output_positions


@dataclass(frozen=True)
class Pixels:
    """The pixels of a tile at the first tap of the window.

    `positions` are the elements of the spatial dimensions, `rows` the rows of the gather_scatter_view. Which of them
    exist and lie inside of the dimensions that no offset moves, is `exists`; None means all of them.
    """

    positions: list[Number]
    rows: Number
    exists: ir.Value | None


class Im2colRows:
    """The gather_scatter_view for an im2col view, with the operations that make it at the insertion point."""

    def __init__(self, tensor: Im2colTensor, outputs: Sequence[Number]) -> None:
        self._tensor = tensor
        self._type = tensor.type
        self._by_row = divides_rows(tensor.type)
        self._numbers = NARROW if tensor.is_narrow else WIDE
        self._spatial = NARROW if tensor.is_narrow or tensor.has_narrow_positions else WIDE
        cast = self._numbers.cast
        self._wide_outputs = outputs
        self._outputs = [cast(extent) for extent in outputs]
        self._extents = [cast(extent) for extent in tensor.extents]
        self._limits = [self._spatial.cast(extent) for extent in tensor.extents[1:-1]]
        self._distances = [self._distance(stride) for stride in tensor.strides[:-1]]
        self._slices = cast(tensor.slices)
        self._slice_distance = self._distance(tensor.slice_stride)
        self._outside = self._count()
        self.view = self._made_view()

    def _distance(self, stride: Number) -> Number:
        """A stride in rows. An assumption about it need not hold for an extent of one (cuTile marks all strides)."""
        if isinstance(stride, int):
            return stride // self._tensor.unit
        stride = without_assumptions(stride)
        return self._numbers.cast(WIDE.quotient(WIDE.cast(stride), self._tensor.unit))

    def _count(self) -> Number:
        """The rows from the first pixel to the last one; none if the tensor or the output is empty."""
        last = [
            self._numbers.product([self._numbers.at_least(0, self._numbers.sum([extent, -1])), distance])
            for extent, distance in zip(
                [self._slices, *self._extents[:-1]], [self._slice_distance, *self._distances], strict=True
            )
        ]
        count = self._numbers.sum([*last, 1])
        for extent in (self._slices, *self._extents[:-1], *self._outputs):
            if extent == 0:
                return 0
            if not isinstance(extent, int):
                count = self._numbers.select(self._numbers.is_less(0, extent), count, 0)
        return count

    def _made_view(self) -> ir.Value:
        """The gather_scatter_view of rows by channels."""
        known, stride = self._type.tensor_view, self._tensor.strides[-1]
        if not isinstance(stride, int) and stride.type != self._numbers.scalar:
            # Only as the stride of a tensor view, an assumption need not hold for an extent of one.
            stride = self._numbers.cast(without_assumptions(stride))
        given = [(self._outside, self._extents[-1]), (self._tensor.unit, stride)]
        # A tensor view has no known extents or strides of 0.
        shape, strides = ([each if isinstance(each, int) and each else None for each in pair] for pair in given)
        type = TensorViewType.get(shape, known.element, strides, known.attribute)
        dynamic = [[self._numbers.made(n) for n in pair if not isinstance(n, int) or not n] for pair in given]
        tensor = build("make_tensor_view", [self._tensor.base, *dynamic], [type]).result
        view = GatherScatterViewType.get(self._tensor.gathered_shape, type, 0, "zero")
        return build("make_gather_scatter_view", [tensor], [view]).result

    def pixels(self, tile: ir.Value) -> Pixels:
        """The pixels of the tile with a number, at the first tap."""
        image, *output = output_positions(self._tensor, self._wide_outputs, tile)
        steps = zip(map(self._spatial.cast, output), self._type.stride, self._type.lower, strict=True)
        positions = [self._spatial.sum([self._spatial.product([p, stride]), -lower]) for p, stride, lower in steps]
        rows = self._row([image, *map(self._numbers.extended, positions)])
        fills = self._pixels_fill_tiles()
        conditions = [] if fills else [self._numbers.is_less(image, self._extents[0])]
        if (fills or self._by_row) and not self._tensor.has_pixels(tile):
            conditions.append(WIDE.is_less(WIDE.cast(tile), self._tiles()))
        conditions += [self._is_inside(positions, k) for k in self._checked(moved=False)]
        return Pixels(positions, rows, self._numbers.all(conditions))

    def _tiles(self) -> Number:
        return index_space(self._type, self._tensor.extents, self._wide_outputs)[0]

    def _pixels_fill_tiles(self) -> bool:
        """Whether every pixel of the tiles of the index space exists."""
        run = [self._extents[0], *(self._outputs[-1:] if self._by_row else self._outputs)]
        return math.prod(map(divisor_of, run)) % self._type.tile_shape[0] == 0

    def _row(self, steps: Sequence[Number]) -> Number:
        return self._numbers.sum([self._numbers.product(pair) for pair in zip(steps, self._distances, strict=True)])

    def _checked(self, moved: bool) -> list[int]:
        """The padded dimensions that an offset moves, or does not move."""
        type = self._type
        padded = [k for k in range(type.spatial_rank) if max(type.lower[k], type.upper[k]) > 0]
        return [k for k in padded if (type.window[k] > 1) is moved]

    def _is_inside(self, positions: Sequence[Number], k: int) -> ir.Value:
        return self._spatial.is_less(positions[k], self._limits[k])

    def rows_at(self, pixels: Pixels, offset: Sequence[ir.Value], channel_tile: ir.Value) -> ir.Value:
        """The rows that the pixels of a tile select at an offset in taps, each in all slices of a tile of channels."""
        numbers, spatial, type = self._numbers, self._spatial, self._type
        moves = [
            spatial.product([spatial.cast(tap), dilation]) if taps > 1 else 0
            for tap, taps, dilation in zip(offset, type.window, type.dilation, strict=True)
        ]
        positions = [spatial.sum(pair) for pair in zip(pixels.positions, moves, strict=True)]
        inside = [self._is_inside(positions, k) for k in self._checked(moved=True)]
        known = [] if pixels.exists is None else [pixels.exists]
        rows = numbers.sum([pixels.rows, self._row([0, *map(numbers.cast, moves)])])
        rows, exists = self._in_slices(rows, numbers.all([*known, *inside]), channel_tile)
        return broadcast(numbers.made(numbers.select(exists, rows, self._outside)), self._tensor.gathered_shape[:1])

    def _in_slices(self, rows: Number, exists: ir.Value | None, tile: ir.Value) -> tuple[Number, ir.Value | None]:
        """The rows of pixels in the slices of a tile of channels, pixel by pixel, and which of them exist."""
        numbers, (pixels, channels), count = self._numbers, self._type.tile_shape, self._tensor.tile_slices
        if self._type.interleave is None:
            return rows, exists
        is_known, channel_tile = self._tensor.has_channels(tile), limited(numbers, tile, channels)
        if count == 1:
            slice = numbers.quotient(channel_tile, self._type.interleave // channels)
            known = [] if exists is None else [exists]
            exists = exists if is_known else numbers.all([*known, numbers.is_less(slice, self._slices)])
            return numbers.sum([rows, numbers.product([slice, self._slice_distance])]), exists
        slices = _cycled(numbers.sum([numbers.product([channel_tile, count]), numbers.iota(count)]), pixels)
        repeated = _repeated(broadcast(numbers.made(rows), (pixels,)), count)
        conditions = [] if exists is None else [_repeated(broadcast(exists, (pixels,)), count)]
        if not is_known or divisor_of(self._slices) % count:
            conditions.append(numbers.is_less(slices, self._slices))
        return numbers.sum([repeated, numbers.product([slices, self._slice_distance])]), numbers.all(conditions)

    def channel(self, tile: ir.Value) -> ir.Value:
        """The first channel of the tile with a number; in its slice, if channels are in slices."""
        numbers, channels = self._numbers, self._tensor.gathered_shape[1]
        number = limited(numbers, tile, channels)
        if self._type.interleave is not None:
            _, number = numbers.divided(number, self._type.interleave // channels)
        return numbers.made(numbers.product([number, channels]))


def _repeated(values: ir.Value, count: int) -> ir.Value:
    """Each element of a tile of one dimension `count` times in succession."""
    extent = values.type.shape[0]
    return reshaped(broadcast(reshaped(values, (extent, 1)), (extent, count)), (extent * count,))


def _cycled(values: ir.Value, count: int) -> ir.Value:
    """The elements of a tile of one dimension in succession, `count` times."""
    extent = values.type.shape[0]
    return reshaped(broadcast(reshaped(values, (1, extent)), (count, extent)), (count * extent,))
