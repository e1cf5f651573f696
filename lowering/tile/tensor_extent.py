"""The tensor under a view, its extents, and the steps between the tiles of the view."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PartitionViewType, StridedViewType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.producer import producer


def tensor_under(view: ir.Value) -> ir.OpView | None:
    """The make_tensor_view whose tensor a partition view or strided view cuts into tiles, if it is in this kernel."""
    maker = producer(view, "make_partition_view", "make_strided_view")
    return None if maker is None else producer(maker.tensor_view, "make_tensor_view")


def tile_steps(type: PartitionViewType | StridedViewType) -> tuple[int, ...]:
    """The elements between the starts of tiles along each dimension of a tile."""
    return type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape


def tensor_extent(tensor: ir.OpView, dimension: int) -> int | ir.Value:
    """The extent of a tensor along a dimension: a number, or the value that holds it."""
    shape = tensor.result.type.shape
    known = shape[dimension]
    return tensor.dynamicShape[shape[:dimension].count(None)] if known is None else known
