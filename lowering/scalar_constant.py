"""The value of a scalar integer constant."""

from __future__ import annotations

from tilec.dialect.mlir import ir

_CONSTANT = "arith.constant"


def constant_of(value: ir.Value) -> int | None:
    """The integer that a scalar always is, -1 for the i1 true; None for another value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != _CONSTANT or not isinstance(value.type, ir.IntegerType):
        return None
    return ir.IntegerAttr(owner.operation.attributes["value"]).value
