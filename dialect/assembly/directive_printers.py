"""Printers of the directives that directives.py reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.elements import spell_elements
from tilec.dialect.assembly.generic_printer import spell_function
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

if TYPE_CHECKING:
    from tilec.dialect.assembly.printer import Printer


def _elements(printer: Printer, op: ir.OpView, field: str) -> str:
    return spell_elements(op.attributes[field])


def _index_types(printer: Printer, op: ir.OpView, field: str) -> str:
    types = [spell(value.type) for value in getattr(op, field)]
    if not types:
        return ""
    return f", {types[0]}" if len(set(types)) == 1 else f", {', '.join(types)}"


def _extents(printer: Printer, op: ir.OpView, _: str) -> str:
    view = op.result.type
    parts = []
    for keyword, extents, values in (
        ("shape", view.shape, op.dynamicShape),
        ("strides", view.strides, op.dynamicStrides),
    ):
        dynamic = iter(values)
        written = [str(extent) if extent is not None else printer.names.of(next(dynamic)) for extent in extents]
        parts.append(f"{keyword} = [{', '.join(written)}]")
    return ", ".join(parts)


def _view_types(printer: Printer, op: ir.OpView, _: str) -> str:
    before = [op.base] if op.result.type.attribute is not None else []
    before += [*op.dynamicShape, *op.dynamicStrides][:1]
    types = ", ".join(spell(value.type) for value in before)
    return f"{types}{' -> ' if types else ''}{spell(op.result.type)}"


def _function_type(printer: Printer, op: ir.OpView, _: str) -> str:
    return spell_function(op.operation.operands, op.operation.results)


def _word(printer: Printer, op: ir.OpView, field: str) -> str:
    return op.operation.attributes[field].value


def _word_list(printer: Printer, op: ir.OpView, field: str) -> str:
    return f"[{', '.join(each.value for each in op.operation.attributes[field])}]"


PRINTERS: dict[str, Callable[[Printer, ir.OpView, str], str]] = {
    "elements": _elements,
    "function_type": _function_type,
    "index_types": _index_types,
    "lone_padding": lambda printer, op, argument: "",
    "tensor_view_extents": _extents,
    "tensor_view_types": _view_types,
    "word": _word,
    "word_list": _word_list,
}
