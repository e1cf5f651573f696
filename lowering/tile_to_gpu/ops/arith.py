"""Integers: the arith operation of the same meaning."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.shape import MathOp
from tilec.dialect.upstream_predicates import predicate_attribute
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts

_PLAIN = {
    **{name: f"arith.{name}" for name in ("addi", "subi", "muli", "andi", "ori", "xori", "shli")},
    **{name: f"arith.{name}" for name in ("select", "trunci", "bitcast")},
    "absi": "math.absi",
}
_SIGNED = {
    "maxi": {"signed": "arith.maxsi", "unsigned": "arith.maxui"},
    "mini": {"signed": "arith.minsi", "unsigned": "arith.minui"},
    "shri": {"signed": "arith.shrsi", "unsigned": "arith.shrui"},
    "exti": {"signed": "arith.extsi", "unsigned": "arith.extui"},
    "itof": {"signed": "arith.sitofp", "unsigned": "arith.uitofp"},
}
_DIVISIONS = {
    ("signed", "zero"): "arith.divsi",
    ("signed", "negative_inf"): "arith.floordivsi",
    ("signed", "positive_inf"): "arith.ceildivsi",
    ("unsigned", "zero"): "arith.divui",
    ("unsigned", "positive_inf"): "arith.ceildivui",
}
# Comparisons in the keywords of MLIR's predicates.
COMPARISONS = {
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_than_or_equal": "le",
    "greater_than": "gt",
    "greater_than_or_equal": "ge",
}
_SIGNS = {"signed": "s", "unsigned": "u"}


def operands_in_result_layout(op: ir.OpView, conversion: Conversion) -> list[ir.Value]:
    """The operands of an elementwise operation, all in the layout of its first result."""
    layout = conversion.layouts.get(op.operation.results[0])
    return [conversion.tile(value, layout) for value in op.operation.operands]


def elementwise(op: ir.OpView, conversion: Conversion, name: str, **attributes: ir.Attribute) -> None:
    """Converts an elementwise operation to the upstream operation of a name."""
    operands, result = operands_in_result_layout(op, conversion), op.operation.results[0]
    conversion.set(result, emitter.create(name, [conversion.type(result)], operands, **attributes).result)


def computed(op: ir.OpView, conversion: Conversion, *words: str) -> None:
    """Converts an elementwise operation to the function of tile_gpu.math with a name of these words."""
    operands, result = operands_in_result_layout(op, conversion), op.operation.results[0]
    function = ".".join(word for word in words if word)
    conversion.set(result, emitter.gpu(MathOp, operands, [conversion.type(result)], function=function).result)


def short_name(op: ir.OpView) -> str:
    """The name of an operation without the dialect."""
    return op.operation.name.removeprefix("cuda_tile.")


@converts(*_PLAIN)
def _plain(op: ir.OpView, conversion: Conversion) -> None:
    elementwise(op, conversion, _PLAIN[short_name(op)])


@converts(*_SIGNED)
def _signed(op: ir.OpView, conversion: Conversion) -> None:
    elementwise(op, conversion, _SIGNED[short_name(op)][op.signedness])


@converts("divi")
def _divi(op: ir.OpView, conversion: Conversion) -> None:
    """Numbers that are not negative have the quotient of unsigned ones, which needs no correction of the rounding."""
    is_unsigned = op.rounding == "negative_inf" and _has_unsigned_result(op)
    elementwise(op, conversion, "arith.divui" if is_unsigned else _DIVISIONS[op.signedness, op.rounding])


@converts("remi")
def _remi(op: ir.OpView, conversion: Conversion) -> None:
    is_unsigned = op.signedness == "unsigned" or _has_unsigned_result(op)
    elementwise(op, conversion, "arith.remui" if is_unsigned else "arith.remsi")


def _has_unsigned_result(op: ir.OpView) -> bool:
    """Whether a division by a variable has the result of the unsigned division: no operand is negative."""
    # Division by a constant is lowered to shifts or a product, not to a division.
    return splat(op.rhs) is None and all(bounds(each).low >= 0 for each in op.operands)


@converts("mulhii")
def _mulhii(op: ir.OpView, conversion: Conversion) -> None:
    operands = operands_in_result_layout(op, conversion)
    type = conversion.type(op.operation.results[0])
    conversion.set(op.operation.results[0], emitter.create("arith.mului_extended", [type, type], operands).results[1])


@converts("negi")
def _negi(op: ir.OpView, conversion: Conversion) -> None:
    (source,) = operands_in_result_layout(op, conversion)
    conversion.set(op.operation.results[0], emitter.binary("arith.subi", emitter.zero(source.type), source))


@converts("cmpi")
def _cmpi(op: ir.OpView, conversion: Conversion) -> None:
    name = COMPARISONS[op.comparison_predicate]
    compare(op, conversion, "arith.cmpi", name if name in ("eq", "ne") else _SIGNS[op.signedness] + name)


def compare(op: ir.OpView, conversion: Conversion, name: str, predicate: str) -> None:
    """arith.cmpi or arith.cmpf."""
    elementwise(op, conversion, name, predicate=predicate_attribute(name, predicate))


@converts("assume")
def _assume(op: ir.OpView, conversion: Conversion) -> None:
    source, result = op.operation.operands[0], op.operation.results[0]
    if source in conversion.tensor_views:
        conversion.tensor_views[result] = conversion.tensor_views[source]
    else:
        conversion.set(result, conversion.tile(source, conversion.layouts.get(result)))
