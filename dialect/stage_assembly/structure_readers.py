"""Reads the operations that structure_printers.py prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.argument_locations import ArgumentLocations
from tilec.dialect.assembly.attributes.attributes import (
    read_attribute,
    read_integer,
    read_keyed_dictionary,
    read_optional_dictionary,
)
from tilec.dialect.assembly.tokens.lexer import is_name
from tilec.dialect.assembly.tokens.tokens import shown
from tilec.dialect.assembly.value_lists import check_types, read_arguments, read_values
from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.instruction import MAXIMUM_OPERANDS, MAXIMUM_RESULTS
from tilec.dialect.ptx.segments import segments
from tilec.dialect.stage_assembly.block_order import read_blocks
from tilec.dialect.stage_assembly.upstream_reader import create
from tilec.dialect.tile_gpu.operations.kernel import MAXIMUM_ROLES

if TYPE_CHECKING:
    from tilec.dialect.stage_assembly.reader import StageReader


def _string(reader: StageReader) -> ir.Attribute:
    if reader.tokens.peek()[:1] != '"':
        reader.tokens.fail(f"expected a string, but got {shown(reader.tokens.peek())}")
    return ir.StringAttr.get(reader.tokens.string())


def _integer32(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def read_kernel(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    symbol = tokens.symbol()
    argument_locations = ArgumentLocations()
    names, types = read_arguments(reader, argument_locations)
    tokens.expect("target")
    attributes = {"sym_name": ir.StringAttr.get(symbol), "target": _string(reader)}
    tokens.expect("warps")
    attributes["warps"] = _integer32(read_integer(tokens, bits=32))
    for size in ("cluster", "joined_programs"):
        if tokens.take(size):
            attributes[size] = _integer32(read_integer(tokens, bits=32))
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    attributes |= read_keyed_dictionary(reader.tokens)
    operation = create(reader, name, offset, point, attributes=attributes, regions=1)
    block = reader.block(operation.regions[0], types, names, "tile_gpu.return")
    argument_locations.assign(list(block.arguments))
    reader.locations.follow(argument_locations.others)
    return operation


def read_roles(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    carrier = ir.Operation.create("builtin.module", regions=1, loc=ir.Location.unknown())
    blocks: list[ir.Block] = []
    names: list[ir.Attribute] = []
    warps: list[int] = []
    registers: list[int] = []
    # The number of regions is known at the end, so blocks are read into a temporary region and moved.
    while is_name(tokens.peek()) and tokens.peek(1) == "warps":
        names.append(ir.StringAttr.get(tokens.next()))
        tokens.next()
        warps.append(read_integer(tokens, bits=32))
        if tokens.peek() == "registers":
            tokens.next()
            registers.append(read_integer(tokens, bits=32))
        blocks.append(reader.block(carrier.regions[0], [], [], "tile_gpu.return"))
    if not 1 <= len(blocks) <= MAXIMUM_ROLES:
        found = len(blocks) or shown(tokens.peek())
        tokens.fail(f"expected 1 to {MAXIMUM_ROLES} roles (compute warps 4), but got {found}")
    attributes = {"names": ir.ArrayAttr.get(names), "warps": ir.DenseI32ArrayAttr.get(warps)}
    if registers:
        attributes["registers"] = ir.DenseI32ArrayAttr.get(registers)
    attributes |= read_optional_dictionary(tokens)
    operation = create(reader, name, offset, point, attributes=attributes, regions=MAXIMUM_ROLES)
    for region, block in zip(operation.regions, blocks, strict=False):
        block.append_to(region)
    return operation


def read_reduction(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    values, positions = read_values(reader)
    tokens.expect("dimension")
    attributes: dict[str, object] = {"dimension": read_integer(tokens, bits=32)}
    if name == "tile_gpu.scan":
        tokens.expect("reverse")
        attributes["reverse"] = read_attribute(tokens)
    tokens.expect("identities")
    attributes["identities"] = read_attribute(tokens)
    attributes |= read_keyed_dictionary(reader.tokens)
    tokens.expect(":")
    check_types(reader, values, positions, reader.bare_types())
    tokens.expect("->")
    results = reader.bare_types()
    names, types = read_arguments(reader)
    with point:
        operation = build(name, [values], [results], attributes, loc=reader.source.location(offset))
    reader.block(operation.regions[0], types, names, "")
    return operation


def read_yield(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    values, positions = read_values(reader)
    reader.tokens.expect(":")
    check_types(reader, values, positions, reader.bare_types())
    with point:
        return build(name, [values], loc=reader.source.location(offset))


def read_entry(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    attributes: dict[str, ir.Attribute] = {"sym_name": ir.StringAttr.get(tokens.symbol())}
    attributes["parameters"] = ir.ArrayAttr.get(tokens.comma_list("(", ")", lambda: _parameter(reader)))
    tokens.expect("target")
    attributes["target"] = _string(reader)
    tokens.expect("threads")
    threads = tokens.comma_list("[", "]", lambda: read_integer(tokens, bits=32))
    attributes["threads"] = ir.DenseI32ArrayAttr.get(threads)
    attributes |= read_keyed_dictionary(reader.tokens)
    operation = create(reader, name, offset, point, attributes=attributes, regions=1)
    read_blocks(reader, operation.regions[0])
    return operation


def _parameter(reader: StageReader) -> ir.Attribute:
    name = reader.tokens.next()
    reader.tokens.expect(":")
    return ir.DictAttr.get({"name": ir.StringAttr.get(name), "type": ir.StringAttr.get(reader.tokens.next())})


def read_function(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    symbol = ir.StringAttr.get(reader.tokens.symbol())
    attributes = {"sym_name": symbol, "text": _string(reader), **read_keyed_dictionary(reader.tokens)}
    return create(reader, name, offset, point, attributes=attributes)


def read_instruction(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    tokens = reader.tokens
    attributes = {"text": _string(reader)}
    operands = tokens.comma_list("(", ")", reader.scope.use) if tokens.peek() == "(" else []
    if tokens.take("tied"):
        tied = tokens.comma_list("[", "]", lambda: read_integer(tokens, bits=32))
        attributes["tied"] = ir.DenseI32ArrayAttr.get(tied)
    attributes |= read_keyed_dictionary(reader.tokens)
    results = reader.bare_types() if tokens.take(":") else []
    if name.endswith("_many"):
        try:
            attributes |= segments(results, operands, ir.Context.current)
        except ValueError as error:
            tokens.fail_at(offset, str(error))
    elif len(results) > MAXIMUM_RESULTS or len(operands) > MAXIMUM_OPERANDS:
        tokens.fail_at(
            offset, f"'{name}' takes {MAXIMUM_RESULTS} results and {MAXIMUM_OPERANDS} operands: write {name}_many"
        )
    else:
        name = f"{name}_{len(results)}_{len(operands)}"
    return create(reader, name, offset, point, results, operands, attributes)


def read_return(reader: StageReader, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
    return create(reader, name, offset, point, attributes=read_keyed_dictionary(reader.tokens))
