"""Reads operations with a custom syntax: kernels, branches, loops, reductions, terminators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.argument_locations import ArgumentLocations
from tilec.dialect.assembly.attributes.attributes import (
    read_attribute,
    read_hints,
    read_integer,
    read_optional_dictionary,
)
from tilec.dialect.assembly.value_lists import (
    Name,
    check_types,
    read_argument_name,
    read_arguments,
    read_initial_values,
    read_values,
)
from tilec.dialect.build import build
from tilec.dialect.mlir import ir

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader


def _build(
    reader: Reader,
    name: str,
    offset: int,
    point: ir.InsertionPoint,
    operands: Sequence[ir.Value] = (),
    results: Sequence[ir.Type] = (),
    attributes: Mapping[str, object] | None = None,
) -> ir.Operation:
    try:
        with point:
            return build(name, operands, results, attributes, loc=reader.source.location(offset))
    except ValueError as error:
        reader.source.fail(offset, str(error))


def _trailing_attributes(reader: Reader, operation: ir.Operation) -> None:
    for name, attribute in read_optional_dictionary(reader.tokens).items():
        operation.attributes[name] = attribute


def read_terminator(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    """`yield %a, %b : type, type`."""
    attributes = read_optional_dictionary(reader.tokens)
    values, positions = read_values(reader)
    if values:
        reader.tokens.expect(":")
        check_types(reader, values, positions, reader.bare_types())
    return _build(reader, name, offset, point, values, (), attributes)


def read_if(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    condition = reader.scope.use()
    types = reader.types() if reader.tokens.take("->") else []
    operation = _build(reader, name, offset, point, [condition], types)
    reader.block(operation.regions[0], [], [], "cuda_tile.yield")
    if reader.tokens.take("else"):
        reader.block(operation.regions[1], [], [], "cuda_tile.yield")
    _trailing_attributes(reader, operation)
    return operation


def _carried(reader: Reader) -> tuple[list[Name], list[ir.Value], list[int]]:
    """`iter_values(%a = %x, ..)`, or nothing."""
    return read_initial_values(reader) if reader.tokens.take("iter_values") else ([], [], [])


def _check_carried(reader: Reader, values: list[ir.Value], positions: list[int], types: list[ir.Type]) -> None:
    if len(values) != len(types):
        reader.tokens.fail(f"found different number of iter_values and types: {len(values)} and {len(types)}")
    check_types(reader, values, positions, types)


def read_for(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    unsigned = tokens.take("unsigned")
    variable = read_argument_name(reader)
    bounds, positions = [], []
    for word in ("in", "(", None, "to", None, ",", "step", None, ")", ":"):
        if word is None:
            positions.append(tokens.at)
            bounds.append(reader.scope.use())
        else:
            tokens.expect(word)
    type = tokens.type()
    check_types(reader, bounds, positions, [type] * 3)
    names, values, positions = _carried(reader)
    types: list[ir.Type] = []
    if values:
        tokens.expect("->")
        types = reader.types()
    _check_carried(reader, values, positions, types)
    operation = _build(reader, name, offset, point, [*bounds, *values], types, {"unsignedCmp": unsigned})
    reader.block(operation.regions[0], [type, *types], [variable, *names], "cuda_tile.continue")
    _trailing_attributes(reader, operation)
    return operation


def read_loop(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    names, values, positions = _carried(reader)
    types: list[ir.Type] = []
    results: list[ir.Type] = []
    if tokens.take(":"):
        first = reader.bare_types()
        if values:
            types, results = first, reader.bare_types() if tokens.take("->") else []
        else:
            results = first
    _check_carried(reader, values, positions, types)
    operation = _build(reader, name, offset, point, values, results)
    reader.block(operation.regions[0], types, names, "cuda_tile.continue")
    _trailing_attributes(reader, operation)
    return operation


def read_reduction(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    """A reduce or a scan."""
    tokens = reader.tokens
    values, positions = read_values(reader)
    attributes: dict[str, object] = dict(read_optional_dictionary(tokens))
    tokens.expect("dim")
    tokens.expect("=")
    attributes["dim"] = read_integer(tokens, bits=32)
    if name == "cuda_tile.scan":
        tokens.expect("reverse")
        tokens.expect("=")
        attributes["reverse"] = read_attribute(tokens)
    tokens.expect("identities")
    tokens.expect("=")
    attributes["identities"] = read_attribute(tokens)
    tokens.expect(":")
    check_types(reader, values, positions, reader.bare_types())
    tokens.expect("->")
    results = reader.bare_types()
    names, types = read_arguments(reader)
    operation = _build(reader, name, offset, point, values, results, attributes)
    reader.block(operation.regions[0], types, names, "cuda_tile.yield")
    return operation


def read_entry(reader: Reader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    attributes: dict[str, object] = {"sym_name": tokens.symbol()}
    names: list[Name] = []
    types: list[ir.Type] = []
    dictionaries: list[dict[str, ir.Attribute]] = []
    starts: list[ir.Location] = []
    argument_locations = ArgumentLocations()

    def argument() -> None:
        starts.append(reader.source.location(tokens.offset()))
        if tokens.peek()[:1] == "%":
            names.append(read_argument_name(reader))
            tokens.expect(":")
        types.append(tokens.type())
        dictionaries.append(read_optional_dictionary(tokens))
        reader.locations.take(argument_locations.setter(len(types) - 1))

    tokens.comma_list("(", ")", argument)
    if tokens.take("->"):
        results = reader.types() if tokens.peek() == "(" else [tokens.type()]
    else:
        results = []
    if names and len(names) != len(types):
        reader.source.fail(offset, "expected all arguments of the entry to be named, or none")
    if tokens.peek() == "optimization_hints":
        tokens.next()
        tokens.expect("=")
        attributes["optimization_hints"] = read_hints(tokens)
    if any(dictionaries):
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in dictionaries])
    attributes["function_type"] = ir.FunctionType.get(types, results)
    operation = _build(reader, name, offset, point, (), (), attributes)
    unnamed = [(f"%<argument {index}>", offset) for index in range(len(types))]
    block = reader.block(operation.regions[0], types, names or unnamed, "cuda_tile.return", starts)
    argument_locations.assign(list(block.arguments))
    reader.locations.follow(argument_locations.others)
    _trailing_attributes(reader, operation)
    return operation
