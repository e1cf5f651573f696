"""Descriptions of operations: one line each, or the full declaration of one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tilec.dialect.assembly.syntax import SYNTAX
from tilec.dialect.cuda_tile.operation import NoMemoryEffect
from tilec.dialect.fields import (
    MIXED,
    ONE,
    OPTIONAL,
    UNIFORM,
    AttributeField,
    AttributeKind,
    RegionField,
    TypeVariable,
    ValueField,
)
from tilec.dialect.mlir import ext, ir

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

_TRAITS = {
    ext.Pure: "no effect, and may run at any time: removed when unused, merged, moved",
    NoMemoryEffect: "no effect, but may be undefined: removed when unused, merged, never moved up",
    ir.IsTerminatorTrait: "ends its block",
    ir.NoTerminatorTrait: "its blocks need no terminator",
    ir.IsIsolatedFromAboveTrait: "its regions use no value from outside",
}
_MARKS = {ONE: "", OPTIONAL: "?", UNIFORM: "...", MIXED: "..."}
_COUNTS = {ONE: "", OPTIONAL: "at most one: ", UNIFORM: "any number, all of one type: ", MIXED: "any number: "}
_INDENT = "  "
# Longer lists of names are abbreviated in the table.
MAXIMUM_LISTED = 8


def table(operations: Iterable[type[Operation]]) -> Iterator[str]:
    """Aligned lines with name, version of Tile IR, `operands -> results` and assembly format."""
    rows = [_row(operation) for operation in operations]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    for row in rows:
        yield _INDENT + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(operation: type[Operation]) -> tuple[str, str, str, str]:
    name = getattr(operation, "spelled_name", operation.OPERATION_NAME).partition(".")[2]
    return name, _since(operation), _signature(operation), _assembly(operation)


def _since(operation: type[Operation]) -> str:
    return operation.since if operation.OPERATION_NAME.startswith("cuda_tile.") else ""


def _signature(operation: type[Operation]) -> str:
    operands, results = map(_names, ("operand", "result"), (operation, operation))
    return f"{operands} -> {results}".strip() if results else operands


def _names(kind: str, operation: type[Operation]) -> str:
    if hasattr(operation, "fields"):
        names = [f.name + _MARKS[f.arity] for f in operation.fields if isinstance(f, ValueField) and f.kind == kind]
    else:
        declared = ext.OperandDef if kind == "operand" else ext.ResultDef
        names = [field.name for field in operation._fields if isinstance(field, declared)]
    return ", ".join(names if len(names) <= MAXIMUM_LISTED else [names[0], "...", names[-1]])


def _assembly(operation: type[Operation]) -> str:
    if operation.OPERATION_NAME in SYNTAX:
        return "(a syntax of its own)"
    return getattr(operation, "assembly", "")


def describe(operation: type[Operation]) -> str:
    """The full declaration of an operation; types are described as in diagnostics."""
    lines = [_title(operation), *_paragraph(inspect.cleandoc(operation.__dict__.get("__doc__") or ""))]
    fields = getattr(operation, "fields", None)
    if fields is None:
        lines += ["", f"{_INDENT}{_signature(operation)}"]
    else:
        lines += _section("operands", [_value(f) for f in fields if isinstance(f, ValueField) and f.kind == "operand"])
        lines += _section("results", [_value(f) for f in fields if isinstance(f, ValueField) and f.kind == "result"])
        lines += _section("attributes", [_attribute(f) for f in fields if isinstance(f, AttributeField)])
        lines += _section("regions", [_region(f) for f in fields if isinstance(f, RegionField)])
    lines += _section("traits", [(text, "") for trait, text in _TRAITS.items() if trait in operation._traits])
    if _assembly(operation):
        lines += _section("assembly", [(_assembly(operation), "")])
    return "\n".join(lines) + "\n"


def fields(operation: type[Operation]) -> dict[str, Any]:
    """The declaration of an operation as JSON: its groups of values, attributes and regions with their descriptions."""
    declared = getattr(operation, "fields", ())
    values = [field for field in declared if isinstance(field, ValueField)]
    groups = {
        "operands": [_value(field) for field in values if field.kind == "operand"],
        "results": [_value(field) for field in values if field.kind == "result"],
        "attributes": [_attribute(field) for field in declared if isinstance(field, AttributeField)],
        "regions": [_region(field) for field in declared if isinstance(field, RegionField)],
    }
    documentation = inspect.cleandoc(operation.__dict__.get("__doc__") or "")
    return {
        "name": getattr(operation, "spelled_name", operation.OPERATION_NAME),
        "since": _since(operation) or None,
        "summary": documentation.partition("\n")[0],
        **{group: [{"name": n, "description": text} for n, text in found] for group, found in groups.items()},
    }


def _title(operation: type[Operation]) -> str:
    name, since = getattr(operation, "spelled_name", operation.OPERATION_NAME), _since(operation)
    preview = ", a preview feature" if getattr(operation, "preview", False) else ""
    return f"{name} (Tile IR {since}{preview}, opcode 0x{operation.opcode:02x})" if since else name


def _paragraph(text: str) -> list[str]:
    return [f"{_INDENT}{line}".rstrip() for line in text.splitlines()]


def _section(title: str, entries: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in entries), default=0)
    lines = [f"{_INDENT * 2}{name.ljust(width)}  {description}".rstrip() for name, description in entries]
    return ["", f"{_INDENT}{title}", *lines] if lines else []


def _value(field: ValueField) -> tuple[str, str]:
    variable = f"{field.constraint.name}, one type: " if isinstance(field.constraint, TypeVariable) else ""
    return field.name, f"{_COUNTS[field.arity]}{variable}{field.set.description}{_added(field)}"


def _attribute(field: AttributeField) -> tuple[str, str]:
    kind = f"one of {', '.join(field.keywords)}" if field.keywords else field.kind.value
    if field.default is not None:
        kind += f"; {field.default!r} where it is not given"
    elif not field.required and field.kind is not AttributeKind.FLAG:
        kind += "; optional"
    return field.name, kind + _added(field)


def _region(field: RegionField) -> tuple[str, str]:
    return field.name, "one block" if field.required else "one block, or none"


def _added(field: ValueField | AttributeField) -> str:
    return f"; since {field.since}" if field.since else ""
