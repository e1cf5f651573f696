"""Reads the generic form of NVIDIA's tools: `"cuda_tile.op"(%a) <{..}> ({..}) {..} : (..) -> ..`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.argument_locations import ArgumentLocations
from tilec.dialect.assembly.attributes.attributes import read_dictionary, read_optional_dictionary
from tilec.dialect.assembly.attributes.generic_attributes import group_sizes_of, normalised
from tilec.dialect.assembly.operation_suggestions import unknown_operation
from tilec.dialect.build import group_lengths, segment_attribute
from tilec.dialect.fields import ONE, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS, SPELLED
from tilec.dialect.spelling import quote

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader


class GenericReader:
    """In the generic form types come last, so regions are read before the operation exists and moved into it."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.tokens = reader.tokens

    def module(self) -> ir.Module:
        """`"cuda_tile.module"() <{sym_name = "k"}> ({ .. }) : () -> ()`."""
        tokens = self.tokens
        location = self.reader.source.location(tokens.offset())
        tokens.next()
        tokens.comma_list("(", ")", tokens.next)
        attributes = self._attributes()
        module = ir.Module.create(loc=location)
        for key, value in attributes.items():
            module.operation.attributes["cuda_tile.producer" if key == "producer" else key] = value
        tokens.expect("(")
        tokens.expect("{")
        if tokens.peek()[:1] == "^":
            tokens.next()
            tokens.expect(":")
        self.reader.items(ir.InsertionPoint(module.body))
        tokens.expect("}")
        tokens.expect(")")
        for key, value in read_optional_dictionary(tokens).items():
            module.operation.attributes[key] = value
        tokens.expect(":")
        tokens.type()
        self.reader.locations.suffix(module.operation)
        return module

    def operation(self, point: ir.InsertionPoint) -> ir.Operation:
        tokens, offset = self.tokens, self.tokens.offset()
        spelled = tokens.next()[1:-1]
        name = SPELLED.get(spelled, spelled)
        if name not in OPERATIONS:
            tokens.fail_at(offset, unknown_operation(spelled))
        start = tokens.at + 1
        operands = tokens.comma_list("(", ")", self.reader.scope.use)
        attributes = self._attributes()
        regions = self._regions() if tokens.peek() == "(" else []
        attributes.update(read_optional_dictionary(tokens))
        tokens.expect(":")
        types, function = tokens.offset(), tokens.type()
        if not isinstance(function, ir.FunctionType):
            tokens.fail_at(types, f"expected the types of operands and results, but got {quote(function)}")
        if len(operands) != len(function.inputs):
            tokens.fail_at(types, f"expected {len(operands)} operand types, but got {len(function.inputs)}")
        self._check_operands(operands, list(function.inputs), start)
        return self._create(name, operands, list(function.results), attributes, regions, offset, point)

    def _attributes(self) -> dict[str, ir.Attribute]:
        tokens = self.tokens
        if not (tokens.peek() == "<" and tokens.peek(1) == "{"):
            return {}
        tokens.next()
        found = read_dictionary(tokens)
        tokens.expect(">")
        return found

    def _check_operands(self, operands: Sequence[ir.Value], types: Sequence[ir.Type], start: int) -> None:
        for index, (value, type) in enumerate(zip(operands, types, strict=True)):
            self.reader.scope.check(start + 2 * index, value, type)

    def _regions(self) -> list[ir.Operation]:
        """Reads each region into a temporary operation."""
        return self.tokens.comma_list("(", ")", self._region)

    def _region(self) -> ir.Operation:
        tokens, scope = self.tokens, self.reader.scope
        carrier = ir.Operation.create("builtin.module", regions=1, loc=ir.Location.unknown())
        tokens.expect("{")
        if tokens.take("}"):
            return carrier
        scope.open()
        names: list[tuple[str, int]] = []
        types: list[ir.Type] = []
        locations = ArgumentLocations()

        def argument() -> None:
            names.append((tokens.next(), tokens.offsets[tokens.at - 1]))
            tokens.expect(":")
            types.append(tokens.type())
            self.reader.locations.take(locations.setter(len(types) - 1))

        if tokens.peek()[:1] == "^":
            tokens.next()
            if tokens.peek() == "(":
                tokens.comma_list("(", ")", argument)
            tokens.expect(":")
        location = self.reader.source.location(tokens.offset())
        block = carrier.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
        locations.assign(list(block.arguments))
        for (name, offset), value in zip(names, block.arguments, strict=True):
            scope.define(name, [value], offset)
        self.reader.operations.read_all(ir.InsertionPoint(block))
        tokens.expect("}")
        scope.close()
        return carrier

    def _create(
        self,
        name: str,
        operands: list[ir.Value],
        results: list[ir.Type],
        attributes: dict[str, ir.Attribute],
        regions: list[ir.Operation],
        offset: int,
        point: ir.InsertionPoint,
    ) -> ir.Operation:
        cls = OPERATIONS[name]
        stored = normalised(cls, attributes)
        if len(regions) != len(cls.region_fields):
            self.tokens.fail_at(offset, f"'{name}' has {len(cls.region_fields)} regions, but got {len(regions)}")
        groups: tuple[tuple[str, tuple[ValueField, ...], Sequence[ir.Value | ir.Type]], ...] = (
            ("operand", cls.operand_fields, operands),
            ("result", cls.result_fields, results),
        )
        for kind, fields, values in groups:
            if any(field.arity != ONE for field in fields):
                sizes, problem = group_sizes_of(fields, stored.get(f"{kind}SegmentSizes"), len(values), kind)
                if problem is not None:
                    self.tokens.fail_at(offset, f"'{name}' {problem}")
                try:
                    lengths = group_lengths(fields, sizes, values)
                    stored[f"{kind}SegmentSizes"] = segment_attribute(fields, lengths, name)
                except ValueError as error:
                    self.tokens.fail_at(offset, str(error))
        operation = ir.Operation.create(
            name,
            results,
            operands,
            stored,
            regions=len(cls.region_fields),
            loc=self.reader.source.location(offset),
            ip=point,
        )
        for region, carrier in zip(operation.regions, regions, strict=True):
            for block in list(carrier.regions[0].blocks):
                block.append_to(region)
        return operation
