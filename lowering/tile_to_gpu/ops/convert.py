"""Conversions between element types, and of pointers."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering import emitter
from tilec.lowering.tile_to_gpu.access.pointers import address_of, moved, pointers_to
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts
from tilec.lowering.tile_to_gpu.ops.arith import computed, elementwise, operands_in_result_layout
from tilec.lowering.tile_to_gpu.ops.float import MODES

# Every value of the first is one of the second.
_WIDENING = {
    ("f16", "f32"),
    ("bf16", "f32"),
    ("f16", "f64"),
    ("bf16", "f64"),
    ("f32", "f64"),
    ("tf32", "f32"),
    ("tf32", "f64"),
}
_NARROWING = {("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16"), ("f64", "bf16")}


@converts("ftoi")
def _ftoi(op: ir.OpView, conversion: Conversion) -> None:
    if op.saturating:
        computed(op, conversion, "ftoi", op.signedness, "sat")
    else:
        elementwise(op, conversion, "arith.fptosi" if op.signedness == "signed" else "arith.fptoui")


@converts("tilex.bitcast")
def _code(op: ir.OpView, conversion: Conversion) -> None:
    computed(op, conversion, "code")


@converts("ftof", "tilex.ftof")
def _ftof(op: ir.OpView, conversion: Conversion) -> None:
    pair = spell(op.operation.operands[0].type.element), spell(op.operation.results[0].type.element)
    if pair in _WIDENING:
        elementwise(op, conversion, "arith.extf")
    elif pair in _NARROWING and op.rounding_mode == "nearest_even":
        elementwise(op, conversion, "arith.truncf")
    else:
        computed(op, conversion, "ftof", MODES[op.rounding_mode])


@converts("int_to_ptr", "ptr_to_int", "ptr_to_ptr")
def _address(op: ir.OpView, conversion: Conversion) -> None:
    (made,) = operands_in_result_layout(op, conversion)
    source, result = op.operation.operands[0].type.element, op.operation.results[0].type.element
    if isinstance(source, PointerType):
        made = address_of(made, source)
    if isinstance(result, PointerType):
        made = pointers_to(made, result)
    conversion.set(op.operation.results[0], made)


@converts("offset")
def _offset(op: ir.OpView, conversion: Conversion) -> None:
    pointer, offset = operands_in_result_layout(op, conversion)
    wide = emitter.element_of(offset.type).width
    if wide < 64:
        offset = emitter.unary("arith.extsi", offset, emitter.with_element(offset.type, emitter.integer_type(64)))
    result = op.operation.results[0]
    conversion.set(result, moved(pointer, offset, result.type.element))
