"""From an MLIR location to what a person wants to know of a line: which tile operation, which Python line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.cuda_tile.debug_info import Scope, enclosing_subprogram, own_scope
from tilec.dialect.location import UNNAMED
from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation

# More calls than this are not shown; the front end inlines no deeper.
_CALL_LIMIT = 100


@dataclass(frozen=True)
class Site:
    """A line of the user's, and the function it stands in where debug info tells."""

    source: SourceLocation
    function: str = ""


@dataclass(frozen=True)
class Place:
    """`operation` is the tile operation or empty, `sites` are the user's innermost line and its callers outwards."""

    operation: str
    sites: tuple[Site, ...] = ()

    @property
    def source(self) -> SourceLocation | None:
        """The user's innermost line."""
        return self.sites[0].source if self.sites else None

    def comment(self) -> str:
        """As in `cuda_tile.mmaf  matmul.py:12 (called at matmul.py:30)`; empty where nothing is known."""
        where, *callers = [_short(site.source) for site in self.sites] or [""]
        if callers:
            where += f" (called at {', '.join(callers)})"
        return "  ".join(text for text in (self.operation, where) if text)


def place(location: ir.Location) -> Place:
    """What a location says: NameLoc is the tile operation, CallSiteLoc an inlined helper, FusedLoc what was merged."""
    return _read(location, {}, 0)


def error_place(location: ir.Location) -> SourceLocation | None:
    """The user's line of a location, for a diagnostic."""
    return place(location).source


def _short(source: SourceLocation) -> str:
    return f"{os.path.basename(source.file)}:{source.line}"


def _read(location: ir.Location, found: dict[ir.Attribute, Place], depth: int) -> Place:
    # Each part once, and not too deep: locations can be made of one another so that they are huge when written out.
    key = location.attr
    if key not in found:
        found[key] = (
            Place("") if depth > _CALL_LIMIT else _compose(location, lambda part: _read(part, found, depth + 1))
        )
    return found[key]


def _compose(location: ir.Location, read: Callable[[ir.Location], Place]) -> Place:
    if isinstance(location, ir.FileLineColLoc):
        return _file(location)
    if isinstance(location, ir.NameLoc):
        inner = read(location.child_loc)
        return Place(location.name_str or inner.operation, inner.sites)
    if isinstance(location, ir.CallSiteLoc):
        callee, caller = read(location.callee), read(location.caller)
        return Place(callee.operation, (callee.sites + caller.sites)[:_CALL_LIMIT])
    if isinstance(location, ir.FusedLoc):
        parts = [read(part) for part in location.locations]
        first = next((part for part in parts if part.sites), parts[0] if parts else Place(""))
        return _in_scope(first, own_scope(location))
    return Place("")


def _file(location: ir.FileLineColLoc) -> Place:
    # MLIR text that has no locations gets those of the text itself, whose name is unknown.
    if location.filename == UNNAMED:
        return Place("")
    return Place("", (Site(SourceLocation(location.filename, location.start_line, location.start_col)),))


def _in_scope(found: Place, scope: Scope | None) -> Place:
    subprogram = None if scope is None else enclosing_subprogram(scope)
    if subprogram is None or not found.sites:
        return found
    return Place(found.operation, (Site(found.sites[0].source, subprogram.name), *found.sites[1:]))
