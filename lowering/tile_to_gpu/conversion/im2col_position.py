"""The coordinates at which TMA starts a column of pixels, from the number of a pixel tile.

They are computed directly after the definition of that number, so outside of the loops over the taps of the window.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.shape import IotaOp, SplatOp
from tilec.dialect.tilex.im2col_type import BY_ROW, Im2colViewType
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents
from tilec.lowering.tile.analysis.tile_operations import point_after
from tilec.lowering.tile_to_gpu.access.declarations import Declarations
from tilec.lowering.tile_to_gpu.access.image_run import ImageRun
from tilec.lowering.tile_to_gpu.access.index import tile_start
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, TileView

# A known number, or an i32 or i64. Divisors are positive and dividends are not negative.
_Scalar: TypeAlias = "int | ir.Value"


def start_coordinates(op: ir.OpView, view: TileView, conversion: Conversion) -> list[ir.Value]:
    """The coordinates of the first pixel of the tile of an access, innermost dimension first, as i32."""
    type, (_, channel_tile) = view.type, op.index
    image, *position = first_pixel(op, view, conversion)
    if type.interleave is not None:
        # An offset is the slice.
        return [emitter.i32(0), *reversed(position), emitter.i32(0), image]
    channels = type.tile_shape[1]
    channel = tile_start(channel_tile, conversion.get(channel_tile), channels, channels, 32, False)
    if type.mode in BY_ROW:
        position = _with_taps(op, type, position, conversion)
    return [channel, *reversed(position), image]


def tap_offsets(op: ir.OpView, type: Im2colViewType, conversion: Conversion) -> list[ir.Value]:
    """The distances of the tap of an access from the first one, W first, as i16; along W alone in the modes of rows.

    The distances of an interleaved tensor end with the first slice of the tile.
    """
    taps = list(zip(op.offset, type.dilation, strict=True))
    distances = [_distance(tap, dilation, conversion) for tap, dilation in reversed(taps)]
    chosen = distances[:1] if type.mode in BY_ROW else distances
    if type.interleave is not None:
        chosen = [*distances, _first_slice(op, type, conversion)]
    return [emitter.unary("arith.trunci", distance, emitter.integer_type(16)) for distance in chosen]


def row_offsets(op: ir.OpView, type: Im2colViewType, conversion: Conversion) -> list[ir.Value]:
    """The distances of the row of the window of an access from the first one, as tap_offsets(), and 0 along W."""
    zero = emitter.constant(emitter.integer_type(16), 0)
    return [zero, *tap_offsets(op, type, conversion)[1:]]


def run_rows(op: ir.OpView, view: TileView, run: ImageRun, type: ir.Type, conversion: Conversion) -> ir.Value:
    """The position of each pixel of the tile of an access in its run, at the first tap; a tile of i32."""
    index = op.index[0]
    key = ("positions in a run", op.view, index, type)
    if key not in conversion.positions:
        *_, start = first_pixel(op, view, conversion)
        with _point(start, conversion.declarations):
            conversion.positions[key] = [_run_rows(start, view.type, run, type)]
    return conversion.positions[key][0]


def _run_rows(start: ir.Value, view: Im2colViewType, run: ImageRun, type: ir.Type) -> ir.Value:
    """Pixel i has the number q0 + i in its row and those after it, which have `outputs` pixels each."""

    def repeated(value: ir.Value) -> ir.Value:
        return emitter.gpu(SplatOp, [value], [type]).result

    pixels = emitter.gpu(IotaOp, [], [type]).result
    rows = emitter.binary("arith.muli", pixels, repeated(emitter.i32(run.step))) if run.step > 1 else pixels
    if not run.skipped:
        return rows
    first = emitter.binary("arith.addi", start, emitter.i32(view.lower[-1]))
    first = _scalar_value(_divided(first, run.step), 32)
    numbers = emitter.binary("arith.addi", pixels, repeated(first))
    crossed = emitter.binary("arith.divui", numbers, repeated(emitter.i32(run.outputs)))
    return emitter.binary("arith.addi", rows, emitter.binary("arith.muli", crossed, repeated(emitter.i32(run.skipped))))


def _first_slice(op: ir.OpView, type: Im2colViewType, conversion: Conversion) -> ir.Value:
    """The slice where the tile of an access begins; the number of slices for a tile outside of them."""
    slices, step = type.tensor_view.shape[1], type.tile_shape[1] // type.interleave
    tile = op.index[1]
    first = tile_start(tile, conversion.get(tile), step, step, 32, False)
    return emitter.binary("arith.minui", first, emitter.i32(slices))


def _distance(tap: ir.Value, dilation: int, conversion: Conversion) -> ir.Value:
    return emitter.multiplied(emitter.cast_integer(conversion.get(tap), 32), dilation)


def _with_taps(
    op: ir.OpView, type: Im2colViewType, position: Sequence[ir.Value], conversion: Conversion
) -> list[ir.Value]:
    """The position with the distances of the tap in all dimensions but W, which the instruction adds."""
    *outer, along_w = zip(position, op.offset, type.dilation, strict=True)
    moved = [emitter.binary("arith.addi", at, _distance(tap, step, conversion)) for at, tap, step in outer]
    return [*moved, along_w[0]]


def first_pixel(op: ir.OpView, view: TileView, conversion: Conversion) -> list[ir.Value]:
    """The image and the spatial position that the first pixel of a tile reads at the first tap, as i32."""
    index = op.index[0]
    key = ("first pixel", op.view, index)
    if key not in conversion.positions:
        extents = _extents(view, conversion.declarations)
        made = conversion.get(index)
        with _point(made, conversion.declarations):
            number = emitter.cast_integer(made, max(32, made.type.width))
            conversion.positions[key] = _decoded(number, view.type, extents)
    return conversion.positions[key]


def in_rows_before(
    position: Sequence[ir.Value], op: ir.OpView, view: TileView, conversion: Conversion
) -> list[ir.Value]:
    """Coordinates of a pixel, W first and the image last, of which that along W may be in the row of pixels before."""
    type, extents = view.type, _extents(view, conversion.declarations)
    corners = [0, *(-lower for lower in reversed(type.lower[:-1]))]
    steps, found, at = list(reversed(type.stride)), list[ir.Value](), position[0]
    for k, (corner, step) in enumerate(zip(corners, steps, strict=True)):
        is_before = emitter.less_than(at, emitter.i32(corner), unsigned=False)
        row = _scalar_value(_multiplied(_at_least(extents[-1 - k], 1), step), 32)
        found.append(_select(is_before, emitter.binary("arith.addi", at, row), at))
        back = _select(is_before, emitter.i32(steps[k + 1] if k + 1 < len(steps) else 1), emitter.i32(0))
        at = emitter.binary("arith.subi", position[k + 1], back)
    return [*found, at]


@contextmanager
def output_column(op: ir.OpView, view: TileView, conversion: Conversion) -> Iterator[ir.Value]:
    """The output pixel along W with which the tile of an access starts, as i32; operations inside follow directly."""
    *_, start = first_pixel(op, view, conversion)
    with _point(start, conversion.declarations):
        first = emitter.binary("arith.addi", start, emitter.i32(view.type.lower[-1]))
        yield _scalar_value(_divided(first, view.type.stride[-1]), 32)


def _point(value: ir.Value, declarations: Declarations) -> ir.InsertionPoint:
    """Directly after the definition of a value, and after that of the extents, which stand at the top of the kernel."""
    owner = value.owner
    if isinstance(owner, ir.Block) and owner.owner.operation.name == KernelOp.OPERATION_NAME:
        return declarations.point()
    return point_after(value)


def _extents(view: TileView, declarations: Declarations) -> list[_Scalar]:
    """The number of images and the output extents, as numbers if they are known and else as i64."""
    type = view.type
    with declarations.point():
        images, *others, _ = [
            extent if isinstance(extent, int) else _scalar_value(declarations.integer(extent), 64)
            for extent in tensor_extents(view.tensor.source)
        ]
        spatial = others if type.interleave is None else others[1:]
        return [images, *(_output_extent(extent, type, k) for k, extent in enumerate(spatial))]


def _output_extent(extent: _Scalar, type: Im2colViewType, k: int) -> _Scalar:
    covered = (type.window[k] - 1) * type.dilation[k] + 1
    more = type.lower[k] + type.upper[k] - covered + type.stride[k]
    steps = _at_least(_added(extent, more), 0)
    # The extents of a map are below 2^31, and its paddings below 2^16 but along H and D in the modes of rows.
    if isinstance(steps, int) or type.stride[k] == 1 or more > MAXIMUM_NARROW:
        return _divided(steps, type.stride[k])
    return _scalar_value(_divided(_scalar_value(steps, 32), type.stride[k]), 64)


def _decoded(index: ir.Value, type: Im2colViewType, extents: Sequence[_Scalar]) -> list[ir.Value]:
    """The image and the position of the first pixel of a tile; a tile beyond the last one starts after the images."""
    pixels, width = type.tile_shape[0], index.type.width
    # An output without pixels has no tile; the divisors must not be zero all the same. Large paddings, which only the
    # modes of rows permit, may give more rows than an index can number.
    images, *shape = extents[0], *(_at_most_of_width(_at_least(extent, 1), width) for extent in extents[1:])
    tile: _Scalar = index
    rows: list[_Scalar] = []
    if type.mode in BY_ROW:
        *outer, last = shape
        tiles_of_row = _ceildiv(_multiplied(images, _at_least(extents[-1], 1)), pixels)
        # Limited to the numbers that an index has.
        tiles = _at_most_of_width(_at_least(tiles_of_row, 1), width)
        rows, tile, shape = _row_position(_divided(tile, tiles), outer), _remainder(tile, tiles), [last]
    number, *position = _pixel_position(_first_number(tile, [images, *shape], pixels), shape)
    steps = zip([*rows, *position], type.stride, type.lower, strict=True)
    starts = [_added(_multiplied(at, stride), -lower) for at, stride, lower in steps]
    is_inside = emitter.less_than(index, _tiles(extents, type, width), unsigned=True)
    image = _select(is_inside, number, _scalar_value(extents[0], 32))
    return [image, *(_scalar_value(value, 32) for value in starts)]


def _tiles(extents: Sequence[_Scalar], type: Im2colViewType, width: int) -> ir.Value:
    """The number of tiles of pixels, limited to the numbers of the width, which an index has."""
    rows, pixels = (extents[1:-1], [extents[0], extents[-1]]) if type.mode in BY_ROW else ([], extents)
    count = _multiplied(_product(rows), _ceildiv(_product(pixels), type.tile_shape[0]))
    found = _at_most_of_width(count, width)
    return emitter.unsigned(emitter.integer_type(width), found) if isinstance(found, int) else found


def _row_position(row: _Scalar, extents: Sequence[_Scalar]) -> list[_Scalar]:
    found: list[_Scalar] = []
    for extent in reversed(extents[1:]):
        found.append(_remainder(row, extent))
        row = _divided(row, extent)
    return [row, *reversed(found)] if extents else []


def _first_number(tile: _Scalar, extents: Sequence[_Scalar], pixels: int) -> PixelNumber:
    """The number of the first pixel of a tile of pixels with these extents, images first."""
    known = [extent for extent in extents if isinstance(extent, int)]
    is_narrow = len(known) == len(extents) and math.prod(known) + pixels <= MAXIMUM_NARROW
    if is_narrow or isinstance(tile, ir.Value) and tile.type.width == 64:
        return PixelNumber(_multiplied(tile, pixels))
    return PixelNumber(tile, 0, pixels.bit_length() - 1)


def _pixel_position(number: PixelNumber, extents: Sequence[_Scalar]) -> list[_Scalar]:
    """The image of a pixel, as i32, and its position in the extents."""
    found: list[_Scalar] = []
    for extent in reversed(extents):
        number, at = divide(number, extent)
        found.append(at)
    return [number.value(), *reversed(found)]


@dataclass(frozen=True)
class PixelNumber:
    """high * 2^bits + low, where low < 2^bits; `high` has 32 bits, or any width if `bits` is 0.

    There may be more than 2^32 pixels. ptxas calls a function for a division in 64 bits, and serializes wgmma in
    kernels with calls (C7509), so divisions by extents take the low digits one bit at a time.
    """

    high: _Scalar
    low: _Scalar = 0
    bits: int = 0

    def value(self) -> ir.Value:
        """The number as an i32; its higher bits are lost."""
        return _scalar_value(_joined(self.high, self.low, self.bits), 32)


def divide(number: PixelNumber, extent: _Scalar) -> tuple[PixelNumber, _Scalar]:
    """The quotient by a positive extent of the width of `high`, and the remainder."""
    if extent == 1:
        return number, 0
    rest, high = _remainder(number.high, extent), _divided(number.high, extent)
    if number.bits == 0:
        return PixelNumber(high), rest
    if isinstance(extent, int) and extent << number.bits <= 1 << 32:
        # The digits fit in 32 bits.
        digits = _joined(rest, number.low, number.bits)
        low, rest = _divided(digits, extent), _remainder(digits, extent)
    else:
        low, rest = _long_division(rest, number.low, number.bits, extent)
    return PixelNumber(high, low, number.bits), rest


def _joined(high: _Scalar, low: _Scalar, bits: int) -> _Scalar:
    """high * 2^bits + low."""
    return _added(_multiplied(high, 1 << bits), low)


def _long_division(rest: _Scalar, low: _Scalar, bits: int, extent: _Scalar) -> tuple[ir.Value, ir.Value]:
    """The digits of (rest * 2^bits + low) / extent, which are less than 2^bits as rest < extent, and the remainder."""
    divisor, left, quotient = _scalar_value(extent, 64), _scalar_value(rest, 64), emitter.i32(0)
    for place in reversed(range(bits)):
        left = emitter.multiplied(left, 2)
        if low != 0:
            left = emitter.binary("arith.addi", left, _scalar_value(_digit(low, place), 64))
        is_less = emitter.less_than(left, divisor, unsigned=True)
        digit = _select(is_less, emitter.i32(0), emitter.i32(1))
        quotient = emitter.binary("arith.addi", emitter.multiplied(quotient, 2), digit)
        left = _select(is_less, left, emitter.binary("arith.subi", left, divisor))
    return quotient, emitter.cast_integer(left, 32)


def _digit(value: _Scalar, place: int) -> _Scalar:
    """One binary digit of a number of 32 bits."""
    if isinstance(value, int):
        return value >> place & 1
    return emitter.binary("arith.andi", emitter.binary("arith.shrui", value, emitter.i32(place)), emitter.i32(1))


def _select(condition: ir.Value, then: ir.Value, otherwise: ir.Value) -> ir.Value:
    return emitter.create("arith.select", [then.type], [condition, then, otherwise]).result


def _scalar_value(value: _Scalar, width: int) -> ir.Value:
    """The value as an integer of `width` bits; the sign of a known number and of a wider value is kept."""
    if isinstance(value, int):
        return emitter.constant(emitter.integer_type(width), value)
    return emitter.cast_integer(value, width)


def _computed(name: str, fold: Callable[[int, int], int], left: _Scalar, right: _Scalar) -> _Scalar:
    """The result of an operation of arith, in the width of the wider operand; `fold` computes that of numbers."""
    if isinstance(left, int) and isinstance(right, int):
        return fold(left, right)
    width = max(value.type.width for value in (left, right) if not isinstance(value, int))
    return emitter.binary(name, _scalar_value(left, width), _scalar_value(right, width))


def _added(left: _Scalar, right: _Scalar) -> _Scalar:
    return left if right == 0 else _computed("arith.addi", operator.add, left, right)


def _multiplied(left: _Scalar, right: _Scalar) -> _Scalar:
    if 1 in (left, right):
        return right if left == 1 else left
    return _computed("arith.muli", operator.mul, left, right)


def _product(factors: Sequence[_Scalar]) -> _Scalar:
    return reduce(_multiplied, factors, 1)


def _divided(left: _Scalar, right: _Scalar) -> _Scalar:
    """left / right, rounded down."""
    return left if right == 1 else _computed("arith.divui", operator.floordiv, left, right)


def _ceildiv(left: _Scalar, right: int) -> _Scalar:
    return left if right == 1 else _computed("arith.ceildivui", lambda left, right: -(-left // right), left, right)


def _remainder(left: _Scalar, right: _Scalar) -> _Scalar:
    return 0 if right == 1 else _computed("arith.remui", operator.mod, left, right)


def _at_least(value: _Scalar, least: int) -> _Scalar:
    """The maximum of signed numbers."""
    if isinstance(value, int):
        return max(value, least)
    return emitter.binary("arith.maxsi", value, emitter.constant(value.type, least))


def _at_most_of_width(value: _Scalar, width: int) -> _Scalar:
    """A known number or an i64, at most the greatest unsigned number of a width, as an integer of this width."""
    limit = (1 << width) - 1
    if isinstance(value, int):
        return min(value, limit)
    if width == 64:
        return value
    return emitter.cast_integer(emitter.binary("arith.minui", value, emitter.unsigned(value.type, limit)), width)
