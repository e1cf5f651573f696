"""Runs the steps of one tile block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilec.errors import Note, SimulationError
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.global_memory import Memory, Range
from tilec.runtime.interpret.ordering import Ordering
from tilec.runtime.interpret.step import Block, Leave, Step

Dimensions = tuple[int, int, int]


@dataclass(slots=True)
class Machine:
    """A tile block: where it is in the grid, its values by slot, and what it shares with the others.

    With `check`, what the language leaves undefined is an error or gives poison: NaN for floats and a pattern of
    alternating bits for integers. With `truncate_tf32`, f32 becomes tf32 by dropping bits. `write` takes what the
    kernel prints.
    """

    memory: Memory
    index: Dimensions
    grid: Dimensions
    values: list[Any]
    globals: dict[str, int]
    write: Callable[[str], object]
    check: bool = False
    truncate_tf32: bool = False
    _allocations: list[Range] = field(default_factory=list)
    _storage: list[np.ndarray] = field(default_factory=list)

    def run(self, block: Block, arguments: Sequence[Any] = ()) -> Leave:
        """Runs a block to its terminator; raises SimulationError at the user's line for what the kernel does wrong."""
        values, allocated = self.values, len(self._allocations)
        for slot, argument in zip(block.arguments, arguments, strict=True):
            values[slot] = argument
        for step in block.steps:
            operands = [self._operand(entry) for entry in step.operands]
            history = self.ordering.before(step, operands) if self.ordering is not None else 0
            try:
                outcome = step.meaning(step, self, *operands)
            except Fault as fault:
                notes = [*step.notes, *fault.notes, self._here()]
                raise SimulationError(str(fault), step.location, notes) from None
            if isinstance(outcome, Leave):
                self._release(allocated)
                return outcome
            self._store(step, outcome, history)
        raise AssertionError("a verified block ends in a terminator")

    @property
    def ordering(self) -> Ordering | None:
        return self.memory.ordering

    def undefined(self, message: str) -> None:
        """Says that the kernel relies on what is undefined, which is a fault when checking."""
        if self.check:
            raise Fault(message)

    def allocate(self, size_bytes: int, alignment: int) -> int:
        """The address of memory for the block of operations under way: zeros, or poison when checking. Raises Fault."""
        # Bytes of ones are a NaN in every format that has one.
        try:
            storage = np.full(size_bytes + alignment, 0xFF if self.check else 0, np.uint8)
        except (MemoryError, ValueError):
            raise Fault(f"there is no memory of {size_bytes} bytes, aligned to {alignment}") from None
        address = -(-storage.ctypes.data // alignment) * alignment
        reach = (address, size_bytes, True)
        self._storage.append(storage)
        self._allocations.append(reach)
        self.memory.add(*reach)
        return address

    def _release(self, first: int) -> None:
        """Ends the life of allocations from the given one on; the bytes stay, so that no other use of them is hit."""
        for reach in self._allocations[first:]:
            self.memory.remove(*reach)
        del self._allocations[first:]

    def _operand(self, entry: Any) -> Any:
        if entry is None:
            return None
        if isinstance(entry, tuple):
            return tuple(self.values[slot] for slot in entry)
        return self.values[entry]

    def _store(self, step: Step, outcome: Any, history: int) -> None:
        results = outcome if isinstance(outcome, tuple) else (outcome,) if step.results else ()
        for slot, result in zip(step.results, results, strict=True):
            value = np.asarray(result) if isinstance(result, np.generic) else result
            self.values[slot] = value if self.ordering is None else self.ordering.after(step, history, value)

    def _here(self) -> Note:
        return Note(f"in tile block {self.index} of grid {self.grid}")
