"""The bytes of a tile of packed elements: pointers to them, and which of them are inside of the tensor."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.divisibility import divisor_of
from tilec.lowering.tile.analysis.index_arithmetic import WIDE, Number, broadcast
from tilec.lowering.tile.analysis.producer import without_assumptions
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_maker, tensor_strides
from tilec.lowering.tile.analysis.tile_index import is_below, limited
from tilec.lowering.tile.analysis.tile_parts import reshaped


class PackedBytes:
    """The bytes of the tile of a packed view at an index, with the operations that find them at the insertion point."""

    def __init__(self, view: ir.Value, index: Sequence[ir.Value]) -> None:
        self._type, self._tensor = view.type, tensor_maker(view)
        self._extents = tensor_extents(self._tensor)
        # A row starts at a byte, because a tile covers whole bytes.
        steps = (*self._type.tile_shape[:-1], self._type.tile_bytes)
        self._starts = [WIDE.product([limited(WIDE, at, step), step]) for at, step in zip(index, steps, strict=True)]
        self._fills = [
            divisor_of(extent) % step == 0 and is_below(at, extent, 1, step)
            for at, extent, step in zip(index, self._extents, steps, strict=True)
        ]

    def pointers(self, in_row: ir.Value) -> ir.Value:
        """Pointers to the bytes at these positions in each row of the tile."""
        found = _moved(self._tensor.base, self._starts[-1])
        shape = [*self._type.tile_shape[:-1], in_row.type.shape[0]]
        found = reshaped(found, (1,) * len(shape))
        offsets = [*map(self._row_offsets, range(len(shape) - 1)), in_row]
        for axis, offset in enumerate(offsets):
            partial = (*shape[: axis + 1], *(1,) * (len(shape) - axis - 1))
            found = _moved(broadcast(found, partial), along(offset, axis, partial))
        return found

    def _row_offsets(self, axis: int) -> ir.Value:
        """The distances of the rows of the tile along an outer dimension from the first row of the tensor."""
        stride = tensor_strides(self._tensor)[axis]
        # An assumption about a stride need not hold for an extent of one (cuTile marks all strides).
        stride = stride if isinstance(stride, int) else WIDE.cast(without_assumptions(stride))
        return WIDE.product([self._positions(axis), stride])

    def _positions(self, axis: int) -> ir.Value:
        return WIDE.sum([self._starts[axis], WIDE.iota(self._type.tile_shape[axis])])

    def inside(self, in_row: ir.Value) -> ir.Value | None:
        """Whether the bytes at these positions in each row of the tile are inside; None if all of them are."""
        shape = (*self._type.tile_shape[:-1], in_row.type.shape[0])
        rows = [self._is_inside(axis, self._positions(axis), shape) for axis in range(len(shape) - 1)]
        return WIDE.all([mask for mask in (*rows, self.inside_row(in_row)) if mask is not None])

    def inside_row(self, in_row: ir.Value) -> ir.Value | None:
        """Whether the bytes at these positions are inside of a row, for each row; None if all of them are."""
        shape = (*self._type.tile_shape[:-1], in_row.type.shape[0])
        wide = build("exti", [in_row], [TileType.get(shape[-1:], WIDE.scalar.element)], {"signedness": "unsigned"})
        return self._is_inside(len(shape) - 1, WIDE.sum([self._starts[-1], wide.result]), shape)

    def _is_inside(self, axis: int, positions: ir.Value, shape: Sequence[int]) -> ir.Value | None:
        if self._fills[axis]:
            return None
        return along(WIDE.is_less(positions, WIDE.cast(self._extents[axis])), axis, shape)


def along(values: ir.Value, axis: int, shape: Sequence[int]) -> ir.Value:
    """A tile of a shape whose elements change along an axis only, as those of a tile of one dimension do."""
    return broadcast(reshaped(values, [extent if k == axis else 1 for k, extent in enumerate(shape)]), shape)


def _moved(pointers: ir.Value, bytes: Number) -> ir.Value:
    """Pointers to bytes, moved by numbers of them."""
    return pointers if bytes == 0 else build("offset", [pointers, WIDE.made(bytes)], [pointers.type]).result
