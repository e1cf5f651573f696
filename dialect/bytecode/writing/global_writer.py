"""Writes the global section."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.bytecode.writing.attribute_writer import AttributeWriter
from tilec.dialect.bytecode.writing.encoder import Encoder
from tilec.dialect.bytecode.writing.operation_plan import OperationPlan
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir


def write_globals(globals: Sequence[ir.OpView], attributes: AttributeWriter) -> bytes | None:
    """The section, or None if there are no globals."""
    if not globals:
        return None
    encoder = Encoder()
    encoder.varint(len(globals))
    for op in globals:
        attributes.gate.operation = op.operation
        _global(op, attributes, encoder)
    return bytes(encoder.data)


def _global(op: ir.OpView, attributes: AttributeWriter, encoder: Encoder) -> None:
    plan = OperationPlan.of(type(op), attributes.gate.version)
    plan.check(op.operation, attributes.gate)
    tensor = ir.RankedTensorType(op.value.type)
    encoder.varint(attributes.strings.index(op.sym_name))
    encoder.varint(attributes.types.index(TileType.get(tensor.shape, tensor.element_type)))
    encoder.varint(attributes.constants.index(op.value))
    encoder.varint(op.alignment)
    if not plan.younger:
        fields = op.attribute_fields
        attributes.field(fields["symbol_visibility"], op.attributes["symbol_visibility"], encoder)
        encoder.varint(op.constant)
