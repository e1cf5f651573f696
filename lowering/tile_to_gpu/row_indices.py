"""The indices of gathered rows in shared memory, from which the thread that issues TMA reads them."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.placed import PlaceOp
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.declared_map import buffer_type
from tilec.lowering.tile_to_gpu.index import sparse_index
from tilec.lowering.tile_to_gpu.sparse_indices import point_after
from tilec.lowering.tile_to_gpu.values import TileView


def row_indices(op: ir.OpView, view: TileView, conversion: Conversion) -> ir.Value:
    """The placed indices of one load, beside their definition: a loop around the load then stores them once."""
    assert view.sparse_dimension is not None
    index = list(op.index)[view.sparse_dimension]
    made = conversion.get(index)
    width = view.tensor.index_width
    type = buffer_type(index.type.shape, emitter.integer_type(width), 0, "none")
    with point_after(made):
        return emitter.gpu(PlaceOp, [sparse_index(index, made, width)], [type]).result
