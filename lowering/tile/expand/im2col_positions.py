"""The output positions of the pixels of a tile of an im2col view, in row-major order.

The number of a pixel may exceed 32 bits. ptxas calls a function for a division in 64 bits, and serializes wgmma in
kernels with calls (C7509), so the positions of such pixels follow from that of the first pixel of the tile, if 32 bits
hold the output extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import greatest
from tilec.lowering.tile.analysis.im2col_tensor import Im2colTensor
from tilec.lowering.tile.analysis.index_arithmetic import NARROW, WIDE, IndexArithmetic, Number
from tilec.lowering.tile.analysis.index_space import divides_rows, tiles_of_run
from tilec.lowering.tile.analysis.tile_index import limited


def output_positions(tensor: Im2colTensor, outputs: Sequence[Number], tile: ir.Value) -> list[Number]:
    """The image and the output position of each pixel of the tile with a number; the image alone may be too large.

    The image has 32 bits if the tensor is narrow, else 64; the positions may have 32 bits also then. `outputs` are the
    output extents in 64 bits.
    """
    from_first = not tensor.is_narrow and _divides_in_32_bits(tensor, tile)
    numbers = NARROW if tensor.is_narrow or from_first else WIDE
    # An output without pixels has no tile; the divisors must not be zero all the same.
    shape = [numbers.cast(WIDE.at_least(1, extent)) for extent in outputs]
    pixels, rows = tensor.type.tile_shape[0], list[Number]()
    number = numbers.cast(tile) if from_first else limited(numbers, tile, pixels)
    if divides_rows(tensor.type):
        tiles = WIDE.at_least(1, tiles_of_run(tensor.type, tensor.extents[0], outputs))
        row, number = numbers.divided(number, numbers.cast(WIDE.at_most((1 << numbers.width) - 1, tiles)))
        rows, shape = _position(numbers, row, [0, *shape[1:-1]]), shape[-1:]
    if from_first:
        image, *position = _positions_from_first(number, pixels, shape)
        return [image, *rows, *position]
    first = numbers.product([number, pixels])
    image, *position = _position(numbers, numbers.sum([first, numbers.iota(pixels)]), [0, *shape])
    return [image, *rows, *position]


def _divides_in_32_bits(tensor: Im2colTensor, tile: ir.Value) -> bool:
    """Whether unsigned integers of 32 bits hold the number of the tile, and the output extents plus the tile."""
    return greatest(tile) < 1 << 32 and tensor.greatest_output + tensor.type.tile_shape[0] < 1 << 32


def _position(numbers: IndexArithmetic, number: Number, extents: Sequence[Number]) -> list[Number]:
    """The position of a row-major number; the first one is not limited by its extent."""
    found: list[Number] = []
    for extent in reversed(extents[1:]):
        number, at = numbers.divided(number, extent)
        found.insert(0, at)
    return [number, *found]


def _positions_from_first(tile: Number, pixels: int, shape: Sequence[Number]) -> list[Number]:
    """The images, in 64 bits, and the positions, in 32 bits: that of the first pixel, advanced with carries."""
    first = row_major_start(NARROW, tile, pixels.bit_length() - 1, shape)
    carry, position = NARROW.iota(pixels), list[Number]()
    for extent, start in reversed(list(zip(shape, first.position, strict=True))):
        carry, at = NARROW.divided(NARROW.sum([carry, start]), extent)
        position.insert(0, at)
    image = WIDE.sum([WIDE.product([WIDE.cast(first.tiles), pixels]), WIDE.cast(first.rest), WIDE.cast(carry)])
    return [image, *position]


@dataclass(frozen=True)
class _RowMajorStart:
    """The number `tiles * 2^bits + rest`, rest < 2^bits, of the leading dimension, and the position in the others."""

    tiles: Number
    rest: Number
    position: list[Number]


def row_major_start(numbers: IndexArithmetic, tile: Number, bits: int, extents: Sequence[Number]) -> _RowMajorStart:
    """The position of the number tile * 2^bits in positive extents, all but the leading one; nothing wraps."""
    rest: Number = 0
    position: list[Number] = []
    for extent in reversed(extents):
        tile, remainder = numbers.divided(tile, extent)
        rest, at = _divided(numbers, remainder, rest, bits, extent)
        position.insert(0, at)
    return _RowMajorStart(tile, rest, position)


def _divided(numbers: IndexArithmetic, high: Number, low: Number, bits: int, extent: Number) -> tuple[Number, Number]:
    """The quotient, which is less than 2^bits, and the remainder of high * 2^bits + low, for high < extent."""
    if high == 0 and low == 0:
        return 0, 0
    if isinstance(extent, int) and extent << bits <= 1 << numbers.width:
        return numbers.divided(numbers.sum([numbers.product([high, 1 << bits]), low]), extent)
    quotient: Number = 0
    left = high
    for place in reversed(range(bits)):
        # Twice the rest may exceed the integers, so the rest is compared with the extent minus the rest.
        next = numbers.sum([left, _digit(numbers, low, place)])
        lacking = numbers.difference(extent, left)
        is_less = numbers.is_less(numbers.made(next), lacking)
        left = numbers.select(is_less, numbers.sum([left, next]), numbers.difference(next, lacking))
        quotient = numbers.sum([numbers.product([quotient, 2]), numbers.select(is_less, 0, 1)])
    return quotient, left


def _digit(numbers: IndexArithmetic, number: Number, place: int) -> Number:
    return numbers.divided(numbers.quotient(number, 1 << place), 2)[1]
