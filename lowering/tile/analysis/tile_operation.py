"""Which operations the passes know: those of Tile IR and of its extensions, whose effects their definitions declare."""

from __future__ import annotations

from tilec.dialect.mlir import ir

_DIALECTS = ("cuda_tile.", "tilex.")


def is_tile_operation(operation: ir.Operation) -> bool:
    """Whether an operation is one of Tile IR or of its extensions; the effects of others are unknown."""
    return operation.name.startswith(_DIALECTS)
