"""Prints operations of arith, math, scf, cf and other upstream dialects.

%4 = arith.addi %2, %3 : i32                      operands and results of one type
%5 = arith.truncf %1 : !tile_64xf32 to !tile_64xf16
%6 = arith.select %c, %a, %b : i1, i32, i32 -> i32
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.mlir import ir
from tilec.dialect.stage_assembly.attributes import NoAssembly, spell_stage_attribute, spell_stage_dictionary
from tilec.dialect.stage_assembly.remaining import remaining
from tilec.dialect.stage_assembly.upstream import DEFAULTS, SEGMENTS
from tilec.dialect.tile_gpu.ids import ID, id_of
from tilec.dialect.upstream_predicates import PREDICATES, predicate_of

if TYPE_CHECKING:
    from tilec.dialect.stage_assembly.printer import StagePrinter


def print_upstream(printer: StagePrinter, op: ir.OpView) -> None:
    """Prints an operation without regions and successors."""
    operation = op.operation
    if len(operation.regions) or len(operation.successors):
        raise NoAssembly(operation.name)
    attributes = {name: each for name, each in remaining(operation).items() if DEFAULTS.get(name) != str(each)}
    parts = [operation.name]
    values = printer.values(operation.operands)
    if operation.name in PREDICATES:
        del attributes["predicate"]
        values = f"{predicate_of(operation)}, {values}"
    parts += [values] if values else []
    parts += [spell_stage_dictionary(attributes)] if attributes else []
    compared = operation.name in PREDICATES
    types = printer.type(operation.operands[0].type) if compared else _types(printer, operation)
    parts += [f": {types}"] if types else []
    printer.line(op, " ".join(parts))


def _types(printer: StagePrinter, op: ir.Operation) -> str:
    operands, results = [value.type for value in op.operands], [value.type for value in op.results]
    if not results:
        return printer.types(op.operands)
    if len({*operands, *results}) == 1:
        return printer.type(results[0])
    arrow = "to" if len(operands) == len(results) == 1 else "->"
    return f"{printer.types(op.operands)} {arrow} {printer.types(op.results)}".strip()


def print_constant(printer: StagePrinter, op: ir.OpView) -> None:
    value, attributes = op.operation.attributes["value"], remaining(op.operation, "value")
    if getattr(value, "type", None) != op.operation.results[0].type:
        raise NoAssembly("arith.constant")
    text = spell_stage_attribute(value)
    if isinstance(value, ir.DenseElementsAttr):
        text = f"{text[: -len(str(value.type))]}{printer.type(value.type)}"
    extra = f"{spell_stage_dictionary(attributes)} " if attributes else ""
    printer.line(op, f"arith.constant {extra}{text}")


def _id(op: ir.Operation) -> str:
    id = id_of(op)
    return "" if id is None else f" id {id}"


def print_for(printer: StagePrinter, op: ir.OpView) -> None:
    operation, of = op.operation, printer.names.of
    block = operation.regions[0].blocks[0]
    lower, upper, step, *initial = list(operation.operands)
    variable, *carried = list(block.arguments)
    text = f"scf.for {of(variable)} = {of(lower)} to {of(upper)} step {of(step)}"
    if initial:
        pairs = ", ".join(f"{of(name)} = {of(value)}" for name, value in zip(carried, initial, strict=True))
        text += f" iter_args({pairs}) -> ({printer.types(operation.results)})"
    printer.opening(operation, f"{text} : {printer.type(variable.type)}{_id(operation)}")
    printer.block(block, "scf.yield")
    printer.closing(operation, remaining(operation, SEGMENTS, ID))


def print_if(printer: StagePrinter, op: ir.OpView) -> None:
    operation = op.operation
    results = f" -> ({printer.types(operation.results)})" if len(operation.results) else ""
    printer.opening(operation, f"scf.if {printer.names.of(operation.operands[0])}{results}{_id(operation)}")
    then, otherwise = operation.regions
    printer.block(then.blocks[0], "scf.yield")
    if len(otherwise.blocks):
        printer.between("else")
        printer.block(otherwise.blocks[0], "scf.yield")
    printer.closing(operation, remaining(operation, ID))


def print_while(printer: StagePrinter, op: ir.OpView) -> None:
    operation, of = op.operation, printer.names.of
    before, after = (region.blocks[0] for region in operation.regions)
    pairs = zip(before.arguments, operation.operands, strict=True)
    initial = ", ".join(f"{of(name)} = {of(value)}" for name, value in pairs)
    types = f"({printer.types(operation.operands)}) -> ({printer.types(operation.results)})"
    printer.opening(operation, f"scf.while ({initial}) : {types}{_id(operation)}")
    printer.block(before)
    printer.between(f"do ({printer.arguments(after)})")
    printer.block(after, "scf.yield")
    printer.closing(operation, remaining(operation, ID))


def print_condition(printer: StagePrinter, op: ir.OpView) -> None:
    first, *passed = list(op.operation.operands)
    values = f"({printer.names.of(first)})"
    values += f" {printer.values(passed)} : {printer.types(passed)}" if passed else ""
    if remaining(op.operation):
        raise NoAssembly(op.operation.name)
    printer.line(op, f"scf.condition{values}")


def print_branch(printer: StagePrinter, op: ir.OpView) -> None:
    operation = op.operation
    attributes = remaining(operation, SEGMENTS)
    values, sizes = list(operation.operands), [len(operation.operands)]
    parts = [operation.name]
    if operation.name == "cf.cond_br":
        sizes = list(operation.attributes[SEGMENTS])[1:]
        parts += [f"{printer.names.of(values.pop(0))},"]
    targets = []
    for successor, size in zip(operation.successors, sizes, strict=True):
        passed, values = values[:size], values[size:]
        targets.append(printer.names.block(successor) + (f"({printer.values(passed)})" if passed else ""))
    parts.append(", ".join(targets))
    parts += [spell_stage_dictionary(attributes)] if attributes else []
    printer.line(op, " ".join(parts))
