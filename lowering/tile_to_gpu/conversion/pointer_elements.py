"""The elements that an access through pointers takes: tiles, or a single element as a tile of one."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import ExtractOp, SplatOp
from tilec.lowering import emitter
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion


def elements_of(value: ir.Value | None, layout: LinearLayout | None, conversion: Conversion) -> ir.Value | None:
    """An operand in the layout of its access; a single pointer, value or mask (layout None) as a tile of one."""
    if value is None:
        return None
    if layout is not None:
        return conversion.tile(value, layout)
    made = conversion.get(value)
    return emitter.gpu(SplatOp, [made], [_of_one(made.type, conversion)]).result


def elements_type(result: ir.Value, conversion: Conversion) -> ir.Type:
    """The type of the tile that an access returns."""
    type = conversion.type(result)
    return type if isinstance(type, ir.RankedTensorType) else _of_one(type, conversion)


def result_of(elements: ir.Value, result: ir.Value, conversion: Conversion) -> ir.Value:
    """The converted result: the elements, or the single element."""
    type = conversion.type(result)
    if isinstance(type, ir.RankedTensorType):
        return elements
    return emitter.gpu(ExtractOp, [elements, emitter.i32(0)], [type]).result


def _of_one(element: ir.Type, conversion: Conversion) -> ir.Type:
    return emitter.tile_type((1,), element, blocked((1,), conversion.warps))
