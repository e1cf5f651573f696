"""Which dialects the context holds: their namespace, and the class that loads them."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

# Namespace (also the package's name) and the class in its dialect.py, which imports all op groups.
DIALECTS = {
    "cuda_tile": "CudaTile",
    "tilex": "TileX",
    "tile_gpu": "TileGpu",
    "ptx": "Ptx",
}


def dialects() -> list[Any]:
    """The `ext.Dialect` classes of the packages that are there, complete with their operations."""
    found = []
    for namespace, name in DIALECTS.items():
        package = f"tilec.dialect.{namespace}"
        if find_spec(package) is not None and find_spec(f"{package}.dialect") is not None:
            found.append(getattr(importlib.import_module(f"{package}.dialect"), name))
    return found
