"""The last check of a traced module; what it finds was not caught at the user's line."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.errors import SourceLocation, VerificationError


def verify(module: ir.Module) -> None:
    """Raises VerificationError with the place of the first operation that breaks a rule of Tile IR."""
    try:
        module.operation.verify()
    except ir.MLIRError as problem:
        first = problem.error_diagnostics[0]
        raise VerificationError(first.message, _place(first.location)) from problem


def _place(location: ir.Location) -> SourceLocation | None:
    while hasattr(location, "callee"):
        location = location.callee
    if not hasattr(location, "filename"):
        return None
    return SourceLocation(location.filename, location.start_line, location.start_col)
