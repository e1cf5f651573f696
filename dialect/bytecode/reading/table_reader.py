"""Reads tables whose entries are found by offset: strings, types and constants."""

from __future__ import annotations

import struct

from tilec.dialect.bytecode.reading.cursor import Cursor

_CODES = {4: "I", 8: "Q"}
# Offsets need not increase, so entries may overlap and a small file could demand any amount of time and memory.
# The most bytes by which the total size of the entries used may exceed the size of the table.
_MOST_OVERLAP = 1 << 20


class Table:
    """The entries of a section by index, read on first use."""

    def __init__(self, kind: str, cursor: Cursor | None = None, offset_size: int = 4) -> None:
        self.kind = kind
        self._offsets: tuple[int, ...] = ()
        self._cursor = Cursor(b"")
        self._start = 0
        self._used: set[int] = set()
        self._used_bytes = 0
        if cursor is not None:
            count = cursor.count(f"{kind}s", offset_size)
            cursor.align(offset_size)
            self._offsets = struct.unpack(f"<{count}{_CODES[offset_size]}", cursor.take(count * offset_size))
            self._cursor, self._start = cursor, cursor.at

    def __len__(self) -> int:
        return len(self._offsets)

    def entry(self, index: int, user: Cursor, at: int | None = None) -> Cursor:
        """The bytes of an entry; raises Malformed at the position of its user, or at `at`, for a bad index."""
        if index >= len(self._offsets):
            user.fail(f"{self.kind} index {index} is out of bounds: the table has {len(self._offsets)} entries", at)
        size = len(self._cursor.data) - self._start
        begin = self._offsets[index]
        end = self._offsets[index + 1] if index + 1 < len(self._offsets) else size
        if not begin <= end <= size:
            user.fail(f"{self.kind} {index} lies from {begin} to {end}, outside of the {size} bytes of its table", at)
        self._count(index, end - begin, user, at)
        self._cursor.at = self._start + begin
        return self._cursor.part(end - begin)

    def _count(self, index: int, size: int, user: Cursor, at: int | None) -> None:
        self._used_bytes += 0 if index in self._used else size
        self._used.add(index)
        if self._used_bytes > len(self._cursor.data) + _MOST_OVERLAP:
            user.fail(f"the {self.kind}s of the file overlap by more than {_MOST_OVERLAP} bytes", at)


class Strings:
    """The strings of a file by index."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._found: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._table)

    def read(self, cursor: Cursor) -> str:
        """Reads an index and returns the string."""
        start = cursor.at
        return self.get(cursor.number(), cursor, start)

    def get(self, index: int, user: Cursor, at: int | None = None) -> str:
        """The string of an index; raises Malformed at the position of its user for a bad index or invalid UTF-8."""
        found = self._found.get(index)
        if found is None:
            found = self._found[index] = self._decode(index, user, at)
        return found

    def _decode(self, index: int, user: Cursor, at: int | None) -> str:
        try:
            return self._table.entry(index, user, at).data.decode()
        except UnicodeDecodeError as error:
            user.fail(f"expected UTF-8 in string {index}, but byte {error.start} is invalid", at)
