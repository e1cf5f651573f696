"""The debug section: the bytes that are written and read, and invalid entries.

The bytes follow the Tile IR specification, "Debug section"; invalid entries are read as by tileirdisasm 13.5.37.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from tilec.dialect.bytecode.reading.cursor import Cursor, Malformed
from tilec.dialect.bytecode.reading.debug_section_reader import DebugSectionReader
from tilec.dialect.bytecode.reading.table_reader import Strings, Table
from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.dialect.bytecode.writing.debug_section_writer import DebugSectionWriter
from tilec.dialect.bytecode.writing.encoder import table, varint
from tilec.dialect.bytecode.writing.string_table import StringTable
from tilec.dialect.cuda_tile.debug_info import (
    NESTING_LIMIT,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    di_location,
)
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError

EARLY, LATE = Version(13, 3), Version(13, 5)
UNKNOWN, UNIT, FILE, BLOCK, LOCATION, SUBPROGRAM, CALL = range(7)
# Debug entries of a kernel `kern` in k.py; the strings are NAMES.
BASE = [
    bytes([FILE, 0, 1]),
    bytes([UNIT, 1]),
    bytes([SUBPROGRAM, 1, 3, 2, 3, 2, 4]),
    bytes([LOCATION, 3, 0, 3, 1]),
]
NAMES = [b"k.py", b"/src", b"kern", b"k"]


@pytest.fixture(autouse=True)
def _in_context() -> Iterator[None]:
    with context(), ir.Location.unknown():
        yield


def subprogram() -> DISubprogramAttr:
    file = DIFileAttr.get("k.py", "/src")
    return DISubprogramAttr.get(file, 3, "kern", "k", DICompileUnitAttr.get(file), 4)


def section(lists: Sequence[Sequence[int]], entries: Sequence[bytes]) -> bytes:
    """A debug section with lists of entry numbers and these entries."""
    starts = [sum(map(len, lists[:at])) for at in range(len(lists))]
    found = varint(len(lists)) + b"\xcb" * 3 + struct.pack(f"<{len(lists)}I", *starts)
    found += varint(sum(map(len, lists)))
    found += b"\xcb" * (-len(found) % 8) + b"".join(struct.pack("<Q", each) for one in lists for each in one)
    found += varint(len(entries))
    at, offsets = 0, b""
    for entry in entries:
        offsets += struct.pack("<I", at)
        at += len(entry)
    return found + b"\xcb" * (-len(found) % 4) + offsets + b"".join(entries)


def read(payload: bytes, number: int = 1, count: int = 2, version: Version = EARLY) -> list[ir.Location]:
    strings = Strings(Table("string", Cursor(bytes(table(NAMES, 4, "I")), 0, "strings")))
    reader = DebugSectionReader(Cursor(payload, 0, "debug section"), strings, version)
    return list(islice(reader.function(number), count))


def written(version: Version, entry: ir.Location, *operations: ir.Location) -> bytes:
    strings = StringTable()
    for name in NAMES:
        strings.index(name)
    writer = DebugSectionWriter(strings, version)
    assert writer.function(entry, operations) == 1
    payload = writer.payload()
    assert payload is not None
    return payload


def test_bytes_of_a_kernel_with_a_block_and_a_call_site() -> None:
    scope = subprogram()
    block = DILexicalBlockAttr.get(scope, scope.file, 5, 2)
    here, inner = di_location(scope, "k.py", 3, 1), di_location(block, "k.py", 300, 7)
    payload = written(EARLY, here, ir.Location.callsite(inner, [here]), ir.Location.unknown(), here)
    assert payload == (
        b"\x01\xcb\xcb\xcb" + b"\x00\x00\x00\x00"  # one list, at offset 0
        b"\x04" + b"\xcb" * 7 + struct.pack("<4Q", 4, 7, 0, 4)  # the kernel, the call site, unknown, the kernel
        + b"\x07\xcb\xcb\xcb" + struct.pack("<7I", 0, 3, 5, 12, 17, 22, 28)
        + bytes([FILE, 0, 1])
        + bytes([UNIT, 1])
        + bytes([SUBPROGRAM, 1, 3, 2, 3, 2, 4])
        + bytes([LOCATION, 3, 0, 3, 1])
        + bytes([BLOCK, 3, 1, 5, 2])
        + bytes([LOCATION, 5, 0, 0xAC, 0x02, 7])
        + bytes([CALL, 6, 4])
    )  # fmt: skip


def test_subprogram_has_flags_since_13_5() -> None:
    here = di_location(subprogram(), "k.py", 3, 1)
    assert bytes([SUBPROGRAM, 1, 3, 2, 3, 2, 4, LOCATION]) in written(Version(13, 4), here)
    assert bytes([SUBPROGRAM, 1, 3, 2, 3, 2, 4, 0, LOCATION]) in written(LATE, here)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_round_trip(version: Version) -> None:
    scope = subprogram()
    inner = DILexicalBlockAttr.get(DILexicalBlockAttr.get(scope, scope.file, 5), scope.file, 6, 2)
    here, there = di_location(scope, "k.py", 3, 1), di_location(inner, "/src", 7, 8)
    locations = [here, ir.Location.callsite(there, [here]), ir.Location.unknown(), there]
    assert read(written(version, *locations), count=4, version=version) == locations


def test_each_kernel_has_a_list() -> None:
    strings = StringTable()
    writer = DebugSectionWriter(strings, EARLY)
    first, second = (di_location(subprogram(), name, 3, 1) for name in ("a.py", "b.py"))
    plain = ir.Location.file("a.py", 1, 1)
    assert [writer.function(first, [first]), writer.function(plain, [plain]), writer.function(second, [])] == [1, 0, 2]
    payload = writer.payload()
    assert payload is not None
    found = DebugSectionReader(Cursor(payload), Strings(Table("string", Cursor(bytes(strings.payload())))), EARLY)
    assert list(islice(found.function(1), 2)) == [first, first]
    assert list(islice(found.function(2), 1)) == [second]
    assert list(islice(found.function(0), 3)) == [ir.Location.unknown()] * 3


def test_locations_without_scope_have_no_section() -> None:
    plain = ir.Location.file("k.py", 1, 2)
    writer = DebugSectionWriter(StringTable(), LATE)
    calls = ir.Location.callsite(plain, [plain])
    fused = ir.Location.fused([plain, ir.Location.file("k.py", 3, 4)])
    assert writer.function(plain, [calls, ir.Location.name("x", plain), fused, ir.Location.unknown()]) == 0
    assert writer.payload() is None


def test_location_without_scope_among_others_is_unknown() -> None:
    here = di_location(subprogram(), "k.py", 3, 1)
    plain = ir.Location.file("k.py", 1, 2)
    payload = written(EARLY, here, plain, ir.Location.callsite(plain, [here]))
    unknown = ir.Location.unknown()
    assert read(payload, count=3) == [here, unknown, ir.Location.callsite(unknown, [here])]


def test_scope_inside_a_named_or_fused_location_is_refused() -> None:
    here, there = (di_location(subprogram(), "k.py", line, 1) for line in (3, 4))
    writer = DebugSectionWriter(StringTable(), EARLY)
    for location, kind in ((ir.Location.name("x", here), "NameLoc"), (ir.Location.fused([here, there]), "FusedLoc")):
        with pytest.raises(InputError, match=f"unsupported location, got {kind}") as caught:
            writer.function(here, [ir.Location.callsite(location, [here])])
        assert str(caught.value.location) == "k.py:3:1"


UNKNOWN_CASES = {
    "number 0": (BASE, 0),
    "tag 0": ([*BASE, bytes([UNKNOWN])], 5),
    "unknown tag": ([*BASE, bytes([9])], 5),
}


@pytest.mark.parametrize(("entries", "index"), UNKNOWN_CASES.values(), ids=UNKNOWN_CASES)
def test_entry_is_read_as_unknown_location(entries: list[bytes], index: int) -> None:
    assert read(section([[4, index]], entries))[1] == ir.Location.unknown()


def test_call_site_may_have_unknown_parts_and_precede_its_parts() -> None:
    here, unknown = di_location(subprogram(), "k.py", 3, 1), ir.Location.unknown()
    entries = [*BASE, bytes([CALL, 4, 0]), bytes([CALL, 0, 4]), bytes([CALL, 8, 8]), BASE[3]]
    found = read(section([[4, 5, 6, 7]], entries), count=4)
    assert found[1:] == [ir.Location.callsite(*pair) for pair in ((here, [unknown]), (unknown, [here]), (here, [here]))]


def test_additional_bytes_and_entries_are_ignored() -> None:
    payload = section([[4, 5, 99]], [*BASE, BASE[3] + b"\x07", b""])
    assert read(payload) == [di_location(subprogram(), "k.py", 3, 1)] * 2


# Invalid lists and entries; the location of the operation is number 5 unless its list is invalid.
INVALID = {
    "no such list": ([[4]], BASE, "expected one of 1 lists of locations, but got number 2"),
    "list too short": ([[4]], BASE, "location 1 is out of bounds: the section has 1"),
    "no such entry": ([[4, 99]], BASE, "debug info index 98 is out of bounds: the table has 4 entries"),
    "empty": ([[4, 5]], [*BASE, b""], "expected a byte, but only 0 bytes are left"),
    "truncated": ([[4, 5]], [*BASE, bytes([LOCATION, 3])], "expected a number, but only 0 bytes are left"),
    "no scope": ([[4, 5]], [*BASE, bytes([LOCATION, 0, 0, 1, 1])], "expected a subprogram or a lexical block"),
    "scope is a file": ([[4, 5]], [*BASE, bytes([LOCATION, 1, 0, 1, 1])], "lexical block, but debug info 1 is a file"),
    "scope is a location": ([[4, 5]], [*BASE, bytes([LOCATION, 4, 0, 1, 1])], "but debug info 4 is a location"),
    "scope is a unit": ([[4, 5]], [*BASE, bytes([LOCATION, 2, 0, 1, 1])], "block, but debug info 2 is a compile unit"),
    "unit is a file": (
        [[4]],
        [*BASE[:2], bytes([SUBPROGRAM, 1, 3, 2, 3, 1, 4]), BASE[3]],
        "expected a compile unit, but debug info 1 is a file",
    ),
    "location is a file": ([[4, 1]], BASE, "expected a location, but debug info 1 is a file"),
    "location is a scope": ([[4, 3]], BASE, "expected a location, but debug info 3 is a subprogram"),
    "callee is itself": ([[4, 5]], [*BASE, bytes([CALL, 5, 4])], "debug info 5 is a part of itself"),
    "caller is itself": ([[4, 5]], [*BASE, bytes([CALL, 4, 5])], "debug info 5 is a part of itself"),
    "cycle of two": (
        [[4, 5]],
        [*BASE, bytes([CALL, 6, 4]), bytes([CALL, 4, 5])],
        "debug info 5 is a part of itself",
    ),
    "block in itself": (
        [[4, 6]],
        [*BASE, bytes([BLOCK, 5, 1, 1, 1]), bytes([LOCATION, 5, 0, 1, 1])],
        "debug info 5 is a part of itself",
    ),
    "call of a file": ([[4, 5]], [*BASE, bytes([CALL, 1, 4])], "expected a location, but debug info 1 is a file"),
    "no such string": ([[4, 5]], [*BASE, bytes([LOCATION, 3, 9, 1, 1])], "string index 9 is out of bounds"),
    "no file": (
        [[4, 6]],
        [*BASE, bytes([BLOCK, 3, 0, 1, 1]), bytes([LOCATION, 5, 0, 1, 1])],
        "expected a file, but debug info 0 is a location",
    ),
    "line too large": (
        [[4, 5]],
        [*BASE, bytes([LOCATION, 3, 0]) + varint(1 << 31) + b"\x01"],
        "expected a line or a column below 2147483648, but got 2147483648",
    ),
}


@pytest.mark.parametrize(("lists", "entries", "message"), INVALID.values(), ids=INVALID)
def test_invalid_section_is_refused(lists: list[list[int]], entries: list[bytes], message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(section(lists, entries), number=2 if "number 2" in message else 1)
    assert message in caught.value.message


def test_flags_of_a_subprogram_must_be_zero_since_13_5() -> None:
    def late(flags: bytes) -> bytes:
        return section([[4]], [*BASE[:2], BASE[2] + flags, BASE[3]])

    assert read(late(b"\x00"), count=1, version=LATE) == [di_location(subprogram(), "k.py", 3, 1)]
    for flags, message in ((b"", "expected a number"), (b"\x05", "unknown flags 0x5 of a subprogram")):
        with pytest.raises(Malformed, match=message):
            read(late(flags), count=1, version=LATE)


def test_lines_are_truncated_to_32_bits() -> None:
    entry = bytes([LOCATION, 3, 0]) + varint((1 << 40) + 7) + b"\x01"
    assert read(section([[4, 5]], [*BASE, entry]))[1] == di_location(subprogram(), "k.py", 7, 1)


def test_exponentially_shared_locations_are_refused() -> None:
    # 40 call sites whose callee and caller are both the previous one expand to 2^40 locations.
    calls = [bytes([CALL, number, number]) for number in range(4, 44)]
    with pytest.raises(Malformed, match=f"more than {NESTING_LIMIT} locations and blocks"):
        read(section([[4, 44]], [*BASE, *calls]))


@pytest.mark.parametrize("tag", [CALL, BLOCK])
def test_deep_nesting_is_refused_and_100_levels_are_accepted(tag: int) -> None:
    def nest(depth: int) -> bytes:
        if tag == CALL:
            inner = [bytes([CALL]) + varint(4 + at) + b"\x04" for at in range(depth)]
            return section([[4, 4 + depth]], [*BASE, *inner])
        inner = [bytes([BLOCK]) + varint(3 if at == 0 else 4 + at) + bytes([1, 1, 1]) for at in range(depth)]
        return section([[4, 5 + depth]], [*BASE, *inner, bytes([LOCATION]) + varint(4 + depth) + bytes([0, 1, 1])])

    found = read(nest(100))
    assert read(written(EARLY, *found)) == found
    with pytest.raises(Malformed, match="more than"):
        read(nest(10_000))


@pytest.mark.parametrize("size", range(len(section([[4, 4]], BASE))))
def test_truncated_section_is_malformed(size: int) -> None:
    with pytest.raises(Malformed):
        read(section([[4, 4]], BASE)[:size])
