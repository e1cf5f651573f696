"""Prints the attributes of debug info in the form of Tile IR assembly."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilec.dialect.cuda_tile.debug_info import DICompileUnitAttr, DIFileAttr, DILexicalBlockAttr, DISubprogramAttr
from tilec.dialect.mlir import ir


def spell_debug_info(node: ir.Attribute, part: Callable[[ir.Attribute], str] | None = None) -> str:
    """`#cuda_tile.di_file<"k.py" in "/src">`; `part` prints nested attributes."""
    part = part or spell_debug_info
    if isinstance(node, DIFileAttr):
        return f"#{node.attr_name}<{_quoted(node.name)} in {_quoted(node.directory)}>"
    return f"#{node.attr_name}<{', '.join(f'{name} = {value}' for name, value in _struct(node, part))}>"


def _struct(node: ir.Attribute, part: Callable[[ir.Attribute], str]) -> Iterator[tuple[str, object]]:
    if isinstance(node, DILexicalBlockAttr):
        yield "scope", part(node.scope)
    yield "file", part(node.file)
    if isinstance(node, DICompileUnitAttr):
        return
    yield "line", node.line
    if isinstance(node, DISubprogramAttr):
        yield "name", _quoted(node.name)
        yield "linkageName", _quoted(node.linkage_name)
        yield "compileUnit", part(node.compile_unit)
        if node.scope_line:
            yield "scopeLine", node.scope_line
    elif node.column:
        yield "column", node.column


def _quoted(text: str) -> str:
    return str(ir.StringAttr.get(text))
