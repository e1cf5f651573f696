"""Refuses what a version of the format has no form for, at the place in the user's file."""

from __future__ import annotations

from typing import NoReturn

from tilec.dialect.bytecode.version import Version
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import InputError


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
