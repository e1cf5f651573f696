"""The dialects of tilec."""

from __future__ import annotations

import importlib

from tilec.dialect.mlir import ext

# The namespace (also the package's name) and the class in its dialect.py, which imports all op groups.
DIALECTS = {"cuda_tile": "CudaTile", "tilex": "TileX", "tile_gpu": "TileGpu", "ptx": "Ptx"}


def dialects() -> list[type[ext.Dialect]]:
    """The `ext.Dialect` classes, complete with their operations."""
    modules = {name: importlib.import_module(f"tilec.dialect.{package}.dialect") for package, name in DIALECTS.items()}
    return [getattr(module, name) for name, module in modules.items()]
