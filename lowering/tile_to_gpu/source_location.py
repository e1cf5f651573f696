"""The user's line behind an operation."""

from __future__ import annotations

from typing import Any

from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation


def source_location(op: Any) -> SourceLocation | None:
    """The innermost file, line and column of an operation's location, or None."""
    return _found(op.operation.location)


def _found(location: ir.Location) -> SourceLocation | None:
    if location.is_a_name():
        return _found(location.child_loc)
    if location.is_a_callsite():
        return _found(location.callee)
    if location.is_a_fused():
        return next((found for found in map(_found, location.locations) if found), None)
    if location.is_a_file():
        return SourceLocation(location.filename, location.start_line, location.start_col)
    return None
