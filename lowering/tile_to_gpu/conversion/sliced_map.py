"""The tensor map of all slices of an array along a dimension, and the coordinates of a slice in it.

The dimension with stride S whose extent `size` the kernel computes has the extent 2**31 - 1 in the map, and row r of
the slice is at r + (2**31 - 1 - size): TMA's own check of the extent ends at the end of the slice. Two more dimensions
bring the address back to row r + start:

    coordinate                     stride            address
    2**31 - 1 - size + r           S                 (r - size) * S + (2**31 - 1) * S
    start + size + 1 - h * 2**30   S                 (start + size + 1) * S - h * 2**30 * S
    2**30 - h * 2**29              2**35 - 2 * S     -2**31 * S + h * 2**30 * S, modulo 2**64

where h = min((start + size) / 2**30, 2) keeps the coordinates below 2**31. The sum is (start + r) * S: addresses have
64 bits, so 2**35 * 2**29 is 0.

If the elements along the dimension are adjacent, E bytes each, strides and coordinates are multiples of 16 bytes, of
which each is G elements:

    2**31 - G - size + r           E                 (r - size - G) * E + 2**31 * E
    (start + size) / G + 1         16                (start + size + G) * E
    2**27                          2**38 - 16 * E    -2**31 * E, modulo 2**64

Each other offset of the slice is one more dimension.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW
from tilec.lowering.tile.analysis.index_arithmetic import Number
from tilec.lowering.tile.analysis.list_words import list_word
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_strides
from tilec.lowering.tile.analysis.tile_operations import without_assumptions
from tilec.lowering.tile_to_gpu.access.declarations import Declarations
from tilec.lowering.tile_to_gpu.access.index import of_one_width
from tilec.lowering.tile_to_gpu.access.sliced_tensors import Offset, Slice, list_item
from tilec.lowering.tma.tensor_map import ELEMENTS

# The strides in bytes whose products with 2**29 and with _ADJACENT_COORDINATE are 0 modulo 2**64.
_WRAPPING_BYTES, _ADJACENT_WRAPPING_BYTES = 1 << 35, 1 << 38
_ADJACENT_COORDINATE, _ADJACENT_STEPS = 1 << 27, 16
_PERIOD_BITS = 30


@dataclass(frozen=True)
class SlicePosition:
    """The coordinates that select a slice in its map, as i32.

    Row 0 of the slice is at `first` along `dimension`, whose extent is `extent`; both are None with `dimension`.
    """

    dimension: int | None
    first: ir.Value | None
    extent: ir.Value | None
    further: tuple[ir.Value, ...]

    def of_rows(self, start: ir.Value, dimension: int, is_inside: bool) -> ir.Value:
        """The coordinate of a tile that starts at `start`; tiles after the last row start at the extent of the map."""
        if dimension != self.dimension or self.first is None or self.extent is None:
            return start
        row = start if is_inside else emitter.binary("arith.minui", start, self.extent)
        return emitter.binary("arith.addi", row, self.first)


def position_of(slice: Slice, extent: ir.Value | None, indices: list[ir.Value | int]) -> SlicePosition:
    """The coordinates of a slice, from the extent that the kernel computes and the converted index of each offset."""
    steps = [_steps(offset, index) for offset, index in zip(slice.offsets, indices, strict=True)]
    if extent is None:
        return SlicePosition(None, None, None, tuple(steps))
    size = emitter.cast_integer(extent, 32)
    first = emitter.binary("arith.subi", emitter.i32(_sliced_extent(slice)), size)
    if slice.granule > 1:
        units = emitter.binary("arith.divui", size, emitter.i32(slice.granule))
        last = emitter.binary("arith.addi", emitter.binary("arith.addi", steps[0], units), emitter.i32(1))
        return SlicePosition(slice.dimension, first, size, (last, *steps[1:], emitter.i32(_ADJACENT_COORDINATE)))
    end = emitter.binary("arith.addi", steps[0], size)
    period = emitter.binary(
        "arith.minui", emitter.binary("arith.shrui", end, emitter.i32(_PERIOD_BITS)), emitter.i32(2)
    )
    before = emitter.binary("arith.shli", period, emitter.i32(_PERIOD_BITS))
    row = emitter.binary("arith.subi", emitter.binary("arith.addi", end, emitter.i32(1)), before)
    half = emitter.binary("arith.shli", period, emitter.i32(_PERIOD_BITS - 1))
    wrapping = emitter.binary("arith.subi", emitter.i32(1 << _PERIOD_BITS), half)
    return SlicePosition(slice.dimension, first, size, (row, *steps[1:], wrapping))


def _steps(offset: Offset, index: ir.Value | int) -> ir.Value:
    """The steps of an offset: a number below 2**31."""
    if isinstance(index, int):
        return emitter.i32(index * offset.factor // offset.divisor)
    if offset.divisor > 1:
        index = emitter.binary("arith.divui", index, emitter.constant(index.type, offset.divisor))
    return emitter.multiplied(emitter.cast_integer(index, 32), offset.factor)


def launch_values(
    source: ir.OpView, declarations: Declarations, slice: Slice | None = None
) -> tuple[list[ir.Value], list[ir.Value]]:
    """The extents and strides of a tensor for the launcher; a constant for the extent that a kernel computes."""
    known = list(tensor_extents(source))
    if slice is not None and slice.dimension is not None:
        known[slice.dimension] = _sliced_extent(slice)
    extents = [declarations.integer(extent) for extent in known]
    strides = [declarations.integer(stride) for stride in tensor_strides(source)]
    with declarations.point():
        return of_one_width(extents), of_one_width(strides)


def _sliced_extent(slice: Slice) -> int:
    """The extent in the map of the dimension whose extent the kernel computes."""
    return MAXIMUM_NARROW + 1 - slice.granule


def further_dimensions(
    slice: Slice, element: str, parts: int, declarations: Declarations
) -> tuple[list[ir.Value], list[ir.Value]]:
    """The extents and strides of the further dimensions, in elements of the map: `parts` elements of the tensor."""
    strides = [declarations.integer(offset.stride) for offset in slice.offsets]
    with declarations.point():
        steps = [emitter.cast_integer(stride, 64) for stride in strides]
        if parts > 1:
            steps = [emitter.binary("arith.divui", step, emitter.i64(parts)) for step in steps]
        extents = [emitter.i64(1 << 31) for _ in steps]
        if slice.dimension is not None:
            is_adjacent = slice.granule > 1
            whole = (_ADJACENT_WRAPPING_BYTES if is_adjacent else _WRAPPING_BYTES) * 8 // ELEMENTS[element].bits
            moved = emitter.i64(_ADJACENT_STEPS // parts) if is_adjacent else emitter.multiplied(steps[0], 2)
            steps.append(emitter.binary("arith.subi", emitter.i64(whole), moved))
            extents.append(emitter.i64((1 << _PERIOD_BITS) + 1))
    return extents, steps


def key_of_map(slice: Slice | None, source: ir.OpView) -> Hashable:
    """What the maps of all slices of an array along the dimension, or of all arrays of a list, have in common."""
    if slice is None:
        if list_item(source) is None:
            return source.operation.results[0]
        slice = Slice(source.base, (), None)
    extents = [None if k == slice.dimension else _key(extent) for k, extent in enumerate(tensor_extents(source))]
    strides = [*tensor_strides(source), *(offset.stride for offset in slice.offsets)]
    return _key(slice.base), slice.dimension, tuple(extents), tuple(map(_key, strides))


def _key(number: Number) -> Hashable:
    if isinstance(number, int):
        return number
    word = list_word(number)
    return without_assumptions(number) if word is None else (word.item.list, word.number)
