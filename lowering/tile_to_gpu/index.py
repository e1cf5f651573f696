"""Extents, strides and indices of views: unsigned in Tile IR, i32 in tile_gpu only if they are known to fit."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.tile.bounds import bounds
from tilec.lowering.tile_to_gpu import emitter

# What i32 holds as a signed number.
MAXIMUM_NARROW = 2**31 - 1
# No element of a tensor map lies here: boxes have at most 256 elements along a dimension, extents are narrow.
FAR_COORDINATE = MAXIMUM_NARROW - 256


def is_narrow(value: ir.Value | int) -> bool:
    """Whether an extent, stride or index of Tile IR is known to be at most MAXIMUM_NARROW, read as unsigned."""
    if isinstance(value, int):
        return 0 <= value <= MAXIMUM_NARROW
    if value.type.element.width < 32:
        return True
    known = bounds(value)
    return 0 <= known.low and known.high <= MAXIMUM_NARROW


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
