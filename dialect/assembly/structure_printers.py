"""Prints the operations that structure_reader.py reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attribute_printer import spell_attribute, spell_dictionary, spell_symbol
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

if TYPE_CHECKING:
    from tilec.dialect.assembly.printer import Printer

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def _types(values: Iterable[ir.Value]) -> str:
    return ", ".join(spell(value.type) for value in values)


def _extra(op: ir.OpView, *fields: str) -> str:
    """The attributes that the custom syntax does not print: non-field attributes and some fields."""
    names = [name for name in op.attributes if name not in op.attribute_fields or name in fields]
    shown = {name: op.attributes[name] for name in names if name not in _SEGMENTS}
    return f" {spell_dictionary(shown)}" if shown else ""


def print_terminator(printer: Printer, op: ir.OpView) -> None:
    values = list(op.operation.operands)
    suffix = f" {printer.values(values)} : {_types(values)}" if values else ""
    printer.line(op, f"{op.operation.name.removeprefix('cuda_tile.')}{_extra(op)}{suffix}")


def _close(printer: Printer, op: ir.OpView, extra: str = "") -> None:
    printer.lines.append(f"{printer.indent}}}{extra}{printer.location(op.operation.location)}")


def _open(printer: Printer, results: str, text: str) -> None:
    printer.lines.append(f"{printer.indent}{results}{' = ' if results else ''}{text} {{")


def print_if(printer: Printer, op: ir.OpView) -> None:
    results = printer.names.results(op.operation)
    types = f" -> ({_types(op.results)})" if len(op.results) else ""
    _open(printer, results, f"if {printer.names.of(op.condition)}{types}")
    hidden = "" if types else "cuda_tile.yield"
    printer.block(op.then.blocks[0], hidden)
    if list(op.else_.blocks):
        printer.lines.append(f"{printer.indent}}} else {{")
        printer.block(op.else_.blocks[0], hidden)
    _close(printer, op, _extra(op))


def _carried(printer: Printer, arguments: list[ir.Value], values: list[ir.Value]) -> str:
    pairs = [
        f"{printer.names.of(argument)} = {printer.names.of(value)}"
        for argument, value in zip(arguments, values, strict=True)
    ]
    return f"iter_values({', '.join(pairs)})"


def _print_loop(printer: Printer, op: ir.OpView, text: str) -> None:
    _open(printer, printer.names.results(op.operation), text)
    printer.block(op.body.blocks[0], "cuda_tile.continue")
    _close(printer, op, _extra(op))


def print_for(printer: Printer, op: ir.OpView) -> None:
    lower, upper, step, *initial = list(op.operation.operands)
    of = printer.names.of
    bounds = f"({of(lower)} to {of(upper)}, step {of(step)}) : {spell(lower.type)}"
    variable = of(op.induction_variable)
    text = f"for {'unsigned ' if op.unsignedCmp else ''}{variable} in {bounds}"
    if initial:
        text += f" {_carried(printer, op.carried, initial)} -> ({_types(op.results)})"
    _print_loop(printer, op, text)


def print_loop(printer: Printer, op: ir.OpView) -> None:
    initial = list(op.operation.operands)
    text = "loop"
    if initial:
        text += f" {_carried(printer, op.carried, initial)} : {_types(initial)}"
        text += f" -> {_types(op.results)}" if len(op.results) else ""
    elif len(op.results):
        text += f" : {_types(op.results)}"
    _print_loop(printer, op, text)


def print_reduction(printer: Printer, op: ir.OpView) -> None:
    """A reduce or a scan."""
    operands = list(op.operation.operands)
    reverse = f" reverse={'true' if op.reverse else 'false'}" if op.operation.name == "cuda_tile.scan" else ""
    word = op.operation.name.removeprefix("cuda_tile.")
    results = printer.names.results(op.operation)
    printer.lines.append(
        f"{printer.indent}{results} = {word} {printer.values(operands)}{_extra(op)} dim={op.dim}{reverse} "
        f"identities={spell_attribute(op.identities)} : {_types(operands)} -> {_types(op.results)}"
    )
    block = op.body.blocks[0]
    arguments = [f"{printer.names.of(argument)}: {spell(argument.type)}" for argument in block.arguments]
    _open(printer, "", f"({', '.join(arguments)})")
    printer.block(block)
    _close(printer, op)


def print_entry(printer: Printer, op: ir.OpView) -> None:
    arguments = []
    block = op.body.blocks[0]
    dictionaries = op.arg_attrs
    have_attributes = dictionaries is not None and any(len(each) for each in dictionaries)
    for index, argument in enumerate(block.arguments):
        text = f"{printer.names.of(argument)}: {spell(argument.type)}"
        if have_attributes and len(dictionaries[index]):
            text += f" {spell_attribute(dictionaries[index])}"
        # An argument without a location of its own has that of its kernel.
        if argument.location != op.operation.location:
            text += printer.location(argument.location)
        arguments.append(text)
    hints = op.optimization_hints
    suffix = ""
    if hints is not None:
        suffix = f" optimization_hints={spell_dictionary({each.name: each.attr for each in hints}, '<', '>')}"
    _open(printer, "", f"entry {spell_symbol(op.sym_name)}({', '.join(arguments)}){suffix}")
    printer.block(block)
    _close(printer, op, _extra(op, "res_attrs", *(() if have_attributes else ("arg_attrs",))))
