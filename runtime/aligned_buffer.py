"""Host memory at an aligned address, which Python's allocators do not provide."""

from __future__ import annotations

import numpy as np

from tilec.runtime.arrays import address_of


class AlignedBuffer:
    """`size_bytes` of zeroed memory whose `address` is a multiple of `alignment`, valid as long as this object."""

    def __init__(self, size_bytes: int, alignment: int) -> None:
        memory = np.zeros(size_bytes + alignment, np.uint8)
        start = -address_of(memory) % alignment
        self._content = memory[start : start + size_bytes]
        self.size_bytes = size_bytes
        self.address = address_of(memory) + start

    def write(self, content: bytes) -> None:
        """Writes `content`, of at most `size_bytes`, at the start; raises ValueError if it is longer."""
        self._content[: len(content)] = np.frombuffer(content, np.uint8)
