"""Reads the generic form as NVIDIA's tools print it: `"cuda_tile.op"(%a) <{..}> ({..}) {..} : (..) -> ..`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilec.dialect.assembly.attributes import read_dictionary
from tilec.dialect.assembly.unknown_operation import unknown_operation
from tilec.dialect.build import group_lengths, segment_attribute
from tilec.dialect.fields import ONE, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS, SPELLED

if TYPE_CHECKING:
    from tilec.dialect.assembly.reader import Reader


class GenericReader:
    """The generic form says types last, so regions are read before the operation exists and moved into it."""

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
        point = ir.InsertionPoint(module.body)
        self.reader.operations.read_all(point)
        tokens.expect("}")
        tokens.expect(")")
        tokens.expect(":")
        tokens.type()
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
        if tokens.peek() == "{":
            attributes.update(read_dictionary(tokens))
        tokens.expect(":")
        function = tokens.type()
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
        if len(operands) != len(types):
            self.tokens.fail(f"expected {len(operands)} operand types, but got {len(types)}")
        for index, (value, type) in enumerate(zip(operands, types, strict=True)):
            self.reader.scope.check(start + 2 * index, value, type)

    def _regions(self) -> list[ir.Operation]:
        """Each region inside an operation that only carries it."""
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

        def argument() -> None:
            names.append((tokens.next(), tokens.offsets[tokens.at - 1]))
            tokens.expect(":")
            types.append(tokens.type())
            self.reader.locations.skip()

        if tokens.peek()[:1] == "^":
            tokens.next()
            if tokens.peek() == "(":
                tokens.comma_list("(", ")", argument)
            tokens.expect(":")
        location = self.reader.source.location(tokens.offset())
        block = carrier.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
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
        stored = self._normalised(cls, attributes)
        groups: tuple[tuple[str, tuple[ValueField, ...], Sequence[Any]], ...] = (
            ("operand", cls.operand_fields, operands),
            ("result", cls.result_fields, results),
        )
        for kind, fields, values in groups:
            if any(field.arity != ONE for field in fields):
                sizes = self._sizes(fields, stored.get(f"{kind}SegmentSizes"), len(values), offset)
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
        for region, carrier in zip(operation.regions, regions, strict=False):
            for block in list(carrier.regions[0].blocks):
                block.append_to(region)
        return operation

    def _sizes(self, fields: tuple[ValueField, ...], given: Any, count: int, offset: int) -> list[int]:
        written = list(given) if given is not None else []
        if len(written) == len(fields):
            return written
        if len(written) == sum(field.width for field in fields):
            found, at = [], 0
            for field in fields:
                found.append(sum(written[at : at + field.width]))
                at += field.width
            return found
        free = [field for field in fields if field.arity != ONE]
        if len(free) != 1 or count < len(fields) - 1:
            self.tokens.fail_at(offset, f"expected segment sizes for {len(fields)} groups of operands")
        return [1 if field.arity == ONE else count - len(fields) + 1 for field in fields]

    def _normalised(self, cls: Any, attributes: dict[str, ir.Attribute]) -> dict[str, ir.Attribute]:
        """Attributes as we store them: keywords for the numbers of enumerations, defaults filled in."""
        stored = {}
        for name, attribute in attributes.items():
            field = cls.attribute_fields.get(name)
            if field is not None and isinstance(attribute, ir.IntegerAttr) and field.keywords:
                stored[name] = ir.StringAttr.get(field.keywords[attribute.value])
            elif field is not None and field.kind in ("flag", "boolean") and isinstance(attribute, ir.BoolAttr):
                if field.kind == "boolean" or attribute.value:
                    stored[name] = attribute if field.kind == "boolean" else ir.UnitAttr.get()
            elif field is not None and field.kind in ("i32", "i64") and isinstance(attribute, ir.IntegerAttr):
                stored[name] = field.to_attribute(attribute.value)
            else:
                stored[name] = attribute
        for name, field in cls.attribute_fields.items():
            if field.default is not None and name not in stored:
                stored[name] = field.to_attribute(field.default)
        return stored
