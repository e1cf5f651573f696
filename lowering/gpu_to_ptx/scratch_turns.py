"""When scratch may be written again: a barrier is only spent where some thread may still read."""

from __future__ import annotations

# Small requests (parts of reductions) take turns in two slots: the barrier between the writes and the reads of one turn
# also ends the reads of the turn before. Larger requests use the scratch from its start and so both slots.
SLOT_BYTES = 4096
SLOTS = 2

IDLE, WRITTEN, READ = "idle", "written", "read"


class ScratchTurns:
    """What is known in the block being written of each slot; at the start of a kernel both are idle."""

    def __init__(self) -> None:
        self._slots = [IDLE] * SLOTS

    def idle_slot(self, size_bytes: int) -> int | None:
        """The slot for a request of this size, or None where the threads must meet first."""
        if size_bytes > SLOT_BYTES:
            return 0 if self._slots == [IDLE] * SLOTS else None
        return self._slots.index(IDLE) if IDLE in self._slots else None

    def write(self, slot: int, size_bytes: int) -> None:
        """The request takes its slot (all, where it is large)."""
        for taken in range(SLOTS) if size_bytes > SLOT_BYTES else (slot,):
            self._slots[taken] = WRITTEN

    def write_over(self) -> None:
        """Each thread writes where it alone has read."""
        self._slots = [WRITTEN if state == READ else state for state in self._slots]

    def meet(self) -> None:
        """A barrier: what was being read is idle, what was written may be read from now on."""
        self._slots = [READ if state == WRITTEN else IDLE for state in self._slots]

    def forget(self) -> None:
        """Another block: it is not known which exchange came before."""
        self._slots = [READ] * SLOTS
