"""The attributes that the custom syntax of an operation does not place."""

from __future__ import annotations

from tilec.dialect.mlir import ir


def remaining(op: ir.Operation, *placed: str) -> dict[str, ir.Attribute]:
    """The attributes except the placed ones."""
    return {key: op.attributes[key] for key in op.attributes if key not in placed}
