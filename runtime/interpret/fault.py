"""Errors of a running kernel."""

from __future__ import annotations

from tilec.errors import Note


class Fault(Exception):
    """An error of the kernel; the machine adds the source location and the tile block. `notes` name other locations."""

    def __init__(self, message: str, notes: list[Note] | None = None) -> None:
        super().__init__(message)
        self.notes = notes or []
