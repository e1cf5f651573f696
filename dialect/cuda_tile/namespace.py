"""The dialect class `cuda_tile`, to which types and operations are attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.mlir import ext

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Dialect
else:
    Dialect = ext.Dialect


class CudaTile(Dialect, name="cuda_tile"):
    """Tile IR."""
