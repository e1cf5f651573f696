"""Images as the matrix of a convolution: output pixels by channels, at one tap of the window at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory import access
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import scalar
from tilec.runtime.interpret.operations.view import TensorView, check_number, extent_results
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Im2colViewType, Step, TileType

Tile = np.ndarray


@dataclass(frozen=True)
class Im2colView:
    """A tensor [N, spatial dimensions, C], or [N, C / c, spatial dimensions, c], as a matrix."""

    tensor: TensorView
    type: Im2colViewType

    def walked(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """The extents or strides of the images and the spatial dimensions, given those of the tensor."""
        return values[:-1] if self.type.interleave is None else (values[0], *values[2:-1])

    def channels(self) -> int:
        """The number of channels; those of the padding of the last slice are channels too."""
        return self.tensor.shape[-1] * (1 if self.type.interleave is None else self.tensor.shape[1])

    def channel_offsets(self, channels: Tile) -> Tile:
        """The distances of channels from the first one, in elements."""
        strides, size = self.tensor.strides, self.type.interleave
        if size is None:
            return channels * strides[-1]
        return channels // size * strides[1] + channels % size * strides[-1]

    def output_shape(self) -> list[int]:
        """The output extents of the spatial dimensions, outermost first."""
        type = self.type
        found = []
        for k, extent in enumerate(self.walked(self.tensor.shape)[1:]):
            covered = (type.window[k] - 1) * type.dilation[k] + 1
            rest = extent + type.lower[k] + type.upper[k] - covered
            found.append(0 if rest < 0 else rest // type.stride[k] + 1)
        return found

    def pixels_of_row(self) -> list[int]:
        """The extents of the pixels that consecutive tiles cover, the images first."""
        shape = self.output_shape()
        return [self.tensor.shape[0], *(shape[-1:] if self.type.by_row else shape)]

    def index_space(self) -> list[int]:
        """The numbers of tiles along pixels and channels."""
        pixels, channels = self.type.tile.shape
        rows = math.prod(self.output_shape()[:-1]) if self.type.by_row else 1
        return [rows * -(-math.prod(self.pixels_of_row()) // pixels), -(-self.channels() // channels)]


@interprets("tilex.make_im2col_view")
def _make_im2col_view(op: Step, machine: Machine, tensor: TensorView) -> Im2colView:
    size = op.result_types[0].interleave
    if size is not None and tensor.shape[-1] != size:
        machine.undefined(f"{undefined_behaviour.interleaved_extent(size)}, got {tensor.shape[-1]}")
    return Im2colView(tensor, op.result_types[0])


@interprets("tilex.get_im2col_index_space_shape")
def _get_index_space_shape(op: Step, machine: Machine, src: Im2colView) -> tuple[Tile, ...]:
    return extent_results(op, machine, src.index_space())


@interprets("tilex.get_im2col_output_shape")
def _get_output_shape(op: Step, machine: Machine, src: Im2colView) -> tuple[Tile, ...]:
    return extent_results(op, machine, src.output_shape())


def _check(
    machine: Machine, view: Im2colView, index: tuple[Tile, ...], offset: tuple[Tile, ...], element: TileElement
) -> None:
    """Faults for an index outside the index space or an offset outside the window."""
    for axis, (count, number) in enumerate(zip(view.index_space(), index, strict=True)):
        check_number(machine, f"index {axis}", number, element, count)
    for axis, (taps, number) in enumerate(zip(view.type.window, offset, strict=True)):
        check_number(machine, f"offset {axis}", number, element, taps)


def _pixels(view: Im2colView, pixel_tile: int) -> tuple[list[Tile], Tile]:
    """The image and the output position of each pixel of a tile, and which pixels exist."""
    count, extents = view.type.tile.shape[0], view.pixels_of_row()
    rows, row = [], 0
    if view.type.by_row:
        rows = view.output_shape()[:-1]
        row, pixel_tile = divmod(pixel_tile, max(1, -(-math.prod(extents) // count)))
    numbers = pixel_tile * count + np.arange(count, dtype=np.int64)
    exists = (numbers < math.prod(extents)) & (row < math.prod(rows))
    image, *inner = _positions(np.where(exists, numbers, 0), extents)
    return [image, *_positions(np.where(exists, row, 0), rows), *inner], exists


def _positions(numbers: Tile, extents: list[int]) -> list[Tile]:
    """The position of each row-major number in the extents."""
    return list(np.unravel_index(numbers, [max(1, extent) for extent in extents])) if extents else []


def _image_positions(view: Im2colView, pixel_tile: int, offset: list[int]) -> tuple[list[Tile], Tile]:
    """The image and the spatial positions that each pixel of a tile reads at an offset, and which pixels exist."""
    type, ((image, *position), exists) = view.type, _pixels(view, pixel_tile)
    steps = zip(position, type.stride, offset, type.dilation, type.lower, strict=True)
    return [image, *(at * stride + tap * dilation - lower for at, stride, tap, dilation, lower in steps)], exists


def _locate(
    machine: Machine, view: Im2colView, index: tuple[Tile, ...], offset: tuple[Tile, ...], kind: TileType
) -> tuple[Tile, Tile]:
    """The address of each element of a tile, and a mask of those inside the tensor."""
    tensor, element = view.tensor, kind.element
    if machine.check:
        _check(machine, view, index, offset, element)
    numbers = [[scalar(value, element, "unsigned") for value in values] for values in (index, offset)]
    # A tile beyond the last one has no elements, however large its number is.
    pixel_tile, channel_tile = (min(pair) for pair in zip(numbers[0], view.index_space(), strict=True))
    positions, inside = _image_positions(view, pixel_tile, numbers[1])
    offsets = np.zeros(view.type.tile.shape[0], np.int64)
    for at, extent, stride in zip(positions, view.walked(tensor.shape), view.walked(tensor.strides), strict=True):
        inside = inside & (at >= 0) & (at < extent)
        offsets = offsets + np.where(inside, at, 0) * stride
    channels = channel_tile * view.type.tile.shape[1] + np.arange(view.type.tile.shape[1], dtype=np.int64)
    known = channels < view.channels()
    whole = offsets[:, None] + view.channel_offsets(np.where(known, channels, 0))
    addresses = whole.astype(np.uint64) * np.uint64(tensor.element.steps) + np.uint64(tensor.base)
    return addresses, inside[:, None] & known


@interprets("tilex.load_im2col_tko")
def _load(
    op: Step, machine: Machine, view: Im2colView, index: tuple[Tile, ...], offset: tuple[Tile, ...], _token: None
) -> tuple[Tile, None]:
    addresses, inside = _locate(machine, view, index, offset, op.types[1][0])
    return access.load(machine.memory, addresses, inside, op.element, np.zeros((), op.element.dtype)), None


@interprets("tilex.store_im2col_tko")
def _store(
    op: Step,
    machine: Machine,
    tile: Tile,
    view: Im2colView,
    index: tuple[Tile, ...],
    offset: tuple[Tile, ...],
    _token: None,
) -> tuple[None]:
    addresses, inside = _locate(machine, view, index, offset, op.types[2][0])
    access.store(machine.memory, addresses, inside, view.tensor.element, tile)
    return (None,)
