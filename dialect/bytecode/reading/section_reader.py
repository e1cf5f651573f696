"""The outermost level of a file: its header and sections."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.bytecode.reading.cursor import Cursor
from tilec.dialect.bytecode.tags import ALIGNED, MAGIC, PREVIEW_TAG, SECTION_ALIGNMENT, Section
from tilec.dialect.bytecode.version import NEWEST, OLDEST, VERSIONS, Version

# The header: magic, major, minor and tag.
_TAG_SIZE = 2


@dataclass(frozen=True)
class Sections:
    """The version of a file, its flag for preview content, and its sections."""

    version: Version
    preview: bool
    cursors: dict[Section, Cursor]

    def __contains__(self, section: Section) -> bool:
        return section in self.cursors

    def __getitem__(self, section: Section) -> Cursor:
        return self.cursors[section]


def read_sections(data: bytes) -> Sections:
    """Reads the sections of a file; raises Malformed."""
    cursor = Cursor(data, section="header")
    _magic(cursor)
    version, preview = _version(cursor)
    cursors: dict[Section, Cursor] = {}
    while (section := _next(cursor)) is not None:
        number, payload = section
        # A repeated section replaces the earlier one.
        cursors[number] = payload
    for needed in (Section.STRINGS, Section.FUNCTIONS):
        if needed not in cursors:
            cursor.fail(f"the file has no {needed.name.lower()} section, which it needs")
    return Sections(version, preview, cursors)


def _magic(cursor: Cursor) -> None:
    found = cursor.take(min(len(MAGIC), cursor.left))
    if found != MAGIC:
        cursor.fail(f"expected the magic number {MAGIC!r} of Tile IR bytecode, but got {found!r}", 0)


def _version(cursor: Cursor) -> tuple[Version, bool]:
    start = cursor.at
    version, tag = Version(cursor.byte(), cursor.byte()), cursor.fixed(_TAG_SIZE)
    if version not in VERSIONS:
        cursor.fail(f"unsupported Tile IR version {version}, expected {OLDEST} to {NEWEST}", start)
    if tag & ~PREVIEW_TAG:
        cursor.fail(f"unknown bits in the tag of the version: 0x{tag:04x}", start + 2)
    if tag and version != NEWEST:
        cursor.fail(f"only files of {NEWEST} may hold preview content, but this one is of {version}", start + 2)
    return version, bool(tag)


def _next(cursor: Cursor) -> tuple[Section, Cursor] | None:
    """Reads a section's number and payload; None at the end of the file."""
    start, cursor.section = cursor.at, "section header"
    head = cursor.byte() if cursor.left else cursor.fail("expected another section or the end, but the file stops here")
    number, aligned = head & ~ALIGNED, bool(head & ALIGNED)
    if number == Section.END:
        if aligned:
            cursor.fail("the end must not be aligned", start)
        if cursor.left:
            cursor.fail(f"expected the end to be the last byte, but {cursor.left} bytes follow", start)
        return None
    if number not in SECTION_ALIGNMENT:
        cursor.fail(f"unknown section {number}, expected one of 0 to {max(SECTION_ALIGNMENT)}", start)
    section = Section(number)
    cursor.section = f"{section.name.lower()} section"
    length_at, length = cursor.at, cursor.number()
    _align(cursor, section, aligned)
    if length > cursor.left:
        cursor.fail(f"expected {length} bytes, but only {cursor.left} are left in the file", length_at)
    return section, cursor.part(length)


def _align(cursor: Cursor, section: Section, aligned: bool) -> None:
    start, needed = cursor.at, SECTION_ALIGNMENT[section]
    alignment = cursor.number() if aligned else 1
    if alignment < 1 or alignment & (alignment - 1):
        cursor.fail(f"expected an alignment that is a power of two, but got {alignment}", start)
    if alignment % needed:
        cursor.fail(f"expected an alignment that is a multiple of {needed} bytes, but got {alignment}", start)
    cursor.align(alignment)
    if cursor.left < 0:
        cursor.fail(f"the next multiple of {alignment} bytes, the alignment, lies beyond the end of the file", start)
