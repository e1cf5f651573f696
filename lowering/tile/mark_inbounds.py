"""Accesses to views whose tiles are known to lie inside of the tensor say so: `inbounds`, dimension by dimension."""

from __future__ import annotations

from typing import Any

from tilec.dialect.cuda_tile.types import PartitionViewType, StridedViewType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.bounds import bounds
from tilec.lowering.tile.constants import splat
from tilec.lowering.tile.divisibility import divisibility
from tilec.lowering.tile.producer import producer


def mark_inbounds(module: ir.Module) -> None:
    """Sets the flags that are proven; those that are set stay. Tile IR has them since 13.4."""

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _ACCESSES:
            op: Any = operation.opview
            flags = proven_inbounds(op)
            if any(flags) and flags != (op.inbounds or []):
                operation.attributes["inbounds"] = ir.DenseBoolArrayAttr.get(flags)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


_ACCESSES = ("cuda_tile.load_view_tko", "cuda_tile.store_view_tko")


def proven_inbounds(op: Any) -> list[bool]:
    """For each index whether its tile lies inside of the tensor, as the access promises or analysis proves."""
    promised = list(op.inbounds or [False] * len(op.index))
    type = op.view.type
    tensor = _tensor(op.view)
    if tensor is None or not isinstance(type, PartitionViewType | StridedViewType):
        return promised
    return [flag or _is_inside(op, k, tensor) for k, flag in enumerate(promised)]


def _tensor(view: ir.Value) -> Any:
    maker = producer(view, "make_partition_view", "make_strided_view")
    return None if maker is None else producer(maker.tensor_view, "make_tensor_view")


def _steps(type: Any) -> tuple[int, ...]:
    return type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape


def _extent(tensor: Any, dimension: int) -> int | ir.Value:
    """The extent of a tensor along a dimension: a number, or the value that gives it."""
    shape = tensor.result.type.shape
    known = shape[dimension]
    return tensor.dynamicShape[shape[:dimension].count(None)] if known is None else known


def _is_inside(op: Any, k: int, tensor: Any) -> bool:
    """0 <= index and index * step + tile <= extent, for the numbers that can occur or for a loop over all tiles."""
    type, index = op.view.type, list(op.index)[k]
    step, tile = _steps(type)[k], type.tile_shape[k]
    extent = _extent(tensor, type.dim_map[k])
    known = bounds(index)
    least = extent if isinstance(extent, int) else bounds(extent).low
    if known.low < 0 or least < 0:
        return False
    return known.high * step + tile <= least or step == tile and _counts_tiles(index, op, k, extent, step)


def _counts_tiles(index: ir.Value, op: Any, k: int, extent: int | ir.Value, step: int) -> bool:
    """Whether the index runs up to the number of whole tiles of the extent."""
    block = index.owner
    if not isinstance(block, ir.Block) or block.owner.operation.name != "cuda_tile.for":
        return False
    loop = block.owner
    if ir.BlockArgument(index).arg_number != 0 or loop.unsignedCmp:
        return False
    limit = loop.upperBound
    only_whole = _divides(step, extent)
    tiles = producer(limit, "get_index_space_shape")
    if tiles is not None:
        same_tensor = _tensor(tiles.src) == _tensor(op.view)
        return only_whole and same_tensor and _same_cut(tiles.src.type, op.view.type, limit, k)
    quotient = producer(limit, "divi")
    if quotient is None or splat(quotient.rhs) != step or isinstance(extent, int):
        return False
    return _plain(quotient.lhs) == _plain(extent) and (only_whole or quotient.rounding != "positive_inf")


def _divides(step: int, extent: int | ir.Value) -> bool:
    return (extent if isinstance(extent, int) else divisibility(extent)) % step == 0


def _same_cut(counted: Any, accessed: Any, limit: ir.Value, k: int) -> bool:
    """Whether the result of get_index_space_shape counts the tiles that an access walks along its dimension k."""
    at = ir.OpResult(limit).result_number
    if not isinstance(counted, PartitionViewType | StridedViewType):
        return False
    return counted.dim_map[at] == accessed.dim_map[k] and _steps(counted)[at] == _steps(accessed)[k]


def _plain(value: ir.Value) -> ir.Value:
    """The value that promises were made about."""
    while (promise := producer(value, "assume")) is not None:
        value = promise.value
    return value
