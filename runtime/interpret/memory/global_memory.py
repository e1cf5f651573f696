"""Host memory at its real addresses, read and written many elements at a time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.memory.intervals import Intervals
from tilec.runtime.interpret.memory.mapped_memory import MappedMemory
from tilec.runtime.interpret.memory.masked_pointers import NO_ADDRESS, POISON
from tilec.runtime.interpret.memory.ordering import Ordering

Range = tuple[int, int, bool]
# The names of accesses in faults.
LOAD, STORE, ATOMIC_UPDATE = "load", "store", "atomic update"


class AccessFault(Fault):
    """An invalid access by the element at `position` of the addresses passed."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class Memory:
    """Reads and writes within `ranges` (address, bytes, writable); without, within the mappings of the process.

    `ordering` records the accesses; `changes` counts the stores that changed memory.
    """

    def __init__(self, ranges: Iterable[Range] | None = None, ordering: Ordering | None = None) -> None:
        self._ranges = None if ranges is None else list(ranges)
        self._mapped = MappedMemory() if ranges is None else None
        self.ordering = ordering
        self.changes = 0
        # Set by the checks of `offset`: the message for NO_ADDRESS, and the addresses computed from poison.
        self.unreachable = ""
        self.poisoned: set[int] = set()
        self._join()

    def add(self, address: int, size_bytes: int, writable: bool) -> None:
        """Allows accesses to one more range."""
        if self._ranges is not None:
            self._ranges.append((address, size_bytes, writable))
            self._join()

    def remove(self, address: int, size_bytes: int, writable: bool) -> None:
        """Removes a range added by `add`."""
        if self.ordering is not None:
            self.ordering.forget(address, size_bytes)
        if self._ranges is not None:
            self._ranges.remove((address, size_bytes, writable))
            self._join()

    def _join(self) -> None:
        ranges = self._ranges or []
        self._readable = Intervals((a, s) for a, s, _ in ranges)
        self._writable = Intervals((a, s) for a, s, writable in ranges if writable)

    def read(self, addresses: np.ndarray, size: int, action: str = LOAD) -> np.ndarray:
        """The unsigned integers of `size` bytes at addresses; raises AccessFault.

        With action ATOMIC_UPDATE they must also be writable.
        """
        self._check(addresses, size, action)
        if self.ordering is not None:
            self.ordering.read(addresses, size)
        window, offsets = _window(addresses, size)
        return window[offsets]

    def write(self, addresses: np.ndarray, values: np.ndarray) -> None:
        """Stores unsigned integers; of two at one address, the later in row-major order wins. Raises AccessFault."""
        size = values.dtype.itemsize
        self._check(addresses, size, STORE)
        if self.ordering is not None:
            _refuse_repeated(addresses, values)
            self.ordering.write(addresses, size)
        window, offsets = _window(addresses, size)
        self.changes += not np.array_equal(window[offsets], values)
        window[offsets] = values

    def _check(self, addresses: np.ndarray, size: int, action: str) -> None:
        unreachable = (addresses == NO_ADDRESS) | (addresses == NO_ADDRESS >> np.uint64(1))
        if self.unreachable and unreachable.any():
            raise AccessFault(self.unreachable, int(np.argmax(unreachable)))
        misaligned = addresses % np.uint64(size) != 0
        if misaligned.any():
            position = int(np.argmax(misaligned))
            raise AccessFault(
                f"{action} of {size} bytes needs an address divisible by {size}, got {addresses.flat[position]:#x}",
                position,
            )
        outside = self._outside(addresses, size, action != LOAD)
        if outside.any():
            position = int(np.argmax(outside))
            address = int(addresses.flat[position])
            why = f"; {POISON}" if address in self.poisoned else ""
            raise AccessFault(f"{action} of {size} bytes at {address:#x} {self._where(address, action)}{why}", position)

    def _outside(self, addresses: np.ndarray, size: int, writing: bool) -> np.ndarray:
        if self._mapped is not None:
            return self._mapped.outside(addresses, size, writing)
        return (self._writable if writing else self._readable).outside(addresses, size)

    def _where(self, address: int, action: str) -> str:
        if self._ranges is None:
            return "is not mapped " + ("readable" if action == LOAD else "writable") + " in this process"
        below = [(start, size) for start, size, _ in self._ranges if start <= address]
        if not below:
            return "is outside all arrays of the launch"
        start, size = max(below)
        if address < start + size and action != LOAD:
            return f"is in a read-only array, {address - start} bytes from its start"
        below_it = f"the nearest array below has {size} bytes and starts {address - start} bytes lower"
        return f"is outside all arrays of the launch; {below_it}"


def _refuse_repeated(addresses: np.ndarray, values: np.ndarray) -> None:
    """Raises AccessFault if one store has different values for one address: which one remains is undefined."""
    order = np.argsort(addresses, axis=None, kind="stable")
    sorted_addresses, stored = addresses.reshape(-1)[order], values.reshape(-1)[order]
    differing = (sorted_addresses[1:] == sorted_addresses[:-1]) & (stored[1:] != stored[:-1])
    if differing.any():
        position = int(order[1:][np.argmax(differing)])
        raise AccessFault("two elements of this store write different values to one address", position)


class _Bytes:
    """Raw memory as numpy's array interface."""

    def __init__(self, address: int, count: int, size: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (count,), "typestr": f"<u{size}", "version": 3}


def _window(addresses: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """An array from the lowest to the highest address, and the index of each address in it."""
    if not addresses.size:
        return np.zeros(0, f"u{size}"), addresses.astype(np.int64)
    low = addresses.min()
    offsets = (addresses - low) // np.uint64(size)
    window = np.asarray(_Bytes(int(low), int(offsets.max()) + 1, size))
    return window, offsets.astype(np.int64)
