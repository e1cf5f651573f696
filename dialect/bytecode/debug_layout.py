"""Layout of the entries of the debug section: a tag, then the parts in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilec.dialect.bytecode.tags import SUBPROGRAM_FLAGS_SINCE, DebugTag
from tilec.dialect.bytecode.version import Version
from tilec.dialect.cuda_tile.debug_info import (
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    Scope,
    di_location,
    scope_and_location,
)
from tilec.dialect.mlir import ir


@dataclass(frozen=True)
class Part:
    """One number of an entry: the index of another entry of one of `kinds`, a string, a line, a column, or flags."""

    description: str
    kinds: Any = None


TEXT, LINE_OR_COLUMN, FLAGS = Part("a string"), Part("a line or a column"), Part("flags")
_FILE = Part("a file", DIFileAttr)
_UNIT = Part("a compile unit", DICompileUnitAttr)
_SCOPE = Part("a subprogram or a lexical block", Scope)
LOCATION = Part("a location", ir.Location)


@dataclass(frozen=True)
class DebugLayout:
    """`make` builds the value of an entry from its parts (except flags); `take` returns the parts of a value."""

    tag: DebugTag
    parts: tuple[Part, ...]
    make: Callable[..., ir.Location | ir.Attribute]
    take: Callable[[ir.Location | ir.Attribute], tuple[object, ...]]
    description: str = "a location"


def _location_parts(location: ir.Location) -> tuple[object, ...]:
    scope, position = scope_and_location(location) or (None, location)
    return scope, position.filename, position.start_line, position.start_col


_LAYOUTS = (
    DebugLayout(DebugTag.COMPILE_UNIT, (_FILE,), DICompileUnitAttr.get, lambda unit: (unit.file,), "a compile unit"),
    DebugLayout(DebugTag.FILE, (TEXT, TEXT), DIFileAttr.get, lambda file: (file.name, file.directory), "a file"),
    DebugLayout(
        DebugTag.LEXICAL_BLOCK,
        (_SCOPE, _FILE, LINE_OR_COLUMN, LINE_OR_COLUMN),
        DILexicalBlockAttr.get,
        lambda block: (block.scope, block.file, block.line, block.column),
        "a lexical block",
    ),
    DebugLayout(DebugTag.LOCATION, (_SCOPE, TEXT, LINE_OR_COLUMN, LINE_OR_COLUMN), di_location, _location_parts),
    DebugLayout(
        DebugTag.SUBPROGRAM,
        (_FILE, LINE_OR_COLUMN, TEXT, TEXT, _UNIT, LINE_OR_COLUMN),
        DISubprogramAttr.get,
        lambda it: (it.file, it.line, it.name, it.linkage_name, it.compile_unit, it.scope_line),
        "a subprogram",
    ),
    DebugLayout(
        DebugTag.CALL_SITE,
        (LOCATION, LOCATION),
        lambda callee, caller: ir.Location.callsite(callee, [caller]),
        lambda location: (location.callee, location.caller),
    ),
)
LAYOUTS = {int(layout.tag): layout for layout in _LAYOUTS}


def parts_of(layout: DebugLayout, version: Version) -> tuple[Part, ...]:
    """The parts of an entry in a version of the format."""
    flags = layout.tag == DebugTag.SUBPROGRAM and version >= SUBPROGRAM_FLAGS_SINCE
    return (*layout.parts, FLAGS) if flags else layout.parts
