"""Stores and reductions of tiles into views by TMA, from tiles in shared memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.placed import PlaceOp, StoreTileOp
from tilec.dialect.tilex.im2col_type import Im2colViewType
from tilec.lowering import emitter
from tilec.lowering.tile_to_gpu.access.packing import with_whole_bytes
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion
from tilec.lowering.tile_to_gpu.conversion.declared_map import (
    coordinates,
    copied_buffer_type,
    declare_im2col_map,
    declare_map,
    offsets,
    row_end,
    starts_inside,
)
from tilec.lowering.tile_to_gpu.conversion.im2col_position import start_coordinates


def store_by_tma(
    op: ir.OpView, tile: ir.Value, map: TensorMap, conversion: Conversion, reduction: str | None = None
) -> None:
    """Stores a tile, or combines it with the elements of the view by a `reduction` of tile_gpu."""
    view, order = conversion.tile_views[op.view], conversion.order
    is_im2col = isinstance(view.type, Im2colViewType)
    handle = (declare_im2col_map if is_im2col else declare_map)(map, view, conversion)
    stored = with_whole_bytes(tile, map.contiguous, conversion.warps)
    placed = emitter.gpu(PlaceOp, [stored], [copied_buffer_type(map, view.type)]).result
    awaited = order.stores_to_await(op)
    facts: dict[str, Any] = {
        "after_stores": bool(awaited),
        "after_itself": awaited == {op.operation},
        "after_accesses": _follows_accesses(op, conversion),
    }
    if is_im2col:
        emitter.gpu(StoreTileOp, [handle, start_coordinates(op, view, conversion), None, placed], **facts)
        return
    starts = offsets(view, op, conversion)
    inside = starts_inside(view, op, starts)
    with nullcontext() if inside is None else emitter.only_if(inside):
        operands = [handle, coordinates(map, view, op, starts), row_end(map, view, conversion), placed]
        emitter.gpu(StoreTileOp, operands, reduction=reduction, **facts)


def _follows_accesses(op: ir.OpView, conversion: Conversion) -> bool:
    """Whether a store must follow generic accesses: loads, or stores that threads may have made."""
    earlier = (
        conversion.order.before(op) if isinstance(op.view.type, Im2colViewType) else conversion.order.loads_before(op)
    )
    return bool(earlier)
