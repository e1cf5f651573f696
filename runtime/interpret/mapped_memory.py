"""What of the address space the process may read and write, as Linux tells it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tilec.runtime.interpret.intervals import Intervals

# proc_pid_maps(5): a line for each mapping, with its addresses in hexadecimal and its permissions.
_MAPS = Path("/proc/self/maps")
# No system maps the first page, and most give no list of what they map.
_FIRST_ADDRESS, _END = 4096, 2**64 - 1
_ALL = [(_FIRST_ADDRESS, _END - _FIRST_ADDRESS)]


class MappedMemory:
    """The mappings as they were when an access last missed them, or everything but the first page where none are told.

    Memory that is unmapped in between still counts, so this finds wrong addresses, not all dangling ones.
    """

    def __init__(self) -> None:
        self._read()

    def outside(self, addresses: np.ndarray, size: int, writing: bool) -> np.ndarray:
        """Which accesses of `size` bytes would end the process; they are aligned, so none lies across two mappings."""
        missed = self._intervals(writing).outside(addresses, size)
        if not missed.any():
            return missed
        self._read()
        return self._intervals(writing).outside(addresses, size)

    def _intervals(self, writing: bool) -> Intervals:
        return self._writable if writing else self._readable

    def _read(self) -> None:
        if not _MAPS.exists():
            self._readable = self._writable = Intervals(_ALL)
            return
        mappings = [line.split(maxsplit=2)[:2] for line in _MAPS.read_text(errors="replace").splitlines()]
        self._readable = Intervals(_extent(addresses) for addresses, permissions in mappings if "r" in permissions)
        self._writable = Intervals(_extent(addresses) for addresses, permissions in mappings if "w" in permissions)


def _extent(addresses: str) -> tuple[int, int]:
    start, end = (int(address, 16) for address in addresses.split("-"))
    return start, end - start
