"""The tensor under a view, its extents, and the steps between the tiles of the view."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import GatherScatterViewType, PartitionViewType, StridedViewType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.producer import producer

_MAKERS = (
    "make_partition_view",
    "make_strided_view",
    "make_gather_scatter_view",
    "tilex.make_im2col_view",
    "tilex.make_packed_view",
)


def tensor_under(view: ir.Value) -> ir.OpView | None:
    """The make_tensor_view whose tensor a tile view cuts into tiles, if it is in this kernel."""
    maker = producer(view, *_MAKERS)
    return None if maker is None else producer(maker.tensor_view, "make_tensor_view")


def tile_steps(type: PartitionViewType | StridedViewType | GatherScatterViewType) -> tuple[int, ...]:
    """The elements between tiles along each dimension of a tile; indices of a gather_scatter_view count elements."""
    if isinstance(type, GatherScatterViewType):
        return (1,) * type.rank
    return type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape


def tile_spans(type: PartitionViewType | StridedViewType | GatherScatterViewType) -> tuple[int, ...]:
    """The successive elements that one index selects along each dimension: one along a sparse dimension."""
    sparse = getattr(type, "sparse_dim", None)
    return tuple(1 if k == sparse else extent for k, extent in enumerate(type.tile_shape))


def tensor_extent(tensor: ir.OpView, dimension: int) -> int | ir.Value:
    """The extent of a tensor along a dimension: a number, or the value that holds it."""
    shape = tensor.result.type.shape
    known = shape[dimension]
    return tensor.dynamicShape[shape[:dimension].count(None)] if known is None else known
