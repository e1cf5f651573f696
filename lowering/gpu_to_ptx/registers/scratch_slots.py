"""Reuse of scratch memory: a barrier is inserted only if a thread may still read the memory."""

from __future__ import annotations

from tilec.lowering.gpu.ir.scratch_use import SLOT_BYTES, SLOTS

IDLE, WRITTEN, READ = "idle", "written", "read"


class ScratchSlots:
    """The state of each slot at the insertion point; all slots are idle at the start of a kernel."""

    def __init__(self) -> None:
        self._slots = [IDLE] * SLOTS

    def idle_slot(self, size_bytes: int) -> int | None:
        """The slot for a request of this size; None if a barrier is required first."""
        if size_bytes > SLOT_BYTES:
            return 0 if self._slots == [IDLE] * SLOTS else None
        return self._slots.index(IDLE) if IDLE in self._slots else None

    def write(self, slot: int, size_bytes: int) -> None:
        """Marks the slot as written, or all slots for a large request."""
        for taken in range(SLOTS) if size_bytes > SLOT_BYTES else (slot,):
            self._slots[taken] = WRITTEN

    def overwrite(self) -> None:
        """Marks read slots as written: each thread overwrites only elements that it alone has read."""
        self._slots = [WRITTEN if state == READ else state for state in self._slots]

    def after_barrier(self) -> None:
        """Updates the states after a barrier: read slots become idle, written slots become read."""
        self._slots = [READ if state == WRITTEN else IDLE for state in self._slots]

    def enter_block(self) -> None:
        """Assumes pending reads of every slot: the exchanges of preceding blocks are unknown."""
        self._slots = [READ] * SLOTS
