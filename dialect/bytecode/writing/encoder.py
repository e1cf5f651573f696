"""Encodes the primitives of the format: fixed little-endian numbers, varints, padding."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tilec.dialect.bytecode.tags import PADDING


def varint(value: int) -> bytes:
    """Encodes an unsigned number as LEB128: seven bits per byte, lowest first, the top bit set except at the end."""
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def zigzag(value: int) -> int:
    """Encodes a signed number as an unsigned one (zigzag): 0, -1, 1, -2 become 0, 1, 2, 3."""
    return value << 1 if value >= 0 else (-value << 1) - 1


class Encoder:
    """A growing buffer of bytes; alignments count from its start."""

    def __init__(self) -> None:
        self.data = bytearray()

    def __len__(self) -> int:
        return len(self.data)

    def byte(self, value: int) -> None:
        self.data.append(value)

    def bytes(self, content: bytes | bytearray) -> None:
        self.data += content

    def varint(self, value: int) -> None:
        if value < 0x80:
            self.data.append(value)
        else:
            self.data += varint(value)

    def signed_varint(self, value: int) -> None:
        self.varint(zigzag(value))

    def varints(self, values: Sequence[int]) -> None:
        """Writes the number of values, then each value."""
        self.varint(len(values))
        for value in values:
            self.varint(value)

    def array(self, values: Sequence[int], format: str) -> None:
        """Writes the number of values, then each at a fixed width: `i`, `q` (signed), `I` or `Q` of struct."""
        self.varint(len(values))
        self.fixed(values, format)

    def fixed(self, values: Sequence[int], format: str) -> None:
        """Writes each value at a fixed width, little-endian."""
        self.data += struct.pack(f"<{len(values)}{format}", *values)

    def align(self, alignment: int) -> None:
        """Pads to a multiple of an alignment in bytes."""
        self.data += bytes((PADDING,)) * (-len(self.data) % alignment)


def table(entries: Sequence[bytes], alignment: int, format: str) -> bytearray:
    """A table: the number of entries, the start of each, then the entries."""
    encoder = Encoder()
    encoder.varint(len(entries))
    encoder.align(alignment)
    at = 0
    starts = []
    for entry in entries:
        starts.append(at)
        at += len(entry)
    encoder.fixed(starts, format)
    encoder.bytes(b"".join(entries))
    return encoder.data
