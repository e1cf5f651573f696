"""The readable and writable mappings of the process, as Linux lists them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tilec.runtime.interpret.memory.intervals import Intervals

# proc_pid_maps(5): one line per mapping, with its addresses in hexadecimal and its permissions.
_MAPS = Path("/proc/self/maps")
# The first page is never mapped; other systems have no list of mappings.
_FIRST_ADDRESS, _END = 4096, 2**64 - 1
_ALL = [(_FIRST_ADDRESS, _END - _FIRST_ADDRESS)]


class MappedMemory:
    """The mappings, read again after each miss; without a list, all addresses but the first page.

    Memory that was unmapped since counts as mapped, so not every dangling address is found.
    """

    def __init__(self) -> None:
        self._read()

    def outside(self, addresses: np.ndarray, size: int, writing: bool) -> np.ndarray:
        """A mask of the accesses of `size` bytes outside all mappings; aligned accesses never straddle two mappings."""
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
