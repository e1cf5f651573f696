"""The index spaces of im2col and packed views (dialect/tilex/README.md): numbers or values of 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tilec.dialect.tilex.im2col_type import BY_ROW, Im2colViewType
from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.lowering.tile.analysis.index_arithmetic import WIDE, Number

_BYTE = 8


def divides_rows(type: Im2colViewType) -> bool:
    """Whether tiles of an im2col view do not cross rows, of which an image may have several."""
    return type.mode in BY_ROW and type.spatial_rank > 1


def image_extents(type: Im2colViewType, extents: Sequence[Number]) -> list[Number]:
    """The extents of the images [N, spatial dimensions, C] for those of the tensor, whose channels may be in slices."""
    if type.interleave is None:
        return list(extents)
    images, slices, *spatial, _ = extents
    return [images, *spatial, WIDE.product([WIDE.cast(slices), type.interleave])]


def output_extents(type: Im2colViewType, extents: Sequence[Number]) -> list[Number]:
    """The output extents for the extents of the images, outermost first."""
    return [_output_extent(type, k, WIDE.cast(extent)) for k, extent in enumerate(extents[1:-1])]


def _output_extent(type: Im2colViewType, k: int, extent: Number) -> Number:
    # The last window starts at the extent plus this.
    last = type.lower[k] + type.upper[k] - (type.window[k] - 1) * type.dilation[k] - 1
    return WIDE.quotient(WIDE.at_least(0, WIDE.sum([extent, last + type.stride[k]])), type.stride[k])


def tiles_of_run(type: Im2colViewType, images: Number, outputs: Sequence[Number]) -> Number:
    """The tiles of the pixels that consecutive tiles cover: of all pixels, or of one row of every image."""
    run = outputs[-1:] if divides_rows(type) else outputs
    return WIDE.quotient_up(WIDE.product([WIDE.cast(images), *run]), type.tile_shape[0])


def known_tiles_of_row(type: Im2colViewType) -> int | None:
    """The tiles of one row of every image, of a view whose tiles do not cross rows; None if the type does not say."""
    images, *_, width, _ = type.tensor_view.shape
    if images is None or width is None:
        return None
    return int(tiles_of_run(type, images, [_output_extent(type, type.spatial_rank - 1, width)]))


def index_space(type: Im2colViewType, extents: Sequence[Number], outputs: Sequence[Number]) -> list[Number]:
    """The numbers of tiles of an im2col view along pixels and channels."""
    rows = outputs[:-1] if divides_rows(type) else []
    tiles = WIDE.product([*rows, tiles_of_run(type, extents[0], outputs)])
    return [tiles, WIDE.quotient_up(WIDE.cast(extents[-1]), type.tile_shape[1])]


def packed_index_space(type: PackedViewType, extents: Sequence[Number]) -> list[Number]:
    """The number of tiles of a packed view along each dimension, for the extents of the tensor of bytes."""
    *outer, row = [WIDE.cast(extent) for extent in extents]
    common = gcd(type.bits, _BYTE)
    elements = WIDE.quotient(WIDE.product([row, _BYTE // common]), type.bits // common)
    return [WIDE.quotient_up(extent, step) for extent, step in zip([*outer, elements], type.tile_shape, strict=True)]
