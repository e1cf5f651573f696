"""Prints the operations of tile_gpu and ptx with a custom syntax: kernels, roles, reductions, instructions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attribute_printer import spell_symbol
from tilec.dialect.mlir import ir
from tilec.dialect.stage_assembly.attributes import (
    NoAssembly,
    spell_stage_attribute,
    spell_stage_dictionary,
    spell_string,
)
from tilec.dialect.stage_assembly.remaining import remaining

if TYPE_CHECKING:
    from tilec.dialect.stage_assembly.printer import StagePrinter

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_COUNTS = re.compile(r"_\d+_\d+$")
_PARAMETER = {"name", "type"}


def word_of(name: str) -> str:
    """The word that an operation's text begins with: the names of instructions count their results and operands."""
    return _COUNTS.sub("", name) if name.startswith("ptx.") else name


def _keyed(attributes: dict[str, ir.Attribute]) -> str:
    return f" attributes {spell_stage_dictionary(attributes)}" if attributes else ""


def print_kernel(printer: StagePrinter, op: ir.OpView) -> None:
    operation, block = op.operation, op.body.blocks[0]
    printed = ["sym_name", "target", "warps", "cluster", "joined_programs"]
    if op.function_type == ir.FunctionType.get([argument.type for argument in block.arguments], []):
        printed.append("function_type")
    text = f"tile_gpu.kernel {spell_symbol(op.sym_name)}({printer.arguments(block, located=True)})"
    text += f" target {spell_string(operation.attributes['target'])} warps {op.warps}"
    text += "" if op.cluster is None else f" cluster {op.cluster}"
    text += "" if op.joined_programs is None else f" joined_programs {op.joined_programs}"
    printer.opening(operation, text + _keyed(remaining(operation, *printed)))
    printer.block(block, "tile_gpu.return")
    printer.closing(operation)


def print_roles(printer: StagePrinter, op: ir.OpView) -> None:
    operation = op.operation
    names, regions = [name.value for name in op.names], [region for region in op.regions if len(region.blocks)]
    if not len(names) == len(op.warps) == len(regions) or any(len(region.blocks) != 1 for region in regions):
        raise NoAssembly(operation.name)
    heads = [f"{name} warps {warps}" for name, warps in zip(names, op.warps, strict=True)]
    if op.registers is not None:
        if len(op.registers) != len(names):
            raise NoAssembly(operation.name)
        heads = [f"{head} registers {budget}" for head, budget in zip(heads, op.registers, strict=True)]
    printer.opening(operation, f"tile_gpu.roles {heads[0]}")
    for index, region in enumerate(regions):
        if index:
            printer.between(heads[index])
        printer.block(region.blocks[0], "tile_gpu.return")
    printer.closing(operation, remaining(operation, "names", "warps", "registers", *_SEGMENTS))


def print_reduction(printer: StagePrinter, op: ir.OpView) -> None:
    operation, block = op.operation, op.body.blocks[0]
    reverse = f" reverse {str(op.reverse).lower()}" if operation.name == "tile_gpu.scan" else ""
    text = f"{operation.name} {printer.values(operation.operands)} dimension {op.dimension}{reverse}"
    text += f" identities {spell_stage_attribute(op.identities)}"
    extra = remaining(operation, "dimension", "reverse", "identities", *_SEGMENTS)
    text += f"{_keyed(extra)} : {printer.types(operation.operands)} -> {printer.types(operation.results)}"
    printer.opening(operation, f"{text} ({printer.arguments(block)})")
    printer.block(block)
    printer.closing(operation)


def print_yield(printer: StagePrinter, op: ir.OpView) -> None:
    values = list(op.operation.operands)
    printer.line(op, f"tile_gpu.yield {printer.values(values)} : {printer.types(values)}")


def print_entry(printer: StagePrinter, op: ir.OpView) -> None:
    operation = op.operation
    attributes = operation.attributes
    parameters = list(attributes["parameters"])
    if any({named.name for named in each} != _PARAMETER for each in parameters):
        raise NoAssembly(operation.name)
    listed = ", ".join(f"{each['name'].value}: {each['type'].value}" for each in parameters)
    threads = ", ".join(map(str, attributes["threads"]))
    text = f"ptx.entry {spell_symbol(attributes['sym_name'].value)}({listed})"
    text += f" target {spell_string(attributes['target'])} threads [{threads}]"
    printer.opening(operation, text + _keyed(remaining(operation, "sym_name", "target", "parameters", "threads")))
    for index, block in enumerate(operation.regions[0].blocks):
        arguments = f"({printer.arguments(block, located=True)})" if len(block.arguments) else ""
        # The first block needs no name, as nothing branches to it.
        if index:
            printer.lines.append(f"{printer.indent}{printer.names.block(block)}{arguments}:")
        printer.block(block)
    printer.closing(operation)


def print_function(printer: StagePrinter, op: ir.OpView) -> None:
    operation = op.operation
    name, text = spell_symbol(operation.attributes["sym_name"].value), spell_string(operation.attributes["text"])
    printer.line(op, f"{operation.name} {name} {text}{_keyed(remaining(operation, 'sym_name', 'text'))}")


def print_instruction(printer: StagePrinter, op: ir.OpView) -> None:
    """`%2 = ptx.compute "add.s32 $0, $1, 1;"(%1) tied [0] : i32`, with the types of the results."""
    operation = op.operation
    text = f"{word_of(operation.name)} {spell_string(operation.attributes['text'])}"
    text += f"({printer.values(operation.operands)})" if len(operation.operands) else ""
    if "tied" in operation.attributes:
        text += f" tied [{', '.join(map(str, operation.attributes['tied']))}]"
    text += _keyed(remaining(operation, "text", "tied", *_SEGMENTS))
    text += f" : {printer.types(operation.results)}" if len(operation.results) else ""
    printer.line(op, text)


def print_return(printer: StagePrinter, op: ir.OpView) -> None:
    printer.line(op, f"ptx.return{_keyed(remaining(op.operation))}")
