"""Optimization hints of Tile IR operations for one target."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.target import Target


def tile_hint(op: ir.OpView, name: str, target: Target) -> int | bool | None:
    """A hint of an operation for this target, else for all targets."""
    attributes = op.operation.attributes
    if "optimization_hints" not in attributes:
        return None
    hints = attributes["optimization_hints"]
    for architecture in (target.architecture, "default"):
        if architecture in hints and name in hints[architecture]:
            return hints[architecture][name].value
    return None


def allows_tma(op: ir.OpView, target: Target) -> bool:
    """Whether the hints of an access leave TMA allowed."""
    return tile_hint(op, "allow_tma", target) is not False
