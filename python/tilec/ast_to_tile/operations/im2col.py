"""Builds views of images as the matrix of a convolution, with their loads and stores."""

from __future__ import annotations

import math

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import Emitter, tile_type
from tilec.ast_to_tile.operations.accesses import Inapplicable, access_attributes, to_store, view_indices
from tilec.ast_to_tile.operations.arith import binary
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.shape import broadcast
from tilec.ast_to_tile.operations.view import tiles_along
from tilec.ast_to_tile.registry import implements
from tilec.ast_to_tile.values.bound_method import bound_method
from tilec.ast_to_tile.values.values import Array, Im2colView, KernelValue, Operand, Shape, Tile, describe
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.tilex.im2col_rules import MODES, NOT_VIEWED, SLICE_BYTES, TILE_PIXELS, pixels_text
from tilec.dialect.tilex.im2col_type import BY_ROW, Im2colViewType
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import MemoryOrder, PaddingMode
from tilec.language.operations import im2col as language
from tilec.language.operations.convolution_window import ConvolutionWindow, WindowProblem, convolution_window

# The ranks of arrays of images: images, one to three spatial dimensions, channels.
_RANKS = (3, 4, 5)


@implements(language.im2col_view)
def _im2col_view(
    emitter: Emitter,
    array: KernelValue,
    tile: KernelValue,
    mode: KernelValue,
    interleave: KernelValue,
    **parameters: KernelValue,
) -> Im2colView:
    images = arguments.array(array) if interleave is None else _slices(array, interleave)
    channels = arguments.constant_int_or_none(interleave, "interleave")
    _check_images(images, channels)
    window = _window(len(images.shape) - (2 if channels is None else 3), **parameters)
    tile_shape = _tile_shape(tile)
    arguments.at("tile", tile_type, images.dtype, tile_shape)
    if channels is not None and mode not in (None, "im2col"):
        raise BadArgument("mode", f"expected None or 'im2col' with interleave, got {describe(mode)}")
    return Im2colView(images, tile_shape, window, _mode(mode, tile_shape), channels)


def _check_images(images: Array, interleave: int | None) -> None:
    if images.dtype.element in NOT_VIEWED:
        raise BadArgument("array", f"expected elements of at least 8 bits that can be zero, got {images}")
    if interleave is None and len(images.shape) not in _RANKS:
        raise BadArgument("array", f"expected images, [N, W, C], [N, H, W, C] or [N, D, H, W, C], got {images}")


