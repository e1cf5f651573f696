"""Tiles of another role in another layout: moves of their elements, and addresses that the role computes again.

Moves compute nothing. Addresses need arithmetic, and loads whose memory the kernel does not change; each operation that
computes them again is beside its original.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    ConvertLayoutOp,
    IotaOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
)
from tilec.dialect.tile_gpu.operations.view import LoadViewOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import owner_of, reached
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.operation_role import has_repeatable_elements, set_compute_role
from tilec.lowering.gpu.memory.shared_plan import shared_layout
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.tile.analysis.tile_parts import kept_dimension

_CONVERT, _RESHAPE, _TRANSPOSE = ConvertLayoutOp.OPERATION_NAME, ReshapeOp.OPERATION_NAME, TransposeOp.OPERATION_NAME
MOVES = (_CONVERT, _RESHAPE, _TRANSPOSE)
# Operations whose results have the elements of operands, or their numbers.
_MOVED = (*MOVES, SplatOp.OPERATION_NAME, IotaOp.OPERATION_NAME, BroadcastOp.OPERATION_NAME)


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
    if shape[dimension] == 1 or sum(extent > 1 for extent in shape) > 2:
        return None
    if move.name == _TRANSPOSE:
        return int(list(move.attributes["permutation"])[dimension])
    return kept_dimension(before, shape, dimension)


def _shape(value: ir.Value) -> tuple[int, ...]:
    return tuple(ir.RankedTensorType(value.type).shape)


def may_be_computed_again(value: ir.Value, unknown: Set[ir.Value]) -> bool:
    """Whether a tile needs nothing but scalars that are not `unknown`, arithmetic, and repeatable loads."""
    for part in reached(value, lambda part: part.owner.operands if is_register_tile(part.type) else ()):
        if not _may_repeat(owner_of(part)) if is_register_tile(part.type) else part in unknown:
            return False
    return True


def _may_repeat(op: ir.Operation | None) -> bool:
    if op is None:
        return False
    if op.name == "arith.constant":
        return ir.DenseElementsAttr(op.attributes["value"]).is_splat
    return op.name in _MOVED or interface_of(op.name).is_elementwise or has_repeatable_elements(op)


class AddressesAgain:
    """Computes tiles again for a role; each tile once per layout."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._made: dict[tuple[ir.Value, str], ir.Value] = {}

    def tile(self, value: ir.Value, layout: LinearLayout) -> ir.Value:
        """A tile in a layout; a scalar is itself."""
        if not is_register_tile(value.type):
            return value
        key = value, str(layout)
        if key not in self._made:
            self._made[key] = self._computed(value.owner.operation, layout)
        return self._made[key]

    def _computed(self, op: ir.Operation, layout: LinearLayout) -> ir.Value:
        operands = [self.tile(operand, _operand_layout(op, operand, layout)) for operand in op.operands]
        if op.name == _CONVERT:
            return operands[0]
        made = op.clone(ip=ir.InsertionPoint.after(op))
        type = emitter.with_encoding(op.results[0].type, layout)
        made.results[0].set_type(type)
        if op.name == "arith.constant":
            value = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
            made.attributes["value"] = ir.DenseElementsAttr.get_splat(type, value)
        for number, operand in enumerate(operands):
            made.operands[number] = operand
        set_compute_role(made, self._role)
        return made.results[0]


def _operand_layout(op: ir.Operation, operand: ir.Value, layout: LinearLayout) -> LinearLayout:
    """The layout of an operand with which the result of an operation has a layout."""
    if not is_register_tile(operand.type):
        return layout
    shape = _shape(operand)
    if op.name == _RESHAPE:
        return layout.reshape(shape)
    if op.name == _TRANSPOSE:
        permutation = list(op.attributes["permutation"])
        return layout.transpose([permutation.index(dimension) for dimension in range(len(shape))])
    if op.name == LoadViewOp.OPERATION_NAME:
        return layout.keep(op.opview.sparse_dimension)
    for dimension, extent in enumerate(shape):
        layout = layout.project(dimension) if extent == 1 else layout
    return layout
