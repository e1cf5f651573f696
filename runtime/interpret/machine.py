"""Execution of one tile block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilec.errors import Note, SimulationError
from tilec.runtime.arrays import address_of
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.memory.global_memory import Memory, Range
from tilec.runtime.interpret.memory.ordering import Ordering
from tilec.runtime.interpret.step import Block, Leave, Slots, Step

Dimensions = tuple[int, int, int]


@dataclass(slots=True)
class Machine:
    """A tile block: its coordinates in the grid, its values by slot, and the state shared by all tile blocks.

    With `check`, undefined behaviour is an error or yields poison: NaN for floats, a pattern of alternating bits for
    integers. With `truncate_tf32`, f32 is converted to tf32 by dropping bits. `write` receives printed text.
    """

    memory: Memory
    index: Dimensions
    grid: Dimensions
    values: list[object]
    globals: dict[str, int]
    write: Callable[[str], object]
    check: bool = False
    truncate_tf32: bool = False
    _allocations: list[Range] = field(default_factory=list)
    _storage: list[np.ndarray] = field(default_factory=list)

    def run(self, block: Block, arguments: Sequence[object] = ()) -> Leave:
        """Runs a block to its terminator; raises SimulationError, with the source location, for its errors."""
        values, first_allocation = self.values, len(self._allocations)
        for slot, argument in zip(block.arguments, arguments, strict=True):
            values[slot] = argument
        for step in block.steps:
            left = self.execute(step)
            if left is not None:
                self._release(first_allocation)
                return left
        raise AssertionError("a verified block ends in a terminator")

    def execute(self, step: Step) -> Leave | None:
        """Runs one operation and stores its results, or returns the outcome of a terminator; raises SimulationError."""
        operands = [self._operand(entry) for entry in step.operands]
        history = self.ordering.before(step, operands) if self.ordering is not None else 0
        try:
            outcome = step.meaning(step, self, *operands)
        except Fault as fault:
            notes = [*step.notes, *fault.notes, self._here()]
            raise SimulationError(str(fault), step.location, notes) from None
        if isinstance(outcome, Leave):
            return outcome
        self._store(step, outcome, history)
        return None

    @property
    def ordering(self) -> Ordering | None:
        return self.memory.ordering

    def undefined(self, message: str) -> None:
        """Reports undefined behaviour of the kernel: a Fault when checking, else ignored."""
        if self.check:
            raise Fault(message)

    def allocate(self, size_bytes: int, alignment: int) -> int:
        """The address of new memory that lives as long as the running block: zeros, or poison when checking.

        Raises Fault if the host has too little memory.
        """
        # All bits set is a NaN in every format that has NaN.
        try:
            storage = np.full(size_bytes + alignment, 0xFF if self.check else 0, np.uint8)
        except (MemoryError, ValueError):
            raise Fault(f"cannot allocate {size_bytes} bytes, aligned to {alignment}") from None
        address = -(-address_of(storage) // alignment) * alignment
        allocated = (address, size_bytes, True)
        self._storage.append(storage)
        self._allocations.append(allocated)
        self.memory.add(*allocated)
        return address

    def _release(self, first: int) -> None:
        """Ends the lifetime of the allocations from index `first` on; storage is kept, so addresses stay unique."""
        for allocated in self._allocations[first:]:
            self.memory.remove(*allocated)
        del self._allocations[first:]

    def _operand(self, entry: Slots) -> object:
        if entry is None:
            return None
        if isinstance(entry, tuple):
            return tuple(self.values[slot] for slot in entry)
        return self.values[entry]

    def _store(self, step: Step, outcome: object, history: int) -> None:
        results = outcome if isinstance(outcome, tuple) else (outcome,) if step.results else ()
        for slot, result in zip(step.results, results, strict=True):
            value = np.asarray(result) if isinstance(result, np.generic) else result
            self.values[slot] = value if self.ordering is None else self.ordering.after(step, history, value)

    def _here(self) -> Note:
        return Note(f"in tile block {self.index} of grid {self.grid}")
