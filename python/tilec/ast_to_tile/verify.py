"""The last check of a traced module; what it finds was not caught at the user's line."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import VerificationError


def verify(module: ir.Module) -> None:
    """Raises VerificationError with the place of the first operation that breaks a rule of Tile IR."""
    try:
        module.operation.verify()
    except ir.MLIRError as problem:
        first = problem.error_diagnostics[0]
        raise VerificationError(first.message, source_location(first.location)) from problem
