"""The place in the user's file that a location of MLIR tells of, the innermost one where code was inlined."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation

# The name that MLIR gives to text without one.
UNNAMED = "-"
# Operations whose arguments have locations of their own in a text; those of others are where their operation is.
KERNELS = frozenset(("cuda_tile.entry", "tile_gpu.kernel", "ptx.entry"))


def innermost(location: ir.Location) -> ir.FileLineColLoc | None:
    """The first place in a file that there is: of a call site in what was called, of others in the order of parts."""
    # Diagnostics hold locations whose kind Python does not know yet.
    location = ir.Location.from_attr(location.attr, location.context)
    # Each part once: locations can be made of one another so that they are huge when written out.
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
    """The innermost place, or None where it is not known or is one in unnamed text."""
    found = innermost(location)
    if found is None or found.filename == UNNAMED:
        return None
    return SourceLocation(found.filename, found.start_line, found.start_col)


def parts(location: ir.Location) -> list[ir.Location]:
    """The locations that a location is made of, those of a call site from the callee to the caller."""
    if isinstance(location, ir.CallSiteLoc):
        return [location.callee, location.caller]
    if isinstance(location, ir.NameLoc):
        return [location.child_loc]
    return list(location.locations) if isinstance(location, ir.FusedLoc) else []
