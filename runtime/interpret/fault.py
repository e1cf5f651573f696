"""What a kernel does wrong while it runs."""

from __future__ import annotations

from tilec.errors import Note


class Fault(Exception):
    """The kernel broke a rule; the machine adds the user's line and the tile block. `notes` name other places."""

    def __init__(self, message: str, notes: list[Note] | None = None) -> None:
        super().__init__(message)
        self.notes = notes or []
