"""Atomic updates through pointers and of tiles of views."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.atomic import WIDEST, AtomicGlobalOp, AtomicViewOp, CompareAndSwapGlobalOp
from tilec.lowering import emitter
from tilec.lowering.tile.simplify.mark_inbounds import proven_inbounds
from tilec.lowering.tile_to_gpu.access.alignment import access_vector
from tilec.lowering.tile_to_gpu.access.memory_order import order_of
from tilec.lowering.tile_to_gpu.access.tensor_maps import tma_reduction
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts
from tilec.lowering.tile_to_gpu.conversion.placed_tiles import store_by_tma
from tilec.lowering.tile_to_gpu.conversion.view_operands import view_operands
from tilec.lowering.tile_to_gpu.ops.memory import elements_of, elements_type, result_of

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


@converts("atomic_rmw_tko", "tilex.atomic_rmw_tko")
def _atomic_rmw(op: ir.OpView, conversion: Conversion) -> None:
    vector = conversion.vectors.get(op.operation, 1)
    _update(AtomicGlobalOp, op, [op.pointers, op.arg, op.mask], conversion, mode=op.mode, vector=vector)


@converts("atomic_cas_tko")
def _atomic_cas(op: ir.OpView, conversion: Conversion) -> None:
    _update(CompareAndSwapGlobalOp, op, [op.pointers, op.cmp, op.val, op.mask], conversion)


def _update(
    operation: type[Operation],
    op: ir.OpView,
    values: list[ir.Value | None],
    conversion: Conversion,
    **attributes: object,
) -> None:
    """Only a result that is used is converted: an update whose result nothing reads needs no registers for it."""
    result = op.operation.results[0]
    layout = conversion.layouts.get(result)
    operands = [elements_of(value, layout, conversion) for value in values]
    conversion.synchronize(op)
    type = elements_type(result, conversion)
    old = emitter.gpu(operation, operands, [type], **attributes, **order_of(op)).result
    if list(result.uses):
        conversion.set(result, result_of(old, result, conversion))


@converts("atomic_red_view_tko", "tilex.atomic_red_view_tko")
def _atomic_red_view(op: ir.OpView, conversion: Conversion) -> None:
    """TMA reduces with order relaxed.gpu (PTX ISA 9.7.9.27), which includes the scopes that Tile IR allows here."""
    value, map = conversion.get(op.value), conversion.stores.get(op.operation)
    if map is not None:
        reduction, element = tma_reduction(op, map.element)
        store_by_tma(op, value, replace(map, element=element), conversion, reduction)
        return
    view = conversion.tile_views[op.view]
    conversion.synchronize(op)
    attributes = {**_vector(op), "mode": op.mode, "inbounds": proven_inbounds(op), "scope": op.memory_scope}
    emitter.gpu(AtomicViewOp, [value, *view_operands(view, op, conversion)], [], **attributes)


def _vector(op: ir.OpView) -> dict[str, int]:
    """The elements of one instruction and the dimension they run along."""
    dimension, aligned = access_vector(op)
    vector = min(aligned, WIDEST.get((op.mode, spell(op.value.type.element)), 1))
    return {"vector": vector, "vector_dimension": dimension} if vector > 1 else {"vector": 1}
