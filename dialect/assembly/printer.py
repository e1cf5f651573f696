"""Prints a module as Tile IR assembly, which the reader reads back to the same module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attribute_printer import (
    spell_attribute,
    spell_dictionary,
    spell_fields,
    spell_symbol,
)
from tilec.dialect.assembly.attributes.location_printer import LocationNames, shown_locations, written_out
from tilec.dialect.assembly.directive_printers import PRINTERS
from tilec.dialect.assembly.generic_printer import generic_opening, print_generic_operation
from tilec.dialect.assembly.names import Names
from tilec.dialect.assembly.syntax import SYNTAX
from tilec.dialect.assembly.template import (
    AttributeDictionary,
    AttributeElement,
    Group,
    Literal,
    OperandElement,
    TypeElement,
    attributes_in_format,
    compile_template,
)
from tilec.dialect.fields import OPTIONAL, UNIFORM, AttributeField, AttributeKind, ValueField
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.dialect.spelling import spell
from tilec.errors import InputError

if TYPE_CHECKING:
    from tilec.dialect.assembly.template import Template

_DIALECT = "cuda_tile."
# Operations of these are printed as assembly; those of tilex with the name of their dialect.
_DIALECTS = (_DIALECT, "tilex.")
_ITEMS = ("cuda_tile.entry", "cuda_tile.global")
_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def print_module(module: ir.Module, locations: bool = False, generic: bool = False) -> str:
    """Prints a module of kernels and globals, as assembly or in the generic form of NVIDIA's tools.

    `locations` adds where each operation came from.
    """
    return Printer(locations).module(module, generic)


class Printer:
    """The lines of a text and the names of its values."""

    def __init__(self, locations: bool) -> None:
        self._located = locations
        self._locations: LocationNames | None = None
        self.lines: list[str] = []
        self.indent = ""
        self.names: Names

    def module(self, module: ir.Module, generic: bool) -> str:
        attributes = module.operation.attributes
        name = attributes["sym_name"].value if "sym_name" in attributes else "kernels"
        rest = {key: attributes[key] for key in attributes if key != "sym_name"}
        if "cuda_tile.producer" in rest:
            rest = {"producer": rest.pop("cuda_tile.producer"), **rest}
        if self._located:
            self._locations = LocationNames(shown_locations(module))
        with module.context:
            opening = generic_opening(name, rest) if generic else _opening(name, rest)
        self.lines.append(opening)
        self.indent = "  "
        for op in module.body.operations:
            _check_item(op)
            self.names = Names(op)
            if generic:
                print_generic_operation(self, op)
            else:
                self.operation(op)
        self.indent = ""
        closing = "}) : () -> ()" if generic else "}"
        self.lines.append(closing + self.module_location(module.operation.location))
        self.lines += [] if self._locations is None else self._locations.lines()
        return "\n".join(self.lines) + "\n"

    def block(self, block: ir.Block, hidden: str = "") -> None:
        """Prints the operations of a block, one level deeper; a terminator `hidden` without operands is omitted."""
        outer, self.indent = self.indent, self.indent + "  "
        operations = list(block.operations)
        if hidden and operations and _says_nothing(operations[-1], hidden) and self._follows(operations[-1]):
            operations.pop()
        for op in operations:
            self.operation(op)
        self.indent = outer

    def operation(self, op: ir.OpView) -> None:
        if not op.operation.name.startswith(_DIALECTS):
            message = f"'{op.operation.name}' has no form in Tile IR assembly: print the generic form"
            raise InputError(message, source_location(op.location))
        if not op.has_assembly():
            print_generic_operation(self, op)
            return
        syntax = SYNTAX.get(op.OPERATION_NAME)
        if syntax is not None:
            syntax.print(self, op)
            return
        parts = [op.spelled_name.removeprefix(_DIALECT)]
        text = self._elements(op, compile_template(op.__class__), Facts(op))
        if text[:1].strip():
            parts.append(text)
            self.line(op, " ".join(parts))
        else:
            self.line(op, parts[0] + text)

    def line(self, op: ir.OpView, text: str) -> None:
        """Prints an operation on a line, after the names of its results."""
        results = self.names.results(op.operation)
        self.lines.append(
            f"{self.indent}{results}{' = ' if results else ''}{text}{self.location(op.operation.location)}"
        )

    def module_location(self, location: ir.Location) -> str:
        """The location suffix of a module."""
        # NVIDIA's disassembler prints no module and does not count a module's location.
        return f" {location}" if self._located and written_out(location) else self.location(location)

    def location(self, location: ir.Location) -> str:
        """The location suffix of an item."""
        return "" if self._locations is None else self._locations.suffix(location)

    def _follows(self, terminator: ir.OpView) -> bool:
        """Whether an omitted terminator has the location of its parent, which the reader assigns."""
        return self._locations is None or terminator.operation.location == terminator.operation.parent.location

    def values(self, values: Sequence[ir.Value]) -> str:
        return ", ".join(map(self.names.of, values))

    def type(self, type: ir.Type) -> str:
        """A type as printed in the text."""
        return spell(type)

    def _elements(self, op: ir.OpView, elements: Template, facts: Facts) -> str:
        text = ""
        for element in elements:
            kind = type(element)
            if kind is Literal:
                text += element.text
            elif kind is OperandElement:
                text += self.values(facts.group(element.field))
            elif kind is TypeElement:
                text += self._types(element.field, facts)
            elif kind is AttributeElement:
                text += _attribute(element.field, facts)
            elif kind is Group:
                if _is_printed(element, facts):
                    text += self._elements(op, element.elements, facts)
            elif kind is AttributeDictionary:
                text += self._dictionary(element.keyed, facts)
            else:
                text += PRINTERS[element.name](self, op, element.argument)
        return text

    def _types(self, field: ValueField, facts: Facts) -> str:
        types = [self.type(value.type) for value in facts.group(field)]
        # One type for all results of a group.
        return types[0] if field.kind == "result" and field.arity == UNIFORM else ", ".join(types)

    def _dictionary(self, keyed: bool, facts: Facts) -> str:
        op, attributes = facts.op, facts.attributes
        printed = attributes_in_format(op.__class__)
        shown = {name: each for name, each in attributes.items() if name not in printed and name not in _SEGMENTS}
        for name, field in op.attribute_fields.items():
            if name in shown and field.default is not None and shown[name] == field.to_attribute(field.default):
                del shown[name]
        if not shown:
            return ""
        return f" {'attributes ' if keyed else ''}{self.fields(op, shown)}"

    def fields(self, op: ir.OpView, attributes: Mapping[str, ir.Attribute]) -> str:
        """The dictionary of the attributes that the assembly format does not print."""
        return spell_fields(op.attribute_fields, attributes)


def _check_item(op: ir.OpView) -> None:
    name = op.operation.name
    if name not in _ITEMS:
        where = " outside of a kernel" if name.startswith(_DIALECT) else ""
        message = f"'{name}'{where} has no form in Tile IR assembly: print the generic form"
        raise InputError(message, source_location(op.location))


def _opening(name: str, attributes: dict[str, ir.Attribute]) -> str:
    suffix = f" attributes {spell_dictionary(attributes)}" if attributes else ""
    return f"cuda_tile.module {spell_symbol(name)}{suffix} {{"


def _says_nothing(op: ir.OpView, name: str) -> bool:
    return op.operation.name == name and not len(op.operation.operands) and not set(op.attributes) - set(_SEGMENTS)


class Facts:
    """The attributes and groups of an operation, computed once."""

    def __init__(self, op: ir.OpView) -> None:
        self.op = op
        self.attributes = {key: op.attributes[key] for key in op.attributes}
        self._operands: dict[str, list[ir.Value]] | None = None
        self._results: dict[str, list[ir.Value]] | None = None

    def group(self, field: ValueField) -> list[ir.Value]:
        if field.kind == "operand":
            if self._operands is None:
                self._operands = groups(self.op, "operand") or {}
            return self._operands[field.name]
        if self._results is None:
            self._results = groups(self.op, "result") or {}
        return self._results[field.name]


def _attribute(field: AttributeField, facts: Facts) -> str:
    if field.kind is AttributeKind.FLAG:
        return field.name
    return _SPELLERS.get(field.kind, spell_attribute)(facts.attributes[field.name])


_SPELLERS: dict[AttributeKind, Callable[[ir.Attribute], str]] = {
    AttributeKind.KEYWORD: lambda attribute: attribute.value,
    AttributeKind.SYMBOL: lambda attribute: spell_symbol(attribute.value),
    AttributeKind.INTEGER_32: lambda attribute: str(attribute.value),
    AttributeKind.INTEGER_64: lambda attribute: str(attribute.value),
    AttributeKind.DICTIONARY: lambda attribute: spell_dictionary({e.name: e.attr for e in attribute}, "<", ">"),
    AttributeKind.INTEGERS_32: lambda attribute: ", ".join(map(str, attribute)),
    AttributeKind.BOOLEANS: lambda attribute: ", ".join("true" if flag else "false" for flag in attribute),
}


def _is_printed(group: Group, facts: Facts) -> bool:
    for element in group.elements:
        if type(element) is AttributeElement:
            field, stored = element.field, facts.attributes.get(element.field.name)
            return stored is not None and (field.default is None or field.to_python(stored) != field.default)
        if type(element) in (OperandElement, TypeElement):
            field = element.field
            return bool(facts.group(field)) if field.arity != OPTIONAL or field.kind == "operand" else False
    return True
