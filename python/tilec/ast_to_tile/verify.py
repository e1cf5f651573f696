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
        raise VerificationError(first.message, place_of(first.location)) from problem


def place_of(location: ir.Location) -> SourceLocation | None:
    """The user's line that a location of an operation stands for, the innermost of inlined ones."""
    while hasattr(location, "callee"):
        location = location.callee
    if not hasattr(location, "filename"):
        return None
    return SourceLocation(location.filename, location.start_line, location.start_col)
