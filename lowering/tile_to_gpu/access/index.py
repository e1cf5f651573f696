"""Extents, strides and indices of views: unsigned in Tile IR, i32 in tile_gpu only if they are known to fit."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.bounds import MAXIMUM_NARROW, greatest


def is_narrow(value: ir.Value | int) -> bool:
    """Whether an extent or stride of Tile IR is known to be at most MAXIMUM_NARROW, read as unsigned."""
    return 0 <= greatest(value) <= MAXIMUM_NARROW


def index_of(value: ir.Value, made: ir.Value) -> ir.Value:
    """The converted scalar, as i32 if it is narrow, else as i64."""
    return emitter.cast_integer(made, 32 if is_narrow(value) else 64)


def index_constant(value: int) -> ir.Value:
    """A known extent or stride as i32 if it is narrow, else as i64."""
    return emitter.i32(value) if is_narrow(value) else emitter.i64(value)


def of_one_width(values: Sequence[ir.Value]) -> list[ir.Value]:
    """The values, none negative, all as i64 if any of them is."""
    width = max((value.type.width for value in values), default=32)
    return [emitter.cast_integer(value, width) for value in values]


def greatest_start(index: ir.Value, step: int) -> int:
    """The largest first element of a tile at an index of Tile IR, if tiles start `step` elements apart."""
    return greatest(index) * step


def tile_start(index: ir.Value, made: ir.Value, step: int, extent: int, width: int, is_inside: bool) -> ir.Value:
    """The first element of the tile at an index of Tile IR along one dimension, as an integer of `width` bits.

    A tile outside the tensor starts outside: where index * step may wrap, the index is limited to the first one at or
    beyond 2**(width - 1), which no extent reaches.

    Args:
        index: The index in Tile IR.
        made: The converted index.
        step: The elements between the starts of tiles.
        extent: The elements of the tile.
        width: The bits of the extents of the tensor.
        is_inside: Whether the tile is known to lie inside the tensor.
    """
    if not is_inside and greatest_start(index, step) + extent > 1 << width:
        made = emitter.cast_integer(made, max(made.type.width, width))
        made = emitter.binary("arith.minui", made, emitter.unsigned(made.type, -(-(1 << width - 1) // step)))
    return emitter.multiplied(emitter.cast_integer(made, width), step)


def sparse_index(index: ir.Value, made: ir.Value, width: int) -> ir.Value:
    """A tile of indices of Tile IR, read as unsigned, as integers of `width` bits.

    An index that does not fit becomes 2**(width - 1), which no extent reaches.
    """
    have = index.type.element.width
    if have == width:
        return made
    if have > width and not is_narrow(index):
        made = emitter.binary("arith.minui", made, emitter.constant(made.type, 1 << width - 1))
    type = emitter.with_element(made.type, emitter.integer_type(width))
    return emitter.unary("arith.extui" if have < width else "arith.trunci", made, type)
