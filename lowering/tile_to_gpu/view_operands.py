"""The operands of an access of tile_gpu to a tile of a view."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.declared_map import offsets
from tilec.lowering.tile_to_gpu.values import TileView


def view_operands(view: TileView, op: ir.OpView, conversion: Conversion) -> list[ir.Value | list[ir.Value]]:
    """Base, offsets, extents and strides in the order of the tile's dimensions."""
    extents = [view.tensor.extents[d] for d in view.dim_map]
    strides = [view.tensor.strides[d] for d in view.dim_map]
    return [view.tensor.base, offsets(view, op, conversion), extents, strides]
