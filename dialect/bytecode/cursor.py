"""Reads numbers out of bytes that nobody has checked."""

from __future__ import annotations

from typing import NoReturn

# A number of 64 bits takes at most so many bytes of seven bits each.
_LONGEST = 10
_NUMBER_BITS = (1 << 64) - 1


class Malformed(Exception):
    """Bytes that are no Tile IR bytecode: what is wrong, and at which byte of the file, in which section.

    Where that is found while a function is read, it is told of the name and the number of the operation too.
    """

    def __init__(self, message: str, offset: int, section: str) -> None:
        super().__init__(message)
        self.message, self.offset, self.section = message, offset, section
        self.function, self.operation, self.number = "", "", 0


class Cursor:
    """A place in a section or a part of one, of which `base` is the offset in the file.

    Every method raises Malformed where the bytes end before what it reads.
    """

    __slots__ = ("at", "base", "data", "section")

    def __init__(self, data: bytes, base: int = 0, section: str = "") -> None:
        self.data, self.base, self.section = data, base, section
        self.at = 0

    @property
    def left(self) -> int:
        """How many bytes there are to come."""
        return len(self.data) - self.at

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises Malformed here, or at an earlier place of this cursor."""
        raise Malformed(message, self.base + (self.at if at is None else at), self.section)

    def byte(self) -> int:
        """An unsigned number of one byte."""
        try:
            found = self.data[self.at]
        except IndexError:
            self._ends("a byte")
        self.at += 1
        return found

    def number(self) -> int:
        """An unsigned number of 64 bits (LEB128); longer forms than needed are welcome.

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
        for place in range(1, _LONGEST):
            if self.at >= len(data):
                self._ends("the rest of a number")
            byte = data[self.at]
            self.at += 1
            found |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return found & _NUMBER_BITS
        self.fail(f"expected a number of at most {_LONGEST} bytes", start)

    def signed(self) -> int:
        """A signed number of up to 64 bits (zigzag)."""
        found = self.number()
        return (found >> 1) ^ -(found & 1)

    def fixed(self, size: int, signed: bool = False) -> int:
        """A little-endian number of some bytes."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if size > self.left:
            self._ends(f"{size} bytes")
        start = self.at
        self.at += size
        return self.data[start : self.at]

    def part(self, size: int) -> Cursor:
        """The next bytes as a cursor of their own."""
        start = self.base + self.at
        return Cursor(self.take(size), start, self.section)

    def count(self, words: str, least: int = 1) -> int:
        """A number of things that take `least` bytes each, which must be there."""
        start, found = self.at, self.number()
        if found * least > self.left:
            self.fail(f"expected {found} {words}, but only {self.left} bytes are left", start)
        return found

    def integers(self, size: int, words: str) -> list[int]:
        """A number of signed integers of some bytes each, after their count."""
        return [self.fixed(size, signed=True) for _ in range(self.count(words, size))]

    def align(self, alignment: int) -> None:
        """Passes over what fills the gap up to a multiple, counted from where the cursor began."""
        self.at += -self.at % alignment

    def _ends(self, words: str) -> NoReturn:
        self.fail(f"expected {words}, but only {max(0, self.left)} bytes are left")
