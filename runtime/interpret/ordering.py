"""Which accesses to the same memory have no order: tokens and data give one in a tile block, atomics between them.

Each value carries a history: the set of accesses it comes after, a bit for each access of the tile block. An access
comes after those in the histories of its operands, tokens among them, and of the conditions that led to it; program
order says nothing (Tile IR 5.6.7). Between tile blocks a release is ordered before an acquire that reads its place.
Of the loads of one place only the last two are remembered, so a missing order may be overlooked; none is made up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilec.errors import Note
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.step import Step

_PAGE_BITS = 16
# What is remembered of a byte: its last store, its last load, and the last load by another tile block than that one's.
_STORE, _LOAD, _FOREIGN_LOAD = range(3)
# How many of the first operands decide what is run: the condition, the bounds.
_DECIDING = {"cuda_tile.if": 1, "cuda_tile.for": 3}
# Their results are values of inner blocks, which have histories of their own.
_PASSING = frozenset(("cuda_tile.if", "cuda_tile.for", "cuda_tile.loop"))


class Traced(np.ndarray):
    """A tile with its history."""

    history: int


@dataclass(frozen=True)
class Token:
    """A token with its history."""

    history: int


@dataclass(frozen=True)
class _Event:
    """An access: the tile block that made it, and whether others may make theirs at the same time."""

    step: Step
    block: int
    strong: bool


def _histories(values: Iterable[Any]) -> int:
    found = 0
    for value in values:
        found |= _histories(value) if isinstance(value, tuple) else getattr(value, "history", 0)
    return found


class Ordering:
    """Watches the accesses of a run."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._pages: dict[int, np.ndarray] = {}
        self._released: dict[int, frozenset[int]] = {}
        self._block = -1
        self.start_block()

    def start_block(self) -> None:
        """The next tile block begins, which knows of no other."""
        self._block += 1
        self._first = len(self._events)
        self._known: frozenset[int] = frozenset()
        self._control = 0
        self._before = 0

    def before(self, step: Step, operands: list[Any]) -> int:
        """Called before a step; gives the history of what it makes."""
        history = _histories(operands) | self._control
        if step.name in _DECIDING:
            self._control |= _histories(operands[: _DECIDING[step.name]])
        if "memory_ordering_semantics" not in step.attributes:
            return history
        strong = step["memory_ordering_semantics"] != "weak" and step["memory_scope"] != "tl_blk"
        self._events.append(_Event(step, self._block, strong))
        self._before = history
        return history | 1 << len(self._events) - 1 - self._first

    def after(self, step: Step, history: int, result: Any) -> Any:
        """The result with its history."""
        if step.name in _PASSING:
            history = _histories([result]) | self._control
        if result is None or isinstance(result, Token):
            return Token(history)
        if not isinstance(result, np.ndarray | np.generic):
            return result
        traced = np.asarray(result).view(Traced)
        traced.history = history
        return traced

    def read(self, addresses: np.ndarray, size: int) -> None:
        """The step under way loads; raises Fault where a store of the same memory is not ordered before."""
        semantics = self._events[-1].step["memory_ordering_semantics"]
        if semantics in ("acquire", "acq_rel") and self._events[-1].strong:
            self._known = self._known.union(*(self._released.get(int(at), frozenset()) for at in addresses.flat))
        for entries, places in self._entries(addresses, size):
            self._conflict(entries[_STORE, places])
            last = entries[_LOAD, places]
            foreign = (last > 0) & (last <= self._first)
            entries[_FOREIGN_LOAD, places] = np.where(foreign, last, entries[_FOREIGN_LOAD, places])
            entries[_LOAD, places] = len(self._events)

    def write(self, addresses: np.ndarray, size: int) -> None:
        """The step under way stores; raises Fault where an access of the same memory is not ordered before."""
        for entries, places in self._entries(addresses, size):
            for kind in (_STORE, _LOAD, _FOREIGN_LOAD):
                self._conflict(entries[kind, places])
            entries[_STORE, places] = len(self._events)
        self._release(addresses)

    def forget(self, address: int, size_bytes: int) -> None:
        """The memory there is freed; what comes to lie there is new."""
        places = np.arange(address, address + size_bytes, dtype=np.uint64)
        for entries, bytes_ in self._entries(places, 1):
            entries[:, bytes_] = 0

    def _release(self, addresses: np.ndarray) -> None:
        event = self._events[-1]
        if event.strong and event.step["memory_ordering_semantics"] in ("release", "acq_rel"):
            for address in addresses.flat:
                self._released[int(address)] = self._known | {self._block}
        elif self._released and not event.step.name.startswith("cuda_tile.atomic"):
            # An atomic update carries on what a release began, a plain store ends it.
            for address in addresses.flat:
                self._released.pop(int(address), None)

    def _entries(self, addresses: np.ndarray, size: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """For each page the last accesses of its bytes (numbers of events, from 1 on), and which bytes are meant."""
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
        missing = "no token or value leads to it from" if here else "it races with"
        where = "" if here else " of another tile block"
        return Fault(
            f"this access has no order: {missing} '{other.step.name}'{where} on the same memory",
            [Note(f"'{other.step.name}' is here", other.step.location)],
        )
