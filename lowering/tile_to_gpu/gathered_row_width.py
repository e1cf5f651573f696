"""The bytes of each access to the rows that take the place of an im2col view."""

from __future__ import annotations

import math

from tilec.dialect.mlir import ir
from tilec.lowering.tile.divisibility import divisibility, divisor_of
from tilec.lowering.tile.im2col_tensor import tensor_of
from tilec.lowering.tile_to_gpu.alignment import VECTOR_BYTES, element_bits


def narrow_access(view: ir.Value) -> str | None:
    """The reason why accesses are narrower than the alignment of the rows and the tile allows, or None.

    The last access of a row must not exceed the channels, so their number limits the width of all.
    """
    tensor, type = tensor_of(view), view.type
    if type.tensor_view.strides[-1] != 1:
        return None
    size = element_bits(type.element) // 8
    aligned = math.gcd(divisibility(tensor.base), tensor.unit * size, type.tile_shape[1] * size, VECTOR_BYTES)
    width = math.gcd(aligned, divisor_of(tensor.extents[-1]) * size)
    if width == aligned:
        return None
    expected = f"the number of channels is not known to be a multiple of {aligned // size}"
    return f"each access has {width} {'byte' if width == 1 else 'bytes'}, as {expected}"
