"""Reads the operations that upstream_printer.py prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attributes import read_attribute, read_integer, read_optional_dictionary
from tilec.dialect.assembly.tokens.tokens import shown
from tilec.dialect.assembly.value_lists import (
    Name,
    check_types,
    read_argument_name,
    read_arguments,
    read_initial_values,
    read_values,
)
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote
from tilec.dialect.stage_assembly.upstream import SEGMENTS
from tilec.dialect.tile_gpu.ids import ID
from tilec.dialect.upstream_predicates import PREDICATES, predicate_attribute

if TYPE_CHECKING:
    from tilec.dialect.stage_assembly.reader import StageReader


def create(
    reader: StageReader,
    name: str,
    offset: int,
    point: ir.InsertionPoint,
    results: Sequence[ir.Type] = (),
    operands: Sequence[ir.Value] = (),
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: int = 0,
    successors: Sequence[ir.Block] = (),
) -> ir.Operation:
    """Creates the operation at its location in the text."""
    try:
        return ir.Operation.create(
            name,
            list(results),
            list(operands),
            dict(attributes or {}),
            successors=list(successors),
            regions=regions,
            loc=reader.source.location(offset),
            ip=point,
        )
    except (ir.MLIRError, ValueError) as error:
        diagnostics = getattr(error, "error_diagnostics", None)
        reader.tokens.fail_at(offset, str(diagnostics[0].message) if diagnostics else str(error))


def read_upstream(reader: StageReader, name: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
    """Reads an operation without regions and successors."""
    tokens = reader.tokens
    attributes: dict[str, ir.Attribute] = {}
    if name in PREDICATES:
        word = tokens.peek()
        if word not in PREDICATES[name]:
            tokens.fail(f"expected one of {', '.join(PREDICATES[name])}, but got {shown(word)}")
        attributes["predicate"] = predicate_attribute(name, tokens.next())
        tokens.expect(",")
    values, positions = read_values(reader)
    attributes |= read_optional_dictionary(reader.tokens)
    if name in PREDICATES:
        return create(reader, name, offset, point, _compared(reader, values, positions), values, attributes)
    results: list[ir.Type] = []
    if tokens.take(":"):
        types = reader.bare_types() if tokens.peek() != "->" else []
        if tokens.take("to") or tokens.take("->"):
            check_types(reader, values, positions, types)
            results = reader.bare_types()
        elif count:
            results = types[:1] * count
            check_types(reader, values, positions, types * len(values) if len(types) == 1 else types)
        else:
            check_types(reader, values, positions, types)
    return create(reader, name, offset, point, results, values, attributes)


def _compared(reader: StageReader, values: list[ir.Value], positions: list[int]) -> list[ir.Type]:
    """`: i32`, the type of the compared operands; the result has their shape."""
    reader.tokens.expect(":")
    type = reader.tokens.type()
    check_types(reader, values, positions, [type] * len(values))
    bit = ir.IntegerType.get_signless(1)
    if isinstance(type, ir.RankedTensorType):
        return [ir.RankedTensorType.get(type.shape, bit, type.encoding, loc=ir.Location.unknown(type.context))]
    return [bit]


def read_constant(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    attributes = read_optional_dictionary(reader.tokens)
    start = reader.tokens.offset()
    value: ir.Attribute = read_attribute(reader.tokens)
    type = getattr(value, "type", None)
    if not isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr | ir.DenseElementsAttr):
        reader.tokens.fail_at(start, f"expected a number or elements with their type, but got {value}")
    return create(reader, name, offset, point, [type], [], {**attributes, "value": value})


def _trailing(reader: StageReader, operation: ir.Operation) -> ir.Operation:
    for name, attribute in read_optional_dictionary(reader.tokens).items():
        operation.attributes[name] = attribute
    return operation


def _id(reader: StageReader) -> dict[str, ir.Attribute]:
    """`id 3`, which may be absent."""
    if not reader.tokens.take("id"):
        return {}
    return {ID: ir.IntegerAttr.get(ir.IntegerType.get_signless(32), read_integer(reader.tokens, bits=32))}


def read_for(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    variable = read_argument_name(reader)
    bounds, positions = [], []
    for word in ("=", "to", "step"):
        tokens.expect(word)
        positions.append(tokens.at)
        bounds.append(reader.scope.use())
    names: list[Name] = []
    values: list[ir.Value] = []
    results: list[ir.Type] = []
    if tokens.take("iter_args"):
        names, values, at = read_initial_values(reader)
        tokens.expect("->")
        results = reader.types()
        check_types(reader, values, at, results)
    tokens.expect(":")
    type = tokens.type()
    check_types(reader, bounds, positions, [type] * 3)
    operation = create(reader, name, offset, point, results, [*bounds, *values], _id(reader), regions=1)
    reader.block(operation.regions[0], [type, *results], [variable, *names], "scf.yield")
    return _trailing(reader, operation)


def read_if(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    at = reader.tokens.at
    condition = reader.scope.use()
    reader.scope.check(at, condition, ir.IntegerType.get_signless(1))
    results = reader.types() if reader.tokens.take("->") else []
    operation = create(reader, name, offset, point, results, [condition], _id(reader), regions=2)
    reader.block(operation.regions[0], [], [], "scf.yield")
    if reader.tokens.take("else"):
        reader.block(operation.regions[1], [], [], "scf.yield")
    return _trailing(reader, operation)


def read_while(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    names, values, positions = read_initial_values(reader)
    tokens.expect(":")
    start, function = tokens.offset(), tokens.type()
    if not isinstance(function, ir.FunctionType):
        tokens.fail_at(start, f"expected the types of operands and results, but got {quote(function)}")
    check_types(reader, values, positions, list(function.inputs))
    operation = create(reader, name, offset, point, list(function.results), values, _id(reader), regions=2)
    reader.block(operation.regions[0], list(function.inputs), names, "")
    tokens.expect("do")
    names, types = read_arguments(reader)
    reader.block(operation.regions[1], types, names, "scf.yield")
    return _trailing(reader, operation)


def read_condition(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    reader.tokens.expect("(")
    first = reader.scope.use()
    reader.tokens.expect(")")
    values, positions = read_values(reader)
    if values:
        reader.tokens.expect(":")
        check_types(reader, values, positions, reader.bare_types())
    return create(reader, name, offset, point, [], [first, *values])


def read_branch(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    operands: list[ir.Value] = []
    if name == "cf.cond_br":
        operands.append(reader.scope.use())
        reader.tokens.expect(",")
    targets = reader.tokens.separated(lambda: _target(reader))
    passed = [value for _, values in targets for value in values]
    attributes = read_optional_dictionary(reader.tokens)
    if name == "cf.cond_br":
        attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get([1, *(len(values) for _, values in targets)])
    blocks = [block for block, _ in targets]
    return create(reader, name, offset, point, [], [*operands, *passed], attributes, successors=blocks)


def _target(reader: StageReader) -> tuple[ir.Block, list[ir.Value]]:
    tokens = reader.tokens
    name = tokens.peek()
    if name not in reader.blocks:
        tokens.fail(f"expected a block of the kernel (^bb1), but got {shown(name)}")
    tokens.next()
    values = tokens.comma_list("(", ")", reader.scope.use) if tokens.peek() == "(" else []
    return reader.blocks[name], values
