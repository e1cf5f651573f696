"""The views of an entry during conversion; tile_gpu has no values for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.tensor_extent import tile_steps


@dataclass(frozen=True)
class TensorView:
    """A tensor in global memory: base address, extents and strides (in elements) as scalars of tile_gpu."""

    base: ir.Value
    extents: tuple[ir.Value, ...]
    strides: tuple[ir.Value, ...]
    type: ir.Type
    source: ir.OpView

    @property
    def index_width(self) -> int:
        """The bits of its extents, and of indices into it."""
        return max((extent.type.width for extent in self.extents), default=32)


@dataclass(frozen=True)
class TileView:
    """A view cut into tiles: how far apart they start, and which tensor dimension each tile dimension walks."""

    tensor: TensorView
    type: ir.Type

    @property
    def steps(self) -> tuple[int, ...]:
        return tile_steps(self.type)

    @property
    def sparse_dimension(self) -> int | None:
        """The dimension along which a tile of indices selects elements one by one."""
        return getattr(self.type, "sparse_dim", None)

    @property
    def dim_map(self) -> Sequence[int]:
        return self.type.dim_map
