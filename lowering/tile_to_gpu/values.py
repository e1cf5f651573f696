"""The views of an entry during conversion; tile_gpu has no values for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir


@dataclass(frozen=True)
class TensorView:
    """A tensor in global memory: base address, extents and strides (in elements) as scalars of tile_gpu."""

    base: ir.Value
    extents: tuple[ir.Value, ...]
    strides: tuple[ir.Value, ...]
    type: ir.Type
    source: ir.OpView


@dataclass(frozen=True)
class TileView:
    """A view cut into tiles: how far apart they start, and which tensor dimension each tile dimension walks."""

    tensor: TensorView
    type: ir.Type

    @property
    def steps(self) -> tuple[int, ...]:
        return getattr(self.type, "traversal_strides", None) or self.type.tile_shape

    @property
    def dim_map(self) -> Sequence[int]:
        return self.type.dim_map
