"""The operands of an access of tile_gpu to a tile of a view."""

from __future__ import annotations

from tilec.dialect.build import Group
from tilec.dialect.mlir import ir
from tilec.lowering.layout.linear_layout import parse_layout
from tilec.lowering.tile.analysis.tile_operations import point_after
from tilec.lowering.tile_to_gpu.access.alignment import access_vector, per_byte
from tilec.lowering.tile_to_gpu.access.index import sparse_index
from tilec.lowering.tile_to_gpu.access.packing import divided_exactly
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, TileView
from tilec.lowering.tile_to_gpu.conversion.declared_map import offsets


def view_operands(view: TileView, op: ir.OpView, conversion: Conversion) -> list[Group]:
    """Base, offsets, extents and strides in the order of the tile's dimensions: in bytes, if elements share them."""
    parts, (packed, _) = per_byte(view.type.element), access_vector(op)
    starts = offsets(view, op, conversion)
    extents = [view.tensor.extents[d] for d in view.dim_map]
    strides = [view.tensor.strides[d] for d in view.dim_map]
    return [
        view.tensor.base,
        [divided_exactly(start, parts if k == packed else 1) for k, start in enumerate(starts)],
        [divided_exactly(extent, parts if k == packed else 1) for k, extent in enumerate(extents)],
        [divided_exactly(stride, 1 if k == packed else parts) for k, stride in enumerate(strides)],
    ]


def sparse_view_operands(view: TileView, op: ir.OpView, tile: ir.Type, conversion: Conversion) -> list[Group]:
    """The same, and the indices along the sparse dimension, each in the threads of its elements of a tile; or None."""
    dimension, indices = view.sparse_dimension, None
    if dimension is not None:
        index, layout = list(op.index)[dimension], parse_layout(tile.encoding.value).keep(dimension)
        # Beside the definition of the indices: a loop around the access then converts them once.
        with point_after(conversion.get(index)):
            indices = sparse_index(index, conversion.tile(index, layout), view.tensor.index_width)
    return [*view_operands(view, op, conversion), indices]
