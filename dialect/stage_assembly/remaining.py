"""The attributes that have no place in the text of an operation with a syntax of its own."""

from __future__ import annotations

from tilec.dialect.mlir import ir


def remaining(op: ir.Operation, *placed: str) -> dict[str, ir.Attribute]:
    """The attributes other than those placed."""
    return {key: op.attributes[key] for key in op.attributes if key not in placed}
