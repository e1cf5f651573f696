"""Refuses content that a version of the format cannot express, at the line in the user's file."""

from __future__ import annotations

from typing import NoReturn

from tilec.dialect.bytecode.version import Version
from tilec.dialect.location import UNNAMED, innermost
from tilec.dialect.mlir import ir
from tilec.errors import InputError, SourceLocation


class VersionGate:
    """The version and the operation being written; unnamed text is called `file`."""

    def __init__(self, version: Version, file: str | None = None) -> None:
        self.version = version
        self._file = file
        self.operation: ir.Operation | None = None

    def need(self, feature: str, since: Version) -> None:
        """Raises InputError if `feature` needs a later version."""
        if since > self.version:
            self.refuse(
                f"{feature} needs bytecode version {since} or later, but version {self.version} is to be written:"
                f" write version {since} or later"
            )

    def refuse(self, message: str) -> NoReturn:
        """Raises InputError at the operation being written."""
        raise InputError(message, self._location())

    def _location(self) -> SourceLocation | None:
        found = None if self.operation is None else innermost(self.operation.location)
        name = None if found is None else self._file if found.filename == UNNAMED else found.filename
        if found is None or name is None:
            return None
        return SourceLocation(name, found.start_line, found.start_col)
