"""The innermost file position in an MLIR location."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation

# MLIR's name for unnamed text.
UNNAMED = "-"
# Operations whose arguments have locations of their own in a text; those of others are where their operation is.
KERNELS = frozenset(("cuda_tile.entry", "tile_gpu.kernel", "ptx.entry"))


def innermost(location: ir.Location) -> ir.FileLineColLoc | None:
    """The first file position: in the callee of a call site, otherwise in the order of the parts."""
    # Locations in diagnostics are not yet downcast.
    location = ir.Location.from_attr(location.attr, location.context)
    # Locations share parts, so the expanded form can be exponential: each part is visited once.
    stack, seen = [location], set[ir.Attribute]()
    while stack:
        found = stack.pop()
        if isinstance(found, ir.FileLineColLoc):
            return found
        key = found.attr
        if key not in seen:
            seen.add(key)
            stack += reversed(parts(found))
    return None


def source_location(location: ir.Location) -> SourceLocation | None:
    """The innermost position, or None if it is unknown or in unnamed text."""
    found = innermost(location)
    if found is None or found.filename == UNNAMED:
        return None
    return SourceLocation(found.filename, found.start_line, found.start_col)


def parts(location: ir.Location) -> list[ir.Location]:
    """The component locations of a location; for a call site the callee, then the caller."""
    if isinstance(location, ir.CallSiteLoc):
        return [location.callee, location.caller]
    if isinstance(location, ir.NameLoc):
        return [location.child_loc]
    return list(location.locations) if isinstance(location, ir.FusedLoc) else []
