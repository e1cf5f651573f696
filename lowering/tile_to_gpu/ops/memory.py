"""Loads and stores through tiles of pointers, fences, and dependencies between grids."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import GdcLaunchDependentsOp, GdcWaitOp
from tilec.dialect.tile_gpu.operations.memory import FenceAliasOp
from tilec.dialect.tile_gpu.operations.shape import ExtractOp, SplatOp
from tilec.dialect.tile_gpu.operations.view import LoadGlobalOp, StoreGlobalOp
from tilec.lowering import emitter
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.tile.analysis.list_words import loaded_word
from tilec.lowering.tile_to_gpu.access.memory_order import order_of
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts, is_repeatable, runs_ahead


@converts("load_ptr_tko")
def _load_ptr(op: ir.OpView, conversion: Conversion) -> None:
    result = op.operation.results[0]
    layout = conversion.layouts.get(result)
    operands = [elements_of(value, layout, conversion) for value in (op.source, op.mask, op.paddingValue)]
    conversion.synchronize(op)
    fields = [None if value is None else [value] for value in operands]
    vector = conversion.vectors.get(op.operation, 1)
    type = elements_type(result, conversion)
    attributes = {
        "vector": vector,
        "early": runs_ahead(op, conversion),
        "repeatable": is_repeatable(op, conversion),
        "constant": loaded_word(op) is not None,
        **order_of(op),
    }
    loaded = emitter.gpu(LoadGlobalOp, fields, [type], **attributes).result
    conversion.set(result, result_of(loaded, result, conversion))


@converts("store_ptr_tko")
def _store_ptr(op: ir.OpView, conversion: Conversion) -> None:
    layout = conversion.layouts.get(op.destination)
    operands = [elements_of(value, layout, conversion) for value in (op.destination, op.value, op.mask)]
    conversion.synchronize(op)
    vector = conversion.vectors.get(op.operation, 1)
    emitter.gpu(StoreGlobalOp, operands, vector=vector, **order_of(op))


@converts("memory_fence_alias_tko")
def _fence_alias(op: ir.OpView, conversion: Conversion) -> None:
    conversion.synchronize(op)
    emitter.gpu(FenceAliasOp)


@converts("gdc_wait_tko")
def _gdc_wait(_op: ir.OpView, _conversion: Conversion) -> None:
    emitter.gpu(GdcWaitOp)


@converts("gdc_launch_dependents_tko")
def _gdc_launch_dependents(op: ir.OpView, conversion: Conversion) -> None:
    conversion.synchronize(op)
    emitter.gpu(GdcLaunchDependentsOp)


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
