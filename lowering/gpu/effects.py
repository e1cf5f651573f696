"""Whether operations have effects."""

from __future__ import annotations

from tilec.dialect.mlir import ext, ir

_WITHOUT = ("arith.", "math.", "tile_gpu.reduce", "tile_gpu.scan")


def has_no_effects(op: ir.Operation) -> bool:
    """Whether an operation only computes its results, and reads no memory."""
    return op.name.startswith(_WITHOUT) or ext.Pure in getattr(op.opview, "_traits", ())
