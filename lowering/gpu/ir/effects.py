"""Whether operations have effects."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.interface import interface_of


def has_no_effects(op: ir.Operation) -> bool:
    """Whether an operation only computes its results, and reads no memory."""
    return interface_of(op.name).is_pure
