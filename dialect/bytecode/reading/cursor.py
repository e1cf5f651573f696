"""Reads numbers from unchecked bytes."""

from __future__ import annotations

from typing import NoReturn

# The most bytes of seven bits each that a number of 64 bits takes.
_LONGEST = 10
_NUMBER_BITS = (1 << 64) - 1


class Malformed(Exception):
    """Malformed bytecode: the message, the offset in the file and the section.

    Where that is found while a function is read, it is told of the name and the number of the operation too.
    """

    def __init__(self, message: str, offset: int, section: str) -> None:
        super().__init__(message)
        self.message, self.offset, self.section = message, offset, section
        self.function, self.operation, self.number = "", "", 0


class Cursor:
    """A position in a section or a part of one; `base` is the offset of the first byte in the file.

    Every method raises Malformed where the bytes end before what it reads.
    """

    __slots__ = ("at", "base", "data", "section")

    def __init__(self, data: bytes, base: int = 0, section: str = "") -> None:
        self.data, self.base, self.section = data, base, section
        self.at = 0

    @property
    def left(self) -> int:
        """The number of remaining bytes."""
        return len(self.data) - self.at

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises Malformed at the current or an earlier position."""
        raise Malformed(message, self.base + (self.at if at is None else at), self.section)

    def byte(self) -> int:
        """Reads an unsigned number of one byte."""
        try:
            found = self.data[self.at]
        except IndexError:
            self._ends("a byte")
        self.at += 1
        return found

    def number(self) -> int:
        """Reads an unsigned 64-bit number (LEB128); overlong forms are accepted.

        Ten bytes have room for more bits, which NVIDIA's tools drop.
        """
        try:
            found = self.data[self.at]
        except IndexError:
            self._ends("a number")
        self.at += 1
        return found if found < 0x80 else self._long(found)

    def _long(self, first: int) -> int:
        start, found, data = self.at - 1, first & 0x7F, self.data
        for number in range(1, _LONGEST):
            if self.at >= len(data):
                self._ends("the rest of a number")
            byte = data[self.at]
            self.at += 1
            found |= (byte & 0x7F) << (7 * number)
            if byte < 0x80:
                return found & _NUMBER_BITS
        self.fail(f"expected a number of at most {_LONGEST} bytes", start)

    def signed(self) -> int:
        """Reads a signed number of up to 64 bits (zigzag)."""
        found = self.number()
        return (found >> 1) ^ -(found & 1)

    def fixed(self, size: int, signed: bool = False) -> int:
        """Reads a little-endian number of the given size in bytes."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if size > self.left:
            self._ends(f"{size} bytes")
        start = self.at
        self.at += size
        return self.data[start : self.at]

    def part(self, size: int) -> Cursor:
        """A cursor over the next bytes."""
        start = self.base + self.at
        return Cursor(self.take(size), start, self.section)

    def count(self, description: str, least: int = 1) -> int:
        """Reads a count of items of at least `least` bytes each and checks that the bytes of all items remain."""
        start, found = self.at, self.number()
        if found * least > self.left:
            self.fail(f"expected {found} {description}, but only {self.left} bytes are left", start)
        return found

    def integers(self, size: int, description: str) -> list[int]:
        """Reads a count, then this number of signed integers of the given size in bytes."""
        return [self.fixed(size, signed=True) for _ in range(self.count(description, size))]

    def align(self, alignment: int) -> None:
        """Skips padding up to an alignment, counted from the start of the cursor."""
        self.at += -self.at % alignment

    def _ends(self, description: str) -> NoReturn:
        self.fail(f"expected {description}, but only {max(0, self.left)} bytes are left")
