"""Operations in separate modules, so that a tool that does not know the terminators can verify each operation."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tilec.dialect.mlir import context, ext, ir
from tilec.text_input.module import Module

ASSEMBLY = sorted((Path(__file__).parents[1] / "dialect" / "assembly").glob("*.mlir"))


@functools.cache
def tile_modules() -> list[Module]:
    """The modules of the round-trip tests of Tile IR, which have every operation."""
    return [Module.read(path) for path in ASSEMBLY]


def tile_operations() -> list[ir.Operation]:
    """Every operation of these modules, including nested operations."""
    return [each for module in tile_modules() for op in module.ir.body.operations for each in _nested(op.operation)]


def in_separate_modules(samples: Iterable[ir.Operation]) -> str:
    """Generic text with each operation in a separate module; casts without operands define the used values."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        for sample in samples:
            inner = ir.Operation.create("builtin.module", regions=1, ip=ir.InsertionPoint(module.body))
            block = inner.regions[0].blocks.append()
            _cast_free_values(sample.clone(ip=ir.InsertionPoint(block)), block)
        return module.operation.get_asm(print_generic_op_form=True)


def _cast_free_values(operation: ir.Operation, block: ir.Block) -> None:
    operations = list(_nested(operation))
    defined = {result for each in operations for result in each.results}
    defined.update(a for each in operations for region in each.regions for b in region.blocks for a in b.arguments)
    casts: dict[ir.Value, ir.Value] = {}
    for each in operations:
        for index, operand in enumerate(list(each.operands)):
            if operand in defined:
                continue
            if operand not in casts:
                point = ir.InsertionPoint.at_block_begin(block)
                casts[operand] = ir.Operation.create(
                    "builtin.unrealized_conversion_cast", [operand.type], [], ip=point
                ).result
            each.operands[index] = casts[operand]


def _nested(operation: ir.Operation) -> Iterator[ir.Operation]:
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _nested(inner.operation)


def example(operation_class: Any, point: ir.InsertionPoint) -> None:
    """Creates an operation whose values may have any type, with values of i32 and the simplest attributes."""
    fields = operation_class._fields
    i32 = ir.IntegerType.get_signless(32)
    operands = sum(isinstance(field, ext.OperandDef) for field in fields)
    results = sum(isinstance(field, ext.ResultDef) for field in fields)
    attributes = {f.name: _simplest(f.constraint) for f in fields if isinstance(f, ext.AttributeDef)}
    for kind, count, segments in (
        ("operand", operands, operation_class._ODS_OPERAND_SEGMENTS),
        ("result", results, operation_class._ODS_RESULT_SEGMENTS),
    ):
        if segments is not None:
            attributes[f"{kind}SegmentSizes"] = ir.DenseI32ArrayAttr.get([1] * count)
    module = ir.Operation.create("builtin.module", regions=1, ip=point)
    with ir.InsertionPoint(module.regions[0].blocks.append()):
        source = ir.Operation.create("builtin.unrealized_conversion_cast", [i32] * max(1, operands), [])
        values = list(source.results)[:operands]
        ir.Operation.create(operation_class.OPERATION_NAME, [i32] * results, values, attributes)


def _simplest(constraint: Any) -> ir.Attribute:
    for kind, attribute in (
        (ir.StringAttr, ir.StringAttr.get("word")),
        (ir.IntegerAttr, ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)),
        (ir.ArrayAttr, ir.ArrayAttr.get([])),
        (ir.TypeAttr, ir.TypeAttr.get(ir.IntegerType.get_signless(32))),
    ):
        if constraint is kind:
            return attribute
    keywords = getattr(constraint, "__args__", ())
    if keywords and isinstance(keywords[0], str):
        return ir.StringAttr.get(keywords[0])
    if keywords:
        return _simplest(keywords[0])
    return ir.DenseI32ArrayAttr.get([1])
