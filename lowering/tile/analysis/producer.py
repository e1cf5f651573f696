"""The defining operation of a value, seen through assumptions."""

from __future__ import annotations

from tilec.dialect.mlir import ir


def producer(value: ir.Value, *names: str) -> ir.OpView | None:
    """The defining operation of a value if it has one of these names (without the dialect), otherwise None."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name.removeprefix("cuda_tile.") not in names:
        return None
    return owner


def without_assumptions(value: ir.Value) -> ir.Value:
    """The operand of a chain of assume operations; other values are returned as they are."""
    while (promise := producer(value, "assume")) is not None:
        value = promise.value
    return value
