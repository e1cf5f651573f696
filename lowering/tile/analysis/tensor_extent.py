"""The tensor under a view, its extents, and the steps between the tiles of the view."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.cuda_tile.types import GatherScatterViewType, PartitionViewType, StridedViewType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.tile_operations import producer, without_assumptions

MAKERS = (
    "make_partition_view",
    "make_strided_view",
    "make_gather_scatter_view",
    "tilex.make_im2col_view",
    "tilex.make_packed_view",
)


def tensor_under(view: ir.Value) -> ir.OpView | None:
    """The make_tensor_view whose tensor a tile view cuts into tiles, if it is in this kernel."""
    maker = producer(view, *MAKERS)
    return None if maker is None else producer(maker.tensor_view, "make_tensor_view")


def tensor_maker(view: ir.Value) -> ir.OpView:
    """The make_tensor_view under a view that this kernel makes, seen through assumptions."""
    return without_assumptions(view.owner.operands[0]).owner


def tile_steps(type: PartitionViewType | StridedViewType | GatherScatterViewType) -> tuple[int, ...]:
    """The elements between tiles along each dimension of a tile; indices of a gather_scatter_view count elements."""
    if isinstance(type, GatherScatterViewType):
        return (1,) * type.rank
    return type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape


def tile_spans(type: PartitionViewType | StridedViewType | GatherScatterViewType) -> tuple[int, ...]:
    """The successive elements that one index selects along each dimension: one along a sparse dimension."""
    sparse = getattr(type, "sparse_dim", None)
    return tuple(1 if k == sparse else extent for k, extent in enumerate(type.tile_shape))


def tensor_extents(tensor: ir.OpView) -> tuple[int | ir.Value, ...]:
    """The extents of a tensor: numbers, or the values that hold them."""
    return _filled(tensor.operation.results[0].type.shape, tensor.dynamicShape)


def tensor_strides(tensor: ir.OpView) -> tuple[int | ir.Value, ...]:
    """The strides of a tensor: numbers, or the values that hold them."""
    return _filled(tensor.operation.results[0].type.strides, tensor.dynamicStrides)


def _filled(known: Sequence[int | None], dynamic: Sequence[ir.Value]) -> tuple[int | ir.Value, ...]:
    """The known numbers, and the values for the others."""
    values = iter(dynamic)
    return tuple(next(values) if number is None else number for number in known)
