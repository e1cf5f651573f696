"""Accesses to the tiles of multicast views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.multimem import (
    VECTORS,
    MultimemLoadViewOp,
    MultimemReduceViewOp,
    MultimemStoreViewOp,
)
from tilec.errors import UnsupportedError
from tilec.lowering import emitter
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.tile.simplify.mark_inbounds import proven_inbounds
from tilec.lowering.tile_to_gpu.access.alignment import access_vector
from tilec.lowering.tile_to_gpu.access.memory_order import order_of
from tilec.lowering.tile_to_gpu.access.operation_name import operation_name
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts
from tilec.lowering.tile_to_gpu.conversion.view_operands import view_operands

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


@converts("multimem_load_reduce_view_tko")
def _load_reduce(op: ir.OpView, conversion: Conversion) -> None:
    result, view = op.operation.results[0], conversion.tile_views[op.view]
    made = conversion.type(result)
    dimension, vector = _vector(op)
    layout = blocked(result.type.shape, conversion.warps, dimension, vector)
    type = emitter.tile_type(made.shape, made.element_type, layout)
    conversion.synchronize(op)
    attributes = {**_attributes(op), "reduction": op.reduction, "padding": view.type.padding or "zero"}
    loaded = emitter.gpu(MultimemLoadViewOp, view_operands(view, op, conversion), [type], **attributes)
    conversion.set_converted(result, loaded.result)


@converts("multimem_store_view_tko")
def _store(op: ir.OpView, conversion: Conversion) -> None:
    _write(MultimemStoreViewOp, op, conversion)


@converts("multimem_reduce_view_tko")
def _reduce(op: ir.OpView, conversion: Conversion) -> None:
    _write(MultimemReduceViewOp, op, conversion, reduction=op.reduction)


def _write(operation: type[Operation], op: ir.OpView, conversion: Conversion, **attributes: object) -> None:
    """The tile gets a layout in which a thread holds the elements of an access."""
    view = conversion.tile_views[op.view]
    dimension, vector = _vector(op)
    value = conversion.tile(op.tile, blocked(op.tile.type.shape, conversion.warps, dimension, vector))
    conversion.synchronize(op)
    emitter.gpu(operation, [value, *view_operands(view, op, conversion)], [], **_attributes(op), **attributes)


def _attributes(op: ir.OpView) -> dict[str, object]:
    dimension, vector = _vector(op)
    along = {"vector_dimension": dimension} if vector > 1 else {}
    return {"vector": vector, **along, "inbounds": proven_inbounds(op), **order_of(op)}


def _vector(op: ir.OpView) -> tuple[int, int]:
    """The dimension and the number of the elements of an access; raises UnsupportedError if there must be more."""
    element, (dimension, aligned) = spell(op.view.type.element), access_vector(op)
    least, most = VECTORS.get(element, (1, 1))
    if aligned < least:
        raise UnsupportedError(
            f"'{operation_name(op)}' accesses {least} elements of {element} at once, but base, extents, strides and "
            f"indices allow one: state with 'assume div_by' that the base is aligned and the others are even",
            source_location(op.operation.location),
        )
    return dimension, min(aligned, most)
