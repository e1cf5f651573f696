"""Prints the generic form of NVIDIA's tools: `"cuda_tile.op"(%a) <{..}> ({..}) {..} : (..) -> ..`.

It is said of whole modules on request, and in assembly of the few operations that their assembly line cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attribute_printer import spell_attribute, spell_dictionary, spell_symbol
from tilec.dialect.assembly.attributes.elements import spell_literal
from tilec.dialect.fields import ONE, AttributeField, AttributeKind
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.dialect.spelling import full_spelling, spell

if TYPE_CHECKING:
    from tilec.dialect.assembly.printer import Printer

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def print_generic_operation(printer: Printer, op: ir.OpView) -> None:
    """Prints an operation with its regions."""
    results = printer.names.results(op.operation)
    head = f'{results}{" = " if results else ""}"{op.spelled_name}"({printer.values(op.operation.operands)})'
    head += _dictionary(op, "<{", "}>", _properties(op))
    tail = f"{_dictionary(op, '{', '}', _discardable(op))} : {spell_function(op.operation.operands, op.results)}"
    tail += printer.location(op.operation.location)
    if not len(op.regions):
        printer.lines.append(f"{printer.indent}{head}{tail}")
        return
    printer.lines.append(f"{printer.indent}{head} ({{")
    for index, region in enumerate(op.regions):
        if index:
            printer.lines.append(f"{printer.indent}}}, {{")
        for block in region.blocks:
            _print_block(printer, block)
    printer.lines.append(f"{printer.indent}}}){tail}")


def generic_opening(name: str, attributes: dict[str, ir.Attribute]) -> str:
    """The first line of a module, which `}) : () -> ()` ends."""
    shown = spell_dictionary({"sym_name": ir.StringAttr.get(name), **attributes})
    return f'"cuda_tile.module"() <{shown}> ({{'


def spell_function(operands: Iterable[ir.Value], results: Iterable[ir.Value]) -> str:
    """`(!cuda_tile.tile<i32>) -> !cuda_tile.token`: the types of operands and results, with prefixes."""
    inputs, outputs = ([prefixed(value.type) for value in each] for each in (operands, results))
    given = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    return f"({', '.join(inputs)}) -> {given}"


def prefixed(type: ir.Type) -> str:
    """A type with its dialect prefix."""
    return f"!{full_spelling(type)}" if hasattr(type, "spelled") else spell(type)


def _print_block(printer: Printer, block: ir.Block) -> None:
    if len(block.arguments):
        of = printer.names.of
        arguments = [f"{of(each)}: {prefixed(each.type)}{printer.location(each.location)}" for each in block.arguments]
        printer.lines.append(f"{printer.indent}^bb0({', '.join(arguments)}):")
    outer, printer.indent = printer.indent, printer.indent + "  "
    for op in block.operations:
        print_generic_operation(printer, op)
    printer.indent = outer


def _dictionary(op: ir.OpView, opening: str, closing: str, entries: list[str]) -> str:
    return f" {opening}{', '.join(entries)}{closing}" if entries else ""


def _properties(op: ir.OpView) -> list[str]:
    entries = []
    for name in sorted(op.attribute_fields):
        if name in op.attributes:
            entries.append(_named(name, op.attribute_fields[name], op.attributes[name]))
    for kind, fields in (("operand", op.operand_fields), ("result", op.result_fields)):
        # MLIR needs the sizes only if the number of values does not determine them.
        if sum(field.arity != ONE for field in fields) > 1:
            sizes = ", ".join(str(len(group)) for group in (groups(op, kind) or {}).values())
            entries.append(f"{kind}SegmentSizes = array<i32: {sizes}>")
    return entries


def _discardable(op: ir.OpView) -> list[str]:
    shown = {key: op.attributes[key] for key in op.attributes if key not in op.attribute_fields}
    return [spell_dictionary({name: each})[1:-1] for name, each in shown.items() if name not in _SEGMENTS]


def _named(name: str, field: AttributeField, attribute: ir.Attribute) -> str:
    if field.kind is AttributeKind.FLAG:
        return name
    return f"{name} = {_SPELLERS.get(field.kind, _any)(field, attribute)}"


def _any(_: AttributeField, attribute: ir.Attribute) -> str:
    return spell_attribute(attribute)


def _keyword(field: AttributeField, attribute: ir.Attribute) -> str:
    keyword = attribute.value
    return (
        f"#cuda_tile.{field.enumeration}<{keyword}>" if field.enumeration else f"{field.numbering.index(keyword)} : i32"
    )


def _symbol(field: AttributeField, attribute: ir.Attribute) -> str:
    return str(attribute) if field.name == "sym_name" else spell_symbol(attribute.value)


def _hints(_: AttributeField, attribute: ir.Attribute) -> str:
    return f"#cuda_tile.optimization_hints{spell_dictionary({e.name: e.attr for e in attribute}, '<', '>')}"


def _elements(_: AttributeField, attribute: ir.Attribute) -> str:
    literal, tile = spell_literal(attribute)
    return f"dense<{literal}> : !cuda_tile.{tile}"


def _type(_: AttributeField, attribute: ir.Attribute) -> str:
    type = attribute.value
    if not isinstance(type, ir.FunctionType):
        return prefixed(type)
    inputs, results = (", ".join(map(prefixed, each)) for each in (type.inputs, type.results))
    return f"({inputs}) -> ({results})"


_SPELLERS: dict[AttributeKind, Callable[[AttributeField, ir.Attribute], str]] = {
    AttributeKind.KEYWORD: _keyword,
    AttributeKind.SYMBOL: _symbol,
    AttributeKind.DICTIONARY: _hints,
    AttributeKind.ELEMENTS: _elements,
    AttributeKind.TYPE: _type,
    AttributeKind.PREDICATE: lambda _, attribute: f"#cuda_tile.{attribute.spelled()}",
}
