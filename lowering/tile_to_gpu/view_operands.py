"""The operands of an access of tile_gpu to a tile of a view."""

from __future__ import annotations

from tilec.dialect.build import Group
from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.declared_map import offsets
from tilec.lowering.tile_to_gpu.sparse_indices import sparse_indices
from tilec.lowering.tile_to_gpu.values import TileView


def view_operands(view: TileView, op: ir.OpView, tile: ir.Value, conversion: Conversion) -> list[Group]:
    """Base, offsets, extents and strides in the order of the tile's dimensions, and the sparse indices."""
    extents = [view.tensor.extents[d] for d in view.dim_map]
    strides = [view.tensor.strides[d] for d in view.dim_map]
    indices = sparse_indices(view, op, conversion.layouts[tile], conversion)
    return [view.tensor.base, offsets(view, op, conversion), extents, strides, indices]
