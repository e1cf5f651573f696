"""Assembles files of Tile IR bytecode from hexadecimal text, without code of tilec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, GLOBALS, PRODUCER = range(1, 8)
ALIGNMENT = {STRINGS: 4, FUNCTIONS: 8, DEBUG: 8, CONSTANTS: 8, TYPES: 4, GLOBALS: 1, PRODUCER: 1}
# return: opcode, no results, no operands.
RETURN = "5C 00 00"
# The signature of a kernel without arguments: function, no inputs, no results.
NO_ARGUMENTS = "10 00 00"


def number(value: int) -> bytes:
    """The unsigned LEB128 encoding: seven bits per byte, least significant first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def table(entries: Sequence[bytes], width: int) -> bytes:
    """A table: the number of entries, the offset of each entry, and the entries."""
    found = number(len(entries))
    found += b"\xcb" * (-len(found) % width)
    at = 0
    for entry in entries:
        found += at.to_bytes(width, "little")
        at += len(entry)
    return found + b"".join(entries)


def file(version: str, sections: Sequence[tuple[int, bytes]], tag: int = 0, end: bytes = b"\0") -> bytes:
    """A file with these sections, aligned with padding."""
    major, minor = map(int, version.split("."))
    found = bytearray(b"\x7fTileIR\0" + bytes([major, minor]) + tag.to_bytes(2, "little"))
    for section, payload in sections:
        alignment = ALIGNMENT[section]
        found += bytes([section | (0x80 if alignment > 1 else 0)]) + number(len(payload))
        if alignment > 1:
            found += number(alignment)
            found += b"\xcb" * (-len(found) % alignment)
        found += payload
    return bytes(found) + end


@dataclass(frozen=True)
class Kernel:
    """A file with one kernel, named by string 0, with the signature of type 0; bodies end with a return.

    The text fields except `strings` are hexadecimal; constants are payloads without their size.
    """

    body: str = ""
    types: Sequence[str] = (NO_ARGUMENTS,)
    strings: Sequence[str] = ("k",)
    constants: Sequence[str] = ()
    globals: str | None = None
    producer: str | None = None
    debug: str | None = None
    version: str = "13.1"
    flags: int = 2
    locations: int = 0
    hints: str = ""
    arguments: str = "06 00"
    end: str = RETURN
    tag: int = 0

    def function(self) -> bytes:
        """The function record: name, signature, flags, locations, hints, from 13.5 on argument attributes, and body."""
        hints = self.hints or ("0B 00" if self.version == "13.5" else "")
        arguments = self.arguments if self.version == "13.5" else ""
        body = bytes.fromhex(self.body + self.end)
        head = bytes([0, 0, self.flags]) + number(self.locations) + bytes.fromhex(hints + arguments)
        return head + number(len(body)) + body

    def sections(self) -> list[tuple[int, bytes]]:
        """The sections that the kernel needs."""
        payloads = [bytes.fromhex(constant) for constant in self.constants]
        found = [
            (FUNCTIONS, b"\1" + self.function()),
            (TYPES, table([bytes.fromhex(type) for type in self.types], 4)),
            (STRINGS, table([string.encode() for string in self.strings], 4)),
        ]
        if payloads:
            found.append((CONSTANTS, table([number(len(each)) + each for each in payloads], 8)))
        for section, content in ((GLOBALS, self.globals), (PRODUCER, self.producer), (DEBUG, self.debug)):
            if content is not None:
                found.append((section, bytes.fromhex(content)))
        return found

    def bytes(self) -> bytes:
        """The file."""
        return file(self.version, self.sections(), self.tag)
