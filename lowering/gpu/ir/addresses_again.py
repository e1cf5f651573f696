"""The addresses of a load, computed again by another role in the layout of its threads.

Their operations are arithmetic, and loads whose memory the kernel does not change. Each copy is beside its original.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.shape import BroadcastOp, ConvertLayoutOp, IotaOp, ReshapeOp, SplatOp, TransposeOp
from tilec.dialect.tile_gpu.view import LoadViewOp
from tilec.dialect.walk import reached
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.compute_roles import set_compute_role
from tilec.lowering.gpu.ir.operation_role import has_repeatable_elements
from tilec.lowering.layout.linear_layout import LinearLayout

_CONVERT = ConvertLayoutOp.OPERATION_NAME
_MOVED = (*(op.OPERATION_NAME for op in (SplatOp, IotaOp, BroadcastOp, ReshapeOp, TransposeOp)), _CONVERT)


def may_be_computed_again(value: ir.Value, unknown: Set[ir.Value]) -> bool:
    """Whether a tile needs nothing but scalars that are not `unknown`, arithmetic, and repeatable loads."""
    return all(
        not isinstance(part.owner, ir.Block) and _may_repeat(part.owner.operation)
        if is_register_tile(part.type)
        else part not in unknown
        for part in reached(value, _operands_of_tile)
    )


def _operands_of_tile(value: ir.Value) -> Sequence[ir.Value]:
    return list(value.owner.operands) if is_register_tile(value.type) else ()


def _may_repeat(op: ir.Operation) -> bool:
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
    shape = tuple(ir.RankedTensorType(operand.type).shape)
    if op.name == ReshapeOp.OPERATION_NAME:
        return layout.reshape(shape)
    if op.name == TransposeOp.OPERATION_NAME:
        permutation = list(op.attributes["permutation"])
        return layout.transpose([permutation.index(dimension) for dimension in range(len(shape))])
    if op.name == LoadViewOp.OPERATION_NAME:
        return layout.keep(op.opview.sparse_dimension)
    for dimension, extent in enumerate(shape):
        layout = layout.project(dimension) if extent == 1 else layout
    return layout
