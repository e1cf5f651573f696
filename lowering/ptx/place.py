"""From an MLIR location to what a person wants to know of a line: which tile operation, which Python line."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation


@dataclass(frozen=True)
class Place:
    """`operation` is the tile operation or empty, `source` the user's innermost line, `callers` from there outwards."""

    operation: str
    source: SourceLocation | None
    callers: tuple[SourceLocation, ...] = ()

    def comment(self) -> str:
        """As in `cuda_tile.mmaf  matmul.py:12 (called at matmul.py:30)`; empty where nothing is known."""
        where = _short(self.source) if self.source else ""
        if self.callers:
            where += f" (called at {', '.join(map(_short, self.callers))})"
        return "  ".join(text for text in (self.operation, where) if text)


def place(location: ir.Location) -> Place:
    """What a location says: NameLoc is the tile operation, CallSiteLoc an inlined helper, FusedLoc what was merged."""
    operation, sources = _read(location)
    return Place(operation, sources[0] if sources else None, tuple(sources[1:]))


def error_place(location: ir.Location) -> SourceLocation | None:
    """The user's line of a location, for a diagnostic."""
    return place(location).source


def _short(source: SourceLocation) -> str:
    return f"{os.path.basename(source.file)}:{source.line}"


def _read(location: ir.Location) -> tuple[str, list[SourceLocation]]:
    if isinstance(location, ir.FileLineColLoc):
        # MLIR text that has no locations gets those of the text itself, whose name is unknown.
        if location.filename == "-":
            return "", []
        return "", [SourceLocation(location.filename, location.start_line, location.start_col)]
    if isinstance(location, ir.NameLoc):
        inner, sources = _read(location.child_loc)
        return location.name_str or inner, sources
    if isinstance(location, ir.CallSiteLoc):
        operation, callee = _read(location.callee)
        return operation, callee + _read(location.caller)[1]
    if isinstance(location, ir.FusedLoc):
        parts = [_read(part) for part in location.locations]
        return next((part for part in parts if part[1]), parts[0] if parts else ("", []))
    return "", []
