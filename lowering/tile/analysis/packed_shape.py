"""The index space of a packed view (dialect/tilex/README.md): numbers or values of 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tilec.dialect.tilex.packed_type import PackedViewType
from tilec.lowering.tile.analysis.index_arithmetic import WIDE, Number

_BYTE = 8


def packed_index_space(type: PackedViewType, extents: Sequence[Number]) -> list[Number]:
    """The number of tiles along each dimension, for the extents of the tensor of bytes."""
    *outer, row = [WIDE.cast(extent) for extent in extents]
    common = gcd(type.bits, _BYTE)
    elements = WIDE.quotient(WIDE.product([row, _BYTE // common]), type.bits // common)
    return [WIDE.quotient_up(extent, step) for extent, step in zip([*outer, elements], type.tile_shape, strict=True)]
