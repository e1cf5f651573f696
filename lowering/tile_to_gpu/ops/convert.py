"""Conversions between element types, and of pointers."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.shape import MathOp
from tilec.lowering import emitter
from tilec.lowering.tile_to_gpu.access.pointers import address_of, moved, pointers_to
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion
from tilec.lowering.tile_to_gpu.conversion.converts import converts
from tilec.lowering.tile_to_gpu.ops.arith import operands_in_result_layout
from tilec.lowering.tile_to_gpu.ops.float import MODES

_SIGNED = {
    "exti": {"signed": "arith.extsi", "unsigned": "arith.extui"},
    "itof": {"signed": "arith.sitofp", "unsigned": "arith.uitofp"},
    "ftoi": {"signed": "arith.fptosi", "unsigned": "arith.fptoui"},
}
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


def _convert(op: ir.OpView, conversion: Conversion, name: str, **attributes: ir.Attribute) -> None:
    operands, result = operands_in_result_layout(op, conversion), op.operation.results[0]
    conversion.set(result, emitter.create(name, [conversion.type(result)], operands, **attributes).result)


def _own(op: ir.OpView, conversion: Conversion, function: str) -> None:
    operands, result = operands_in_result_layout(op, conversion), op.operation.results[0]
    conversion.set(result, emitter.gpu(MathOp, operands, [conversion.type(result)], function=function).result)


@converts("exti", "itof")
def _signed(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, _SIGNED[op.operation.name.removeprefix("cuda_tile.")][op.signedness])


@converts("ftoi")
def _ftoi(op: ir.OpView, conversion: Conversion) -> None:
    if op.saturating:
        _own(op, conversion, f"ftoi.{op.signedness}.sat")
    else:
        _convert(op, conversion, _SIGNED["ftoi"][op.signedness])


@converts("trunci")
def _trunci(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, "arith.trunci")


@converts("bitcast")
def _bitcast(op: ir.OpView, conversion: Conversion) -> None:
    _convert(op, conversion, "arith.bitcast")


@converts("ftof")
def _ftof(op: ir.OpView, conversion: Conversion) -> None:
    pair = spell(op.operation.operands[0].type.element), spell(op.operation.results[0].type.element)
    if pair in _WIDENING:
        _convert(op, conversion, "arith.extf")
    elif pair in _NARROWING and op.rounding_mode == "nearest_even":
        _convert(op, conversion, "arith.truncf")
    else:
        _own(op, conversion, f"ftof.{MODES[op.rounding_mode]}")


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
