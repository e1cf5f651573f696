"""The namespace `cuda_tile`; types and operations attach themselves to it."""

from __future__ import annotations

from tilec.dialect.mlir import ext


class CudaTile(ext.Dialect, name="cuda_tile"):
    """Tile IR."""
