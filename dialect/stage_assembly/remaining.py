"""The attributes that the custom syntax of an operation does not print."""

from __future__ import annotations

from tilec.dialect.mlir import ir


def remaining(op: ir.Operation, *printed: str) -> dict[str, ir.Attribute]:
    """The attributes except the printed ones."""
    return {key: op.attributes[key] for key in op.attributes if key not in printed}
