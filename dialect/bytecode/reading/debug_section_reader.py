"""Reads the debug section: the location of each operation of a kernel."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from tilec.dialect.bytecode.debug_layout import (
    FLAGS,
    LAYOUTS,
    LINE_OR_COLUMN,
    LOCATION,
    TEXT,
    DebugLayout,
    Part,
    parts_of,
)
from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.bytecode.reading.table_reader import Strings, Table
from tilec.dialect.bytecode.tags import DebugTag
from tilec.dialect.bytecode.version import Version
from tilec.dialect.cuda_tile.debug_info import NESTING_LIMIT
from tilec.dialect.mlir import ir

# Lines and columns have 32 bits in the format, but 31 in the bindings of MLIR.
_LINE_SIZE, _LINE_LIMIT = 1 << 32, 1 << 31
_NAMES = {layout.make.__self__: layout.description for layout in LAYOUTS.values() if hasattr(layout.make, "__self__")}
# The kinds that NESTING_LIMIT counts.
_NESTING = (DebugTag.LOCATION, DebugTag.CALL_SITE, DebugTag.LEXICAL_BLOCK)


@dataclass
class _Entry:
    """An entry with its parts; parts that are entries are given by index."""

    index: int
    layout: DebugLayout
    cursor: Cursor
    parts: list[tuple[Part, Any, int]]

    @property
    def numbers(self) -> list[int]:
        """The entries that this one needs."""
        return [value for part, value, _ in self.parts if part.kinds is not None]


class DebugSectionReader:
    """Lists of locations, by the numbers in function records.

    Entries are read when a location asks for them; every method raises Malformed where the bytes are none of this.
    """

    def __init__(self, cursor: Cursor, strings: Strings, version: Version) -> None:
        self._cursor, self._strings, self._version = cursor, strings, version
        count = cursor.count("lists of locations", 4)
        cursor.align(4)
        self._starts = struct.unpack(f"<{count}I", cursor.take(4 * count))
        count = cursor.count("locations", 8)
        cursor.align(8)
        self._records_at = cursor.base + cursor.at
        self._indices = struct.unpack(f"<{count}Q", cursor.take(8 * count))
        self._table = Table("debug info", cursor)
        # The value of each entry, and the number of locations and blocks in its expanded form.
        self._found: dict[int, tuple[ir.Location | ir.Attribute, int]] = {0: (ir.Location.unknown(), 0)}

    def function(self, number: int) -> Iterator[ir.Location]:
        """Yields the location of the function, then those of its operations in pre-order, without end.

        Numbers count from one; 0 is a function without debug info, all of whose locations are unknown.
        """
        if number > len(self._starts):
            self._fail(f"expected one of {len(self._starts)} lists of locations, but got number {number}")
        return self._list(self._starts[number - 1]) if number else self._unknown()

    def _unknown(self) -> Iterator[ir.Location]:
        while True:
            yield self._found[0][0]

    def _list(self, at: int) -> Iterator[ir.Location]:
        found = self._found
        while True:
            if at >= len(self._indices):
                self._fail(f"location {at} is out of bounds: the section has {len(self._indices)}")
            index = self._indices[at]
            if index not in found:
                self._read(index, self._user(at))
            location = found[index][0]
            if not isinstance(location, ir.Location):
                self._user(at).fail(_mistaken(LOCATION, index, location))
            yield location
            at += 1

    def _user(self, at: int) -> Cursor:
        """A cursor at a position in the lists, for error messages."""
        return Cursor(b"", self._records_at + 8 * at, self._cursor.section)

    def _read(self, index: int, user: Cursor) -> None:
        """Reads an entry and the entries it refers to."""
        nest = [self._entry(index, user)]
        opened = {index}
        while nest:
            entry = nest[-1]
            needed = next((number for number in entry.numbers if number not in self._found), None)
            if needed is None:
                self._found[entry.index] = self._made(entry)
                opened.remove(nest.pop().index)
            elif needed in opened:
                entry.cursor.fail(f"debug info {needed} is a part of itself")
            else:
                nest.append(self._entry(needed, entry.cursor))
                opened.add(needed)

    def _entry(self, index: int, user: Cursor) -> _Entry:
        cursor = self._table.entry(index - 1, user)
        layout = LAYOUTS.get(cursor.byte())
        if layout is None:
            # Tag 0 is an unknown location; NVIDIA's tools treat unknown tags the same way.
            return _Entry(index, _UNKNOWN, cursor, [])
        parts = []
        for part in parts_of(layout, self._version):
            at = cursor.at
            parts.append((part, self._part(part, cursor), at))
        return _Entry(index, layout, cursor, parts)

    def _part(self, part: Part, cursor: Cursor) -> int | str:
        start = cursor.at
        if part is TEXT:
            return self._strings.read(cursor)
        found = cursor.number()
        if part is LINE_OR_COLUMN:
            found %= _LINE_SIZE
            if found >= _LINE_LIMIT:
                cursor.fail(f"expected a line or a column below {_LINE_LIMIT}, but got {found}", start)
        if part is FLAGS and found:
            cursor.fail(f"unknown flags 0x{found:x} of a subprogram", start)
        return found

    def _made(self, entry: _Entry) -> tuple[ir.Location | ir.Attribute, int]:
        values, size = [], int(entry.layout.tag in _NESTING)
        for part, value, at in entry.parts:
            if part.kinds is not None:
                index, (value, inner) = value, self._found[value]
                size += inner
                if not isinstance(value, part.kinds):
                    entry.cursor.fail(_mistaken(part, index, value), at)
            if part is not FLAGS:
                values.append(value)
        if size > NESTING_LIMIT:
            entry.cursor.fail(f"a location has more than {NESTING_LIMIT} locations and blocks in it")
        return entry.layout.make(*values), size

    def _fail(self, message: str) -> NoReturn:
        self._cursor.fail(message, 0)


_UNKNOWN = DebugLayout(DebugTag.UNKNOWN, (), ir.Location.unknown, lambda _location: ())


def _mistaken(part: Part, index: int, found: object) -> str:
    return f"expected {part.description}, but debug info {index} is {_NAMES.get(type(found), 'a location')}"
