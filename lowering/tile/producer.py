"""Which operation gives a value."""

from __future__ import annotations

from typing import Any

from tilec.dialect.mlir import ir


def producer(value: ir.Value, *names: str) -> Any:
    """The operation that gives a value where it has one of these names (without the dialect), None otherwise."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name.removeprefix("cuda_tile.") not in names:
        return None
    return owner
