"""Detection of unordered accesses to the same memory.

Tokens and data order the accesses of a tile block, atomics those of different tile blocks. Each value carries a
history: the set of accesses ordered before it, one bit per access of the tile block. An access is ordered after those
in the histories of its operands, tokens included, and of the enclosing conditions; program order does not order
accesses (Tile IR 5.6.7). Between tile blocks, a release is ordered before an acquire that reads its address. Only the
last two loads of each byte are recorded, so a missing order may go unreported, but no report is false.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tilec.errors import Note
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.step import Step

_PAGE_BITS = 16
# The records of each byte: its last store, its last load, and the last load by another tile block than the last load.
_STORE, _LOAD, _FOREIGN_LOAD = range(3)
# The number of leading operands that control execution: the condition, the bounds.
_CONTROL_OPERANDS = {"cuda_tile.if": 1, "cuda_tile.for": 3}
# Operations whose results are values of inner blocks, which have their own histories.
_FORWARDING = frozenset(("cuda_tile.if", "cuda_tile.for", "cuda_tile.loop"))


class Traced(np.ndarray):
    """A tile with its history."""

    history: int


@dataclass(frozen=True)
class Token:
    """A token with its history."""

    history: int


@dataclass(frozen=True)
class _Event:
    """An access: its tile block, and whether it may be concurrent with other strong accesses."""

    step: Step
    block: int
    strong: bool


def _histories(values: Iterable[object]) -> int:
    found = 0
    for value in values:
        found |= _histories(value) if isinstance(value, tuple) else getattr(value, "history", 0)
    return found


class Ordering:
    """Records the accesses of a run and reports unordered ones."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._pages: dict[int, np.ndarray] = {}
        self._released: dict[int, frozenset[int]] = {}
        self._block = -1
        self.start_block()

    def start_block(self) -> None:
        """Starts the next tile block, which is ordered after no other."""
        self._block += 1
        self._first = len(self._events)
        self._known: frozenset[int] = frozenset()
        self._control = 0
        self._before = 0

    def before(self, step: Step, operands: list[object]) -> int:
        """Called before a step; returns the history of its results."""
        history = _histories(operands) | self._control
        if step.name in _CONTROL_OPERANDS:
            self._control |= _histories(operands[: _CONTROL_OPERANDS[step.name]])
        if "memory_ordering_semantics" not in step.attributes:
            return history
        strong = step["memory_ordering_semantics"] != "weak" and step["memory_scope"] != "tl_blk"
        self._events.append(_Event(step, self._block, strong))
        self._before = history
        return history | 1 << len(self._events) - 1 - self._first

    def after(self, step: Step, history: int, result: object) -> object:
        """The result with its history."""
        if step.name in _FORWARDING:
            history = _histories([result]) | self._control
        if result is None or isinstance(result, Token):
            return Token(history)
        if not isinstance(result, np.ndarray | np.generic):
            return result
        traced = np.asarray(result).view(Traced)
        traced.history = history
        return traced

    def read(self, addresses: np.ndarray, size: int) -> None:
        """Records a load by the current step; raises Fault for an unordered store of the same memory."""
        semantics = self._events[-1].step["memory_ordering_semantics"]
        if semantics in ("acquire", "acq_rel") and self._events[-1].strong:
            self._known = self._known.union(*(self._released.get(int(at), frozenset()) for at in addresses.flat))
        for entries, offsets in self._entries(addresses, size):
            self._conflict(entries[_STORE, offsets])
            last = entries[_LOAD, offsets]
            foreign = (last > 0) & (last <= self._first)
            entries[_FOREIGN_LOAD, offsets] = np.where(foreign, last, entries[_FOREIGN_LOAD, offsets])
            entries[_LOAD, offsets] = len(self._events)

    def write(self, addresses: np.ndarray, size: int) -> None:
        """Records a store by the current step; raises Fault for an unordered access of the same memory."""
        for entries, offsets in self._entries(addresses, size):
            for kind in (_STORE, _LOAD, _FOREIGN_LOAD):
                self._conflict(entries[kind, offsets])
            entries[_STORE, offsets] = len(self._events)
        self._release(addresses)

    def forget(self, address: int, size_bytes: int) -> None:
        """Drops the records of freed memory."""
        addresses = np.arange(address, address + size_bytes, dtype=np.uint64)
        for entries, offsets in self._entries(addresses, 1):
            entries[:, offsets] = 0

    def _release(self, addresses: np.ndarray) -> None:
        event = self._events[-1]
        if event.strong and event.step["memory_ordering_semantics"] in ("release", "acq_rel"):
            for address in addresses.flat:
                self._released[int(address)] = self._known | {self._block}
        elif self._released and not event.step.name.startswith("cuda_tile.atomic"):
            # An atomic update continues a release sequence, a plain store ends it.
            for address in addresses.flat:
                self._released.pop(int(address), None)

    def _entries(self, addresses: np.ndarray, size: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """For each page, the records of its bytes (event numbers, from 1) and the offsets of the accessed bytes."""
        bytes_ = (addresses.reshape(-1, 1) + np.arange(size, dtype=np.uint64)).reshape(-1)
        pages = bytes_ >> np.uint64(_PAGE_BITS)
        for page in np.unique(pages):
            entries = self._pages.setdefault(int(page), np.zeros((3, 1 << _PAGE_BITS), np.int32))
            yield entries, (bytes_[pages == page] & np.uint64((1 << _PAGE_BITS) - 1)).astype(np.int64)

    def _conflict(self, numbers: np.ndarray) -> None:
        for number in np.unique(numbers).tolist():
            if number and number != len(self._events) and not self._ordered(number - 1):
                raise self._fault(self._events[number - 1])

    def _ordered(self, number: int) -> bool:
        event = self._events[number]
        if event.block == self._block:
            return bool(self._before >> number - self._first & 1)
        return event.block in self._known or (event.strong and self._events[-1].strong)

    def _fault(self, other: _Event) -> Fault:
        here = other.block == self._block
        relation = "no token or value orders it after" if here else "it races with"
        block = "" if here else " of another tile block"
        return Fault(
            f"unordered access: {relation} '{other.step.name}'{block} on the same memory",
            [Note(f"'{other.step.name}' is here", other.step.location)],
        )
