"""Places in the user's file out of MLIR's locations."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.errors import Note, SourceLocation

Place = tuple[SourceLocation | None, list[Note]]


def place(location: ir.Location) -> Place:
    """The innermost place, and a note for each call that leads there."""
    if isinstance(location, ir.FileLineColLoc):
        return SourceLocation(location.filename, location.start_line, location.start_col), []
    if isinstance(location, ir.NameLoc):
        return place(location.child_loc)
    if isinstance(location, ir.FusedLoc):
        return next((found for found in map(place, location.locations) if found[0] is not None), (None, []))
    if isinstance(location, ir.CallSiteLoc):
        return _call(place(location.callee), place(location.caller))
    return None, []


def _call(callee: Place, caller: Place) -> Place:
    if callee[0] is None:
        return caller
    call = [] if caller[0] is None else [Note("called from here", caller[0])]
    return callee[0], [*callee[1], *call, *caller[1]]
