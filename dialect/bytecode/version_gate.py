"""Refuses what a version of the format has no form for, at the place in the user's file."""

from __future__ import annotations

from typing import NoReturn

from tilec.dialect.bytecode.version import Version
from tilec.dialect.mlir import ir
from tilec.errors import InputError, SourceLocation


class VersionGate:
    """The version that is written, and the operation that is being written."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.operation: ir.Operation | None = None

    def need(self, what: str, since: Version) -> None:
        """Raises InputError where `what` came with a later version."""
        if since > self.version:
            self.refuse(
                f"{what} needs bytecode version {since} or later, but version {self.version} is to be written:"
                f" write version {since} or later"
            )

    def refuse(self, message: str) -> NoReturn:
        """Raises InputError at the operation that is being written."""
        raise InputError(message, None if self.operation is None else source_location(self.operation.location))


def source_location(location: ir.Location) -> SourceLocation | None:
    """The innermost place in a file that a location tells of, or None where it tells of none."""
    if isinstance(location, ir.FileLineColLoc):
        # Generic text without locations has those of the text itself, whose name MLIR does not know.
        known = location.filename != "-"
        return SourceLocation(location.filename, location.start_line, location.start_col) if known else None
    if isinstance(location, ir.NameLoc):
        return source_location(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return source_location(location.callee)
    if isinstance(location, ir.FusedLoc):
        found = (source_location(each) for each in location.locations)
        return next((place for place in found if place is not None), None)
    return None
