"""Verifies a traced module; the checks of the front end report most errors before."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.errors import VerificationError


def verify(module: ir.Module) -> None:
    """Raises VerificationError with the source location of the first invalid operation."""
    try:
        module.operation.verify()
    except ir.MLIRError as problem:
        first = problem.error_diagnostics[0]
        raise VerificationError(first.message, source_location(first.location)) from problem
