"""The strings of a file, each stored once."""

from __future__ import annotations

from tilec.dialect.bytecode.writing.encoder import table


class StringTable:
    """Strings in the order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def index(self, text: str | bytes) -> int:
        """The index of a string; its bytes need not be UTF-8."""
        content = text.encode() if isinstance(text, str) else text
        return self._numbers.setdefault(content, len(self._numbers))

    def payload(self) -> bytearray:
        """The section: 32-bit offsets, then the bytes."""
        return table(list(self._numbers), 4, "I")
