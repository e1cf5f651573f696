"""The indices of a gather or scatter, as a register tile beside the elements that they select."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.tile_to_gpu.access.index import sparse_index
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion
from tilec.lowering.tile_to_gpu.conversion.values import TileView


def sparse_indices(view: TileView, op: ir.OpView, layout: LinearLayout, conversion: Conversion) -> ir.Value | None:
    """The indices of an access to a tile of `layout`, each in the threads of its elements; None if all are dense."""
    dimension = view.sparse_dimension
    if dimension is None:
        return None
    index = list(op.index)[dimension]
    # Beside the definition of the indices: a loop around the access then converts them once.
    with point_after(conversion.get(index)):
        return sparse_index(index, conversion.tile(index, layout.keep(dimension)), view.tensor.index_width)


def point_after(value: ir.Value) -> ir.InsertionPoint:
    """Directly after the definition of a value."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(owner)
    return ir.InsertionPoint.after(owner.operation)
