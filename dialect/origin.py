"""The origin of an operation, read from its MLIR location: the tile operation and the line of the user's source."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.cuda_tile.debug_info import Scope, enclosing_subprogram, own_scope
from tilec.dialect.location import UNNAMED
from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation

# The most calls that the front end inlines; longer chains are cut.
_CALL_LIMIT = 100


@dataclass(frozen=True)
class Site:
    """A line of the user's source, with the function that contains it if debug info names one."""

    source: SourceLocation
    function: str = ""


@dataclass(frozen=True)
class Origin:
    """The name of the tile operation (or empty), and the innermost line of the user followed by its callers."""

    operation: str
    sites: tuple[Site, ...] = ()

    @property
    def source(self) -> SourceLocation | None:
        """The user's innermost line."""
        return self.sites[0].source if self.sites else None

    def comment(self) -> str:
        """Text such as `cuda_tile.mmaf  matmul.py:12 (called at matmul.py:30)`; empty if the origin is unknown."""
        where, *callers = [_short(site.source) for site in self.sites] or [""]
        if callers:
            where += f" (called at {', '.join(callers)})"
        return "  ".join(text for text in (self.operation, where) if text)


def origin_of(location: ir.Location) -> Origin:
    """The origin in a location: NameLoc holds the tile operation, CallSiteLoc an inlined call, FusedLoc merged ones."""
    return _read(location, {}, 0)


def _short(source: SourceLocation) -> str:
    return f"{os.path.basename(source.file)}:{source.line}"


def _read(location: ir.Location, found: dict[ir.Attribute, Origin], depth: int) -> Origin:
    # Locations share parts, so the expanded form can be exponential: each part is read once, to a bounded depth.
    key = location.attr
    if key not in found:
        found[key] = (
            Origin("") if depth > _CALL_LIMIT else _compose(location, lambda part: _read(part, found, depth + 1))
        )
    return found[key]


def _compose(location: ir.Location, read: Callable[[ir.Location], Origin]) -> Origin:
    if isinstance(location, ir.FileLineColLoc):
        return _file(location)
    if isinstance(location, ir.NameLoc):
        inner = read(location.child_loc)
        return Origin(location.name_str or inner.operation, inner.sites)
    if isinstance(location, ir.CallSiteLoc):
        callee, caller = read(location.callee), read(location.caller)
        return Origin(callee.operation, (callee.sites + caller.sites)[:_CALL_LIMIT])
    if isinstance(location, ir.FusedLoc):
        parts = [read(part) for part in location.locations]
        first = next((part for part in parts if part.sites), parts[0] if parts else Origin(""))
        return _in_scope(first, own_scope(location))
    return Origin("")


def _file(location: ir.FileLineColLoc) -> Origin:
    # MLIR gives text without locations the positions in that text, under an unknown file name.
    if location.filename == UNNAMED:
        return Origin("")
    return Origin("", (Site(SourceLocation(location.filename, location.start_line, location.start_col)),))


def _in_scope(found: Origin, scope: Scope | None) -> Origin:
    subprogram = None if scope is None else enclosing_subprogram(scope)
    if subprogram is None or not found.sites:
        return found
    return Origin(found.operation, (Site(found.sites[0].source, subprogram.name), *found.sites[1:]))
