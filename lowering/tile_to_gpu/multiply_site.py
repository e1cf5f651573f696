"""Multiplies of one site, the parts of one operation of the program, fill the same channels in turn."""

from __future__ import annotations

from typing import TypeAlias

from tilec.dialect.mlir import ir

# The operation whose region a multiply is in, and its location in the program.
Site: TypeAlias = tuple[ir.Operation, str]


def site_of(multiply: ir.OpView) -> Site:
    """The site of a multiply: others of the same operation of the program in the same region have it too."""
    operation = multiply.operation
    return operation.parent.operation, str(operation.location)
