"""Reductions and scans: the body becomes scalar arithmetic."""

from __future__ import annotations

from typing import Any

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.converts import converts


@converts("reduce")
def _reduce(op: Any, conversion: Conversion) -> None:
    _fold(op, conversion, "reduce", dimension=op.dim)


@converts("scan")
def _scan(op: Any, conversion: Conversion) -> None:
    _fold(op, conversion, "scan", dimension=op.dim, reverse=op.reverse)


def _fold(op: Any, conversion: Conversion, name: str, **attributes: Any) -> None:
    operands, results = list(op.operation.operands), list(op.operation.results)
    layout = conversion.layouts[operands[0]]
    sources = [conversion.tile(value, layout) for value in operands]
    types = [
        _folded_type(source, result, op, name, conversion) for source, result in zip(sources, results, strict=True)
    ]
    identities = op.operation.attributes["identities"]
    folded = emitter.gpu(name, sources, types, identities=identities, **attributes)
    _body(op.operation.regions[0].blocks[0], folded, conversion)
    for result, made in zip(results, folded.results, strict=True):
        conversion.set(result, made)
        conversion.set(result, conversion.tile(result, conversion.layouts.get(result)))


def _folded_type(source: ir.Value, result: ir.Value, op: Any, name: str, conversion: Conversion) -> ir.Type:
    """The layout that the fold leaves; the assigned one may be another."""
    element = source.type.element_type
    if name == "scan":
        return source.type
    if result.type.rank == 0:
        return element
    return emitter.tile_type(result.type.shape, element, conversion.layouts[op.operation.operands[0]].drop(op.dim))


def _body(block: ir.Block, folded: ir.Operation, conversion: Conversion) -> None:
    arguments = [argument.type.element for argument in block.arguments]
    body = folded.regions[0].blocks.append(*arguments)
    for old, new in zip(block.arguments, body.arguments, strict=True):
        conversion.set(old, new)
    with ir.InsertionPoint(body):
        conversion.block(block)
        last = block.operations[len(block.operations) - 1].operation
        emitter.gpu("yield", [conversion.get(value) for value in last.operands])