def _slices(value: KernelValue, interleave: KernelValue) -> Array:
    """The array, whose channels are in slices of `interleave` channels, which have 16 or 32 bytes."""
    images, channels = arguments.array(value), arguments.constant_int(interleave, "interleave")
    size = max(images.dtype.bitwidth, 8) // 8
    if channels * size not in SLICE_BYTES:
        known = " or ".join(str(count // size) for count in SLICE_BYTES)
        raise BadArgument("interleave", f"expected slices of {known} channels of {images.dtype}, got {channels}")
    if len(images.shape) - 1 not in _RANKS:
        expected = f"expected slices of channels, [N, C / {channels}, one to three spatial dimensions, {channels}]"
        raise BadArgument("array", f"{expected}, got {images}")
    extent = images.shape[-1]
    if isinstance(extent, int) and extent != channels:
        raise BadArgument("interleave", f"expected the extent of the last axis, {extent}, got {channels}")
    return images


def _window(
    rank: int, window: KernelValue, dilation: KernelValue, stride: KernelValue, padding: KernelValue
) -> ConvolutionWindow:
    given = {"window": window, "dilation": dilation, "stride": stride, "padding": padding}
    try:
        return convolution_window(**{name: _constants(value, name) for name, value in given.items()}, rank=rank)
    except WindowProblem as problem:
        raise BadArgument(problem.parameter, problem.message) from problem


def _constants(value: KernelValue, parameter: str) -> object:
    """A constant integer, or a tuple of such values."""
    if isinstance(value, tuple | list):
        return tuple(_constants(item, parameter) for item in value)
    return arguments.constant_int(value, parameter)


def _tile_shape(tile: KernelValue) -> Shape:
    if not isinstance(tile, tuple) or len(tile) != 2:
        raise BadArgument("tile", f"expected two extents, (pixels, channels), got {describe(tile)}")
    return arguments.shape(tile, "tile")


def _mode(mode: KernelValue, tile_shape: Shape) -> str | None:
    if mode is None:
        return None
    if not isinstance(mode, str) or mode not in MODES:
        known = ", ".join(f"'{name}'" for name in MODES)
        raise BadArgument("mode", f"expected None or one of {known}, got {describe(mode)}")
    if mode in TILE_PIXELS and tile_shape[0] not in TILE_PIXELS[mode]:
        expected = f"expected tiles of {pixels_text(mode)} pixels for '{mode}', got {tile_shape[0]}"
        other = "mode 'w', or " if mode == "w128" else ""
        raise BadArgument("mode", f"{expected}: use {other}tile=({TILE_PIXELS[mode][0]}, {tile_shape[1]})")
    return mode


@implements(language.im2col_output_shape)
def _im2col_output_shape(emitter: Emitter, extents: KernelValue, **parameters: KernelValue) -> tuple[Operand, ...]:
    items = extents if isinstance(extents, tuple) else (extents,)
    for item in items:
        if not arguments.is_integer_scalar(item):
            raise BadArgument("extents", f"expected integer scalars, got {describe(item)}")
    window = _window(len(items), **parameters)
    return tuple(_output_extent(emitter, window, axis, item) for axis, item in enumerate(items))


def _output_extent(emitter: Emitter, window: ConvolutionWindow, axis: int, extent: Operand) -> Operand:
    """The number of output pixels along a dimension: a constant for a constant extent, else an int32 scalar."""
    number = arguments.known(extent)
    if isinstance(number, int):
        return window.output_extent(axis, number)
    margin = window.margin(axis)
    last_start = binary(emitter, "add", to_dtype(emitter, extent, _sum_dtype(extent, margin)), margin)
    last = last_start if window.stride[axis] == 1 else binary(emitter, "floordiv", last_start, window.stride[axis])
    return to_dtype(emitter, binary(emitter, "max", binary(emitter, "add", last, 1), 0), datatypes.int32)


def _sum_dtype(extent: Operand, margin: int) -> DType:
    """The type that holds the sum of an extent and a margin: int32 for an int32 extent and a margin of 0 or less."""
    least, greatest = datatypes.int32.range
    fits = isinstance(extent, Tile) and extent.dtype.range[1] <= greatest and least <= margin <= 0
    return datatypes.int32 if fits else datatypes.int64


def im2col_attribute(emitter: Emitter, view: Im2colView, name: str) -> KernelValue:
    """`view.name`; raises CompileError for an unknown attribute."""
    if name == "dtype":
        return view.array.dtype
    if name == "tile_shape":
        return view.tile_shape
    if name == "window":
        return view.window.taps
    if name == "output_shape":
        return _output_shape(emitter, view)
    return bound_method(view, name, language.Im2colView, "im2col views")


def _static_output_shape(view: Im2colView) -> tuple[int | None, ...]:
    """The output extents that follow from constant extents of the array."""
    spatial = view.extents[1:]
    return tuple(
        view.window.output_extent(axis, extent) if isinstance(extent, int) else None
        for axis, extent in enumerate(spatial)
    )


def _output_shape(emitter: Emitter, view: Im2colView) -> tuple[Tile | int, ...]:
    static = _static_output_shape(view)
    if None not in static:
        return tuple(extent for extent in static if extent is not None)
    dynamic = _extents(emitter, "tilex.get_im2col_output_shape", view, len(static))
    return tuple(found if extent is None else extent for extent, found in zip(static, dynamic, strict=True))


def _extents(emitter: Emitter, operation: str, view: Im2colView, count: int) -> list[Tile]:
    made = emitter.build(operation, [_view_value(emitter, view)], [[tile_type(datatypes.int32)] * count])
    return [Tile(result, datatypes.int32, ()) for result in made.results]


@implements(language.Im2colView.num_tiles)
def _num_tiles(self: Im2colView, emitter: Emitter, axis: KernelValue) -> KernelValue:
    if arguments.axis(axis, 2) == 1:
        return _channel_tiles(emitter, self)
    images, static = self.array.shape[0], _static_output_shape(self)
    if not isinstance(images, int) or None in static:
        return _extents(emitter, "tilex.get_im2col_index_space_shape", self, 2)[0]
    known = [images, *(extent for extent in static if extent is not None)]
    rows, pixels = (known[1:-1], (images, known[-1])) if self.mode in BY_ROW else ((), known)
    return math.prod(rows) * -(-math.prod(pixels) // self.tile_shape[0])


def _channel_tiles(emitter: Emitter, view: Im2colView) -> KernelValue:
    """The number of tiles along the channels."""
    if view.interleave is None:
        return tiles_along(emitter, view.array.shape[-1], view.tile_shape[1])
    slices = view.array.shape[1]
    if isinstance(slices, int):
        return tiles_along(emitter, slices * view.interleave, view.tile_shape[1])
    return _extents(emitter, "tilex.get_im2col_index_space_shape", view, 2)[1]


def _view_value(emitter: Emitter, view: Im2colView) -> ir.Value:
    """The view in Tile IR, built once directly after the tensor view, which dominates all uses."""
    key, views = (view.tile_shape, view.window, view.mode, view.interleave), view.array.views
    if key not in views:
        window, tensor_view = view.window, view.array.tensor_view
        geometry = (window.taps, window.dilation, window.stride, window.lower, window.upper)
        type = Im2colViewType.get(view.tile_shape, tensor_view.type, *geometry, view.mode, view.interleave)
        with ir.InsertionPoint.after(tensor_view.owner):
            views[key] = emitter.build("tilex.make_im2col_view", [tensor_view], [type]).results[0]
    return views[key]


@implements(language.Im2colView.load)
def load(self: Im2colView, emitter: Emitter, index: KernelValue, offset: KernelValue, **options: KernelValue) -> Tile:
    """The tile at an index and a tap."""
    operands = [_view_value(emitter, self), *_position(emitter, self, index, offset), None]
    results = [tile_type(self.array.dtype, self.tile_shape), TokenType.get()]
    loaded = emitter.build("tilex.load_im2col_tko", operands, results, access_attributes(options, _ORDERS))
    return Tile(loaded.results[0], self.array.dtype, self.tile_shape)


@implements(language.Im2colView.store)
def store(
    self: Im2colView,
    emitter: Emitter,
    index: KernelValue,
    tile: KernelValue,
    offset: KernelValue,
    **options: KernelValue,
) -> None:
    """Writes a tile at an index and a tap."""
    value = arguments.at("tile", broadcast, emitter, to_store(emitter, tile, self.array.dtype), self.tile_shape)
    operands = [value.value, _view_value(emitter, self), *_position(emitter, self, index, offset), None]
    emitter.build("tilex.store_im2col_tko", operands, [TokenType.get()], access_attributes(options, _ORDERS))


# Accesses of im2col views are weak.
_ORDERS = (MemoryOrder.WEAK,)


def _position(
    emitter: Emitter, view: Im2colView, index: KernelValue, offset: KernelValue
) -> tuple[list[ir.Value], list[ir.Value]]:
    """The index and the tap in Tile IR, which have one type."""
    items = index if isinstance(index, tuple) else (index,)
    if len(items) != 2:
        raise BadArgument("index", f"expected two indices, of the pixels and of the channels, got {len(items)}")
    values = view_indices(emitter, [*arguments.index(index, 2), *_taps(view.window, offset)])
    return values[:2], values[2:]


def _taps(window: ConvolutionWindow, offset: KernelValue) -> tuple[Operand, ...]:
    """One integer scalar per spatial dimension; zeros by default if the window has a single tap."""
    rank = len(window.taps)
    if offset is None:
        if any(taps != 1 for taps in window.taps):
            raise BadArgument("offset", f"expected a tap of the window {window.taps}, such as {(0,) * rank}, got none")
        return (0,) * rank
    items = offset if isinstance(offset, tuple) else (offset,)
    if len(items) != rank:
        raise BadArgument("offset", f"expected one offset per spatial dimension, {rank} in all, got {len(items)}")
    for item, taps in zip(items, window.taps, strict=True):
        number = arguments.known(item)
        if isinstance(number, int) and not 0 <= number < taps:
            raise BadArgument("offset", f"expected 0 to {taps - 1}, a tap of the window {window.taps}, got {number}")
    return arguments.index(items, rank, "offset")


# The arguments of ct.load and ct.store that im2col views do not have.
INAPPLICABLE: Inapplicable = {
    "shape": ((None,), "its tiles have the shape that the view gives"),
    "order": (("C",), "its tiles have the axes pixels and channels"),
    "padding_mode": ((PaddingMode.UNDETERMINED, PaddingMode.ZERO), "elements outside of the array are zero"),
    "check_bounds": ((True,), "every access is checked"),
    "memory_order": (_ORDERS, "its accesses are WEAK"),
}
