"""Loads and stores through tiles of pointers."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.conversion import Conversion
from tilec.lowering.tile_to_gpu.converts import converts
from tilec.lowering.tile_to_gpu.memory_order import order_of


def _operand(value: ir.Value | None, layout: LinearLayout | None, conversion: Conversion) -> ir.Value | None:
    """A tile in the layout; a single pointer, value or mask as a tile of one."""
    if value is None:
        return None
    if layout is not None:
        return conversion.tile(value, layout)
    made = conversion.get(value)
    one = emitter.tile_type((1,), made.type, blocked((1,), conversion.warps))
    return emitter.gpu("splat", [made], [one]).result


@converts("load_ptr_tko")
def _load_ptr(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    layout = conversion.layouts.get(result)
    operands = [_operand(value, layout, conversion) for value in (op.source, op.mask, op.paddingValue)]
    type = conversion.type(result)
    if layout is None:
        type = emitter.tile_type((1,), type, blocked((1,), conversion.warps))
    conversion.synchronize(op)
    fields = [None if value is None else [value] for value in operands]
    vector = conversion.vectors.get(op.operation, 1)
    loaded = emitter.gpu("load_global", fields, [type], vector=vector, **order_of(op)).result
    if layout is None:
        loaded = emitter.gpu("extract", [loaded, emitter.i32(0)], [conversion.type(result)]).result
    conversion.set(result, loaded)


@converts("store_ptr_tko")
def _store_ptr(op: ir.OpView, conversion: Conversion) -> None:
    layout = conversion.layouts.get(op.destination)
    operands = [_operand(value, layout, conversion) for value in (op.destination, op.value, op.mask)]
    conversion.synchronize(op)
    vector = conversion.vectors.get(op.operation, 1)
    emitter.gpu("store_global", operands, vector=vector, **order_of(op))
