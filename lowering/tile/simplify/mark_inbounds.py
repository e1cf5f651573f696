"""Sets `inbounds` on view accesses for each dimension in which the tile provably lies inside the tensor."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import GatherScatterViewType, PartitionViewType, StridedViewType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.divisibility import divisor_of
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_under, tile_spans, tile_steps
from tilec.lowering.tile.analysis.tile_operations import counting_loop, producer, without_assumptions

_ACCESSES = ("cuda_tile.load_view_tko", "cuda_tile.store_view_tko")
_VIEWS = PartitionViewType | StridedViewType | GatherScatterViewType


def mark_inbounds(module: ir.Module) -> None:
    """Sets the proven flags; flags that are set stay. Tile IR has them since 13.4."""
    for op in operations_named(module, _ACCESSES):
        flags = proven_inbounds(op)
        if any(flags) and flags != (op.inbounds or []):
            op.operation.attributes["inbounds"] = ir.DenseBoolArrayAttr.get(flags)


def proven_inbounds(op: ir.OpView) -> list[bool]:
    """For each index, whether its tile lies inside the tensor, as declared by the access or proven by analysis."""
    promised = list(getattr(op, "inbounds", None) or [False] * len(op.index))
    type = op.view.type
    tensor = tensor_under(op.view)
    if tensor is None or not isinstance(type, _VIEWS):
        return promised
    return [flag or _is_inside(op, k, tensor) for k, flag in enumerate(promised)]


def _is_inside(op: ir.OpView, k: int, tensor: ir.OpView) -> bool:
    """Whether 0 <= index and index * step + tile <= extent, by intervals or because a loop runs over all tiles."""
    type, index = op.view.type, list(op.index)[k]
    step, tile = tile_steps(type)[k], tile_spans(type)[k]
    extent = tensor_extents(tensor)[type.dim_map[k]]
    known = bounds(index)
    least = extent if isinstance(extent, int) else bounds(extent).low
    if known.low < 0 or least < 0:
        return False
    return known.high * step + tile <= least or step == tile and _counts_tiles(index, op, k, extent, step)


def _counts_tiles(index: ir.Value, op: ir.OpView, k: int, extent: int | ir.Value, step: int) -> bool:
    """Whether the index is an induction variable bounded by the number of whole tiles of the extent."""
    loop = counting_loop(index)
    if loop is None or loop.unsignedCmp:
        return False
    limit = loop.upperBound
    only_whole = divisor_of(extent) % step == 0
    tiles = producer(limit, "get_index_space_shape")
    if tiles is not None:
        same_tensor = tensor_under(tiles.src) == tensor_under(op.view)
        return only_whole and same_tensor and _same_cut(tiles.src.type, op.view.type, limit, k)
    quotient = producer(limit, "divi")
    if quotient is None or splat(quotient.rhs) != step or isinstance(extent, int):
        return False
    same_extent = without_assumptions(quotient.lhs) == without_assumptions(extent)
    return same_extent and (only_whole or quotient.rounding != "positive_inf")


def _same_cut(counted: ir.Type, accessed: _VIEWS, limit: ir.Value, k: int) -> bool:
    """Whether a result of get_index_space_shape counts the tiles along dimension k of an access."""
    at = ir.OpResult(limit).result_number
    if not isinstance(counted, _VIEWS):
        return False
    return counted.dim_map[at] == accessed.dim_map[k] and tile_steps(counted)[at] == tile_steps(accessed)[k]
