"""Operations that move the elements of a tile and compute nothing, and their effect on layouts and buffers."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import ConvertLayoutOp, ReshapeOp, TransposeOp
from tilec.dialect.tile_gpu.types import BufferType
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.compute_roles import set_compute_role
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.layout.linear_layout import LinearLayout

_CONVERT, _RESHAPE, _TRANSPOSE = ConvertLayoutOp.OPERATION_NAME, ReshapeOp.OPERATION_NAME, TransposeOp.OPERATION_NAME
MOVES = (_CONVERT, _RESHAPE, _TRANSPOSE)


def moved_layout(layout: LinearLayout, moves: Sequence[ir.Operation]) -> LinearLayout:
    """The layout of a tile after operations that move its elements, if none converts the layout."""
    for move in moves:
        if move.name == _TRANSPOSE:
            layout = layout.transpose(list(move.attributes["permutation"]))
        elif move.name == _RESHAPE:
            layout = layout.reshape(_shape(move.results[0]))
    return layout


def moved_tile(tile: ir.Value, layout: LinearLayout, moves: Sequence[ir.Operation], role: str) -> ir.Value:
    """A tile in a layout whose elements a role moves like those of another tile."""
    for move in moves:
        if move.name == _CONVERT:
            continue
        layout = moved_layout(layout, [move])
        type = emitter.tile_type(layout.shape, tile.type.element_type, layout)
        attributes = {"permutation": move.attributes["permutation"]} if move.name == _TRANSPOSE else {}
        made = build(move.name, [tile], [type], attributes)
        set_compute_role(made, role)
        tile = made.results[0]
    return tile


def buffer_before(buffer: BufferType, moves: Sequence[ir.Operation]) -> BufferType | None:
    """The view of a shared buffer with the shape before the moves; None if it is not a view of a matrix."""
    shape, contiguous = tuple(buffer.shape), shared_layout(buffer).contiguous
    for move in reversed(moves):
        before = _shape(move.operands[0])
        found = _dimension_before(move, shape, before, contiguous)
        if found is None:
            return None
        shape, contiguous = before, found
    layout = " ".join([f"contiguous={contiguous}", *buffer.layout.split()[1:]])
    return BufferType.get(shape, buffer.element, buffer.memory, layout)


def _dimension_before(
    move: ir.Operation, shape: tuple[int, ...], before: tuple[int, ...], dimension: int
) -> int | None:
    """The dimension before a move that becomes a dimension of a matrix."""
    if move.name == _CONVERT:
        return dimension
    long, long_before = _long_dimensions(shape), _long_dimensions(before)
    if dimension not in long or len(long) > 2:
        return None
    if move.name == _TRANSPOSE:
        return int(list(move.attributes["permutation"])[dimension])
    if [shape[each] for each in long] != [before[each] for each in long_before]:
        return None
    return long_before[long.index(dimension)]


def _long_dimensions(shape: tuple[int, ...]) -> list[int]:
    return [dimension for dimension, extent in enumerate(shape) if extent > 1]


def _shape(value: ir.Value) -> tuple[int, ...]:
    return tuple(ir.RankedTensorType(value.type).shape)
