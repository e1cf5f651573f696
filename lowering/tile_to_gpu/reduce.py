"""Reductions and scans: the body becomes scalar arithmetic."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.layout_text import parse_layout
from tilec.lowering.tile.divide_rows import COMBINED
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.converts import converts


@converts("reduce")
def _reduce(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, "reduce", dimension=op.dim)


@converts("scan")
def _scan(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, "scan", dimension=op.dim, reverse=op.reverse)


def _convert(op: ir.OpView, conversion: Conversion, name: str, **attributes: object) -> None:
    operands, results = list(op.operation.operands), list(op.operation.results)
    layout = conversion.layouts[operands[0]]
    sources = [conversion.tile(value, layout) for value in operands]
    types = [
        _result_type(source, result, op, name, conversion) for source, result in zip(sources, results, strict=True)
    ]
    identities = op.operation.attributes["identities"]
    converted = emitter.gpu(name, sources, types, identities=identities, **attributes)
    block = op.operation.regions[0].blocks[0]
    _body(block, converted, conversion)
    made_by_all = list(converted.results)
    if COMBINED in op.operation.attributes:
        parts = [_parts(made, op.operation.attributes[COMBINED].value, conversion) for made in made_by_all]
        types = [made.type for made in made_by_all]
        converted = emitter.gpu("reduce", parts, types, identities=identities, dimension=0)
        _body(block, converted, conversion)
    for result, made in zip(results, converted.results, strict=True):
        conversion.set(result, made)
        conversion.set(result, conversion.tile(result, conversion.layouts.get(result)))


def _parts(made: ir.Value, ctas: int, conversion: Conversion) -> ir.Value:
    """The results of all CTAs along a new first dimension."""
    type = made.type
    if isinstance(type, ir.RankedTensorType):
        layout, element = parse_layout(type.encoding.value).stack(ctas), type.element_type
    else:
        layout, element = blocked((1,), conversion.warps).stack(ctas).drop(1), type
    return emitter.gpu("gather_parts", [made], [emitter.tile_type(layout.shape, element, layout)]).result


def _result_type(source: ir.Value, result: ir.Value, op: ir.OpView, name: str, conversion: Conversion) -> ir.Type:
    """The type of a result as tile_gpu computes it; its assigned layout may be another."""
    element = source.type.element_type
    if name == "scan":
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
        last = block.operations[len(block.operations) - 1].operation
        emitter.gpu("yield", [conversion.get(value) for value in last.operands])
