"""Rules for the parameters of a packed view; each returns the problem, or None."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.cuda_tile.type_rules import tile_view_problem
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

# The sizes of packed elements in bits.
PACKED_BITS = (2, 4, 6)
_BYTE = 8


def packed_view_problem(tile_shape: Sequence[int], bits: int, tensor_view: ir.Type) -> str | None:
    """The problem with the parameters of a packed view, or None."""
    if bits not in PACKED_BITS:
        return f"packed_view expects bits to be one of: {', '.join(map(str, PACKED_BITS))}, but got: {bits}"
    problem = tile_view_problem(tile_shape, tensor_view, None)
    return problem or _bytes_problem(tensor_view) or whole_bytes_problem(tile_shape[-1], bits)


def _bytes_problem(tensor_view: ir.Type) -> str | None:
    if spell(tensor_view.element) != "i8":
        return f"packed_view expects a tensor of bytes, i8, but got elements of {spell(tensor_view.element)}"
    if tensor_view.strides[-1] != 1:
        return f"packed_view expects a static stride of 1 in the innermost dimension, but got {quote(tensor_view)}"
    return None


def whole_bytes_problem(extent: int, bits: int) -> str | None:
    """Tiles of partial bytes would share a byte, and the stores of one would lose the elements of the other."""
    if extent * bits % _BYTE:
        needed = f"the innermost extent of the tile must be a multiple of {elements_per_group(bits)}"
        return f"a tile of {bits}-bit elements covers whole bytes: {needed}, but got {extent}"
    return None


def elements_per_group(bits: int) -> int:
    """The fewest elements of a size that fill whole bytes."""
    return next(count for count in range(1, _BYTE + 1) if count * bits % _BYTE == 0)
