"""Host memory at an aligned address, which Python's allocators do not provide."""

from __future__ import annotations

import ctypes


class AlignedBuffer:
    """`size_bytes` of zeroed memory whose `address` is a multiple of `alignment`, valid as long as this object."""

    def __init__(self, size_bytes: int, alignment: int) -> None:
        self._memory = ctypes.create_string_buffer(size_bytes + alignment)
        self.size_bytes = size_bytes
        self.address = -(-ctypes.addressof(self._memory) // alignment) * alignment

    def read(self) -> bytes:
        """The content."""
        return ctypes.string_at(self.address, self.size_bytes)

    def write(self, content: bytes) -> None:
        """Writes `content`, of at most `size_bytes`, at the start; raises ValueError if it is longer."""
        if len(content) > self.size_bytes:
            raise ValueError(f"{len(content)} bytes do not fit into {self.size_bytes}")
        ctypes.memmove(self.address, content, len(content))
