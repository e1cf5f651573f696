"""Reductions and scans: the body becomes scalar arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.cluster import GatherPartsOp
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp, ScanOp, YieldOp
from tilec.lowering import emitter
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import parse_layout
from tilec.lowering.tile.analysis.tile_operations import terminator
from tilec.lowering.tile.divide.divide_rows import COMBINED
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


@converts("reduce")
def _reduce(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, ReduceOp, dimension=op.dim)


@converts("scan")
def _scan(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, ScanOp, dimension=op.dim, reverse=op.reverse)


def _convert(op: ir.OpView, conversion: Conversion, operation: type[Operation], **attributes: object) -> None:
    operands, results = list(op.operation.operands), list(op.operation.results)
    layout = conversion.layouts[operands[0]]
    sources = [conversion.tile(value, layout) for value in operands]
    pairs = zip(sources, results, strict=True)
    types = [_result_type(operation, source, result, op, conversion) for source, result in pairs]
    identities = op.operation.attributes["identities"]
    converted = emitter.gpu(operation, sources, types, identities=identities, **attributes)
    block = op.operation.regions[0].blocks[0]
    _body(block, converted, conversion)
    made_by_all = list(converted.results)
    if COMBINED in op.operation.attributes:
        parts = [_parts(made, op.operation.attributes[COMBINED].value, conversion) for made in made_by_all]
        types = [made.type for made in made_by_all]
        converted = emitter.gpu(ReduceOp, parts, types, identities=identities, dimension=0)
        _body(block, converted, conversion)
    for result, made in zip(results, converted.results, strict=True):
        conversion.set_converted(result, made)


def _parts(made: ir.Value, ctas: int, conversion: Conversion) -> ir.Value:
    """The results of all CTAs along a new first dimension."""
    type = made.type
    if isinstance(type, ir.RankedTensorType):
        layout, element = parse_layout(type.encoding.value).stack(ctas), type.element_type
    else:
        layout, element = blocked((1,), conversion.warps).stack(ctas).drop(1), type
    return emitter.gpu(GatherPartsOp, [made], [emitter.tile_type(layout.shape, element, layout)]).result


def _result_type(
    operation: type[Operation], source: ir.Value, result: ir.Value, op: ir.OpView, conversion: Conversion
) -> ir.Type:
    """The type of a result as tile_gpu computes it; its assigned layout may be another."""
    element = source.type.element_type
    if operation is ScanOp:
        return source.type
    if result.type.rank == 0:
        return element
    return emitter.tile_type(result.type.shape, element, conversion.layouts[op.operation.operands[0]].drop(op.dim))


def _body(block: ir.Block, converted: ir.Operation, conversion: Conversion) -> None:
    arguments = [argument.type.element for argument in block.arguments]
    body = converted.regions[0].blocks.append(*arguments)
    for old, new in zip(block.arguments, body.arguments, strict=True):
        conversion.set(old, new)
    with ir.InsertionPoint(body):
        conversion.block(block)
        emitter.gpu(YieldOp, [conversion.get(value) for value in terminator(block).operation.operands])
