"""Writes the debug section: the location of each operation, and the scopes of the locations.

The format has positions in scopes and call sites of these; other locations become unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from tilec.dialect.bytecode.debug_layout import FLAGS, LAYOUTS, LOCATION, TEXT, parts_of
from tilec.dialect.bytecode.tags import DebugTag
from tilec.dialect.bytecode.version import Version
from tilec.dialect.bytecode.writing.encoder import Encoder
from tilec.dialect.cuda_tile.debug_info import (
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    holds_scope,
    scope_and_location,
)
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import InputError

if TYPE_CHECKING:
    from tilec.dialect.bytecode.debug_layout import Part

# The number of an unknown location; entries count from one.
_UNKNOWN = 0
_TAGS = {
    DIFileAttr: DebugTag.FILE,
    DICompileUnitAttr: DebugTag.COMPILE_UNIT,
    DISubprogramAttr: DebugTag.SUBPROGRAM,
    DILexicalBlockAttr: DebugTag.LEXICAL_BLOCK,
}


class Strings(Protocol):
    """The string table of the file."""

    def index(self, text: str, /) -> int: ...


class DebugSectionWriter:
    """Lists of locations, one per kernel, over one table of locations and scopes."""

    def __init__(self, strings: Strings, version: Version) -> None:
        self._strings, self._version = strings, version
        self._numbers: dict[ir.Attribute, int] = {}
        self._entries: list[bytes] = []
        self._lists: list[list[int]] = []

    def function(self, entry_location: ir.Location, operation_locations: Iterable[ir.Location]) -> int:
        """The number for the kernel's record; 0 if the format can express none of its locations.

        Operations come in the order in which they are written, each before those in its regions. Raises InputError at
        the place of a location that holds a scope and yet has no form.
        """
        found = [self._location(location) for location in (entry_location, *operation_locations)]
        if not any(found):
            return 0
        self._lists.append(found)
        return len(self._lists)

    def payload(self) -> bytes | None:
        """The section, or None if no kernel has debug info."""
        if not self._lists:
            return None
        encoder = Encoder()
        _offsets(encoder, self._lists)
        indices = [index for each in self._lists for index in each]
        encoder.varint(len(indices))
        encoder.align(8)
        encoder.fixed(indices, "Q")
        _offsets(encoder, self._entries)
        encoder.bytes(b"".join(self._entries))
        return bytes(encoder.data)

    def _location(self, location: ir.Location) -> int:
        if isinstance(location, ir.FileLineColLoc | ir.UnknownLoc):
            return _UNKNOWN
        key = location.attr
        if key not in self._numbers:
            self._numbers[key] = self._scoped(location)
        return self._numbers[key]

    def _scoped(self, location: ir.Location) -> int:
        if scope_and_location(location) is not None:
            return self._add(DebugTag.LOCATION, location)
        if not holds_scope(location):
            return _UNKNOWN
        if not isinstance(location, ir.CallSiteLoc):
            _refuse(location)
        return self._add(DebugTag.CALL_SITE, location)

    def _node(self, node: ir.OpView) -> int:
        # Blocks are numbered from the outermost one, which avoids deep recursion.
        nest = [node]
        while isinstance(nest[-1], DILexicalBlockAttr) and nest[-1] not in self._numbers:
            nest.append(nest[-1].scope)
        for each in reversed(nest):
            if each not in self._numbers:
                self._numbers[each] = self._add(_TAGS[type(each)], each)
        return self._numbers[node]

    def _add(self, tag: DebugTag, value: object) -> int:
        layout = LAYOUTS[tag]
        numbers = [self._part(part, each) for part, each in zip(layout.parts, layout.take(value), strict=True)]
        numbers += [0 for part in parts_of(layout, self._version) if part is FLAGS]
        encoder = Encoder()
        encoder.byte(tag)
        for number in numbers:
            encoder.varint(number)
        self._entries.append(bytes(encoder.data))
        return len(self._entries)

    def _part(self, part: Part, value: Any) -> int:
        if part is TEXT:
            return self._strings.index(value)
        if part is LOCATION:
            return self._location(value)
        return value if part.kinds is None else self._node(value)


def _offsets(encoder: Encoder, entries: Sequence[Sized]) -> None:
    """The number of entries and the start of each."""
    encoder.varint(len(entries))
    encoder.align(4)
    encoder.fixed([0, *accumulate(map(len, entries))][: len(entries)], "I")


def _refuse(location: ir.Location) -> NoReturn:
    raise InputError(
        f"unsupported location, got {type(location).__name__}: bytecode supports locations in a scope, and call"
        " sites of these, only",
        source_location(location),
    )
