"""Source locations of the user's file from MLIR locations."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.errors import Note, SourceLocation

Located = tuple[SourceLocation | None, list[Note]]


def source_location(location: ir.Location) -> Located:
    """The innermost source location, and a note for each call on the path to it."""
    if isinstance(location, ir.FileLineColLoc):
        return SourceLocation(location.filename, location.start_line, location.start_col), []
    if isinstance(location, ir.NameLoc):
        return source_location(location.child_loc)
    if isinstance(location, ir.FusedLoc):
        return next((found for found in map(source_location, location.locations) if found[0] is not None), (None, []))
    if isinstance(location, ir.CallSiteLoc):
        return _call(source_location(location.callee), source_location(location.caller))
    return None, []


def _call(callee: Located, caller: Located) -> Located:
    if callee[0] is None:
        return caller
    call = [] if caller[0] is None else [Note("called from here", caller[0])]
    return callee[0], [*callee[1], *call, *caller[1]]
