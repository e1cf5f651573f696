"""Floats: arith and math if they have the exact semantics, tile_gpu.math for other roundings and approximate forms."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.shape import MathOp
from tilec.lowering import emitter
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion
from tilec.lowering.tile_to_gpu.conversion.converts import converts
from tilec.lowering.tile_to_gpu.ops.arith import COMPARISONS, compare, operands_in_result_layout

# Nearest-even without flush to zero; any other mode becomes tile_gpu.math "<name>.<mode>[.ftz]".
_ROUNDED = {
    "addf": ("arith.addf", "add"),
    "subf": ("arith.subf", "sub"),
    "mulf": ("arith.mulf", "mul"),
    "divf": ("arith.divf", "div"),
    "fma": ("math.fma", "fma"),
    "sqrt": ("math.sqrt", "sqrt"),
}
MODES = {
    "nearest_even": "rn",
    "zero": "rz",
    "negative_inf": "rm",
    "positive_inf": "rp",
    "approx": "approx",
    "full": "full",
    "nearest_away": "rna",
}
_PLAIN = {
    "absf": "math.absf",
    "negf": "arith.negf",
    "ceil": "math.ceil",
    "floor": "math.floor",
    "cos": "math.cos",
    "cosh": "math.cosh",
    "sin": "math.sin",
    "sinh": "math.sinh",
    "tan": "math.tan",
    "log": "math.log",
    "log2": "math.log2",
    "fpowf": "math.powf",
    "atan2": "math.atan2",
    "remf": "arith.remf",
    "fpowi": "math.fpowi",
}
_FLUSHING = {"exp2": "math.exp2", "rsqrt": "math.rsqrt"}
_FULL = {"exp": "math.exp", "tanh": "math.tanh"}
# (operation, propagate_nan): maxnum ignores one NaN, maximum does not.
_EXTREMES = {
    ("maxf", False): "arith.maxnumf",
    ("maxf", True): "arith.maximumf",
    ("minf", False): "arith.minnumf",
    ("minf", True): "arith.minimumf",
}
_ORDERINGS = {"ordered": "o", "unordered": "u"}


def _name(op: ir.OpView) -> str:
    return op.operation.name.removeprefix("cuda_tile.")


def _upstream(op: ir.OpView, conversion: Conversion, name: str) -> None:
    operands, result = operands_in_result_layout(op, conversion), op.operation.results[0]
    conversion.set(result, emitter.create(name, [conversion.type(result)], operands).result)


def _own(op: ir.OpView, conversion: Conversion, *parts: str) -> None:
    operands, result = operands_in_result_layout(op, conversion), op.operation.results[0]
    function = ".".join(word for word in parts if word)
    conversion.set(result, emitter.gpu(MathOp, operands, [conversion.type(result)], function=function).result)


@converts(*_ROUNDED)
def _rounded(op: ir.OpView, conversion: Conversion) -> None:
    upstream, word = _ROUNDED[_name(op)]
    if op.rounding_mode == "nearest_even" and not op.flush_to_zero:
        _upstream(op, conversion, upstream)
    else:
        _own(op, conversion, word, MODES[op.rounding_mode], "ftz" if op.flush_to_zero else "")


@converts(*_PLAIN)
def _plain(op: ir.OpView, conversion: Conversion) -> None:
    _upstream(op, conversion, _PLAIN[_name(op)])


@converts(*_FLUSHING)
def _flushing(op: ir.OpView, conversion: Conversion) -> None:
    if op.flush_to_zero:
        _own(op, conversion, _name(op), "approx", "ftz")
    else:
        _upstream(op, conversion, _FLUSHING[_name(op)])


@converts(*_FULL)
def _full(op: ir.OpView, conversion: Conversion) -> None:
    if op.rounding_mode == "full":
        _upstream(op, conversion, _FULL[_name(op)])
    else:
        _own(op, conversion, _name(op), "approx")


@converts("maxf", "minf")
def _extreme(op: ir.OpView, conversion: Conversion) -> None:
    if op.flush_to_zero:
        _own(op, conversion, _name(op).removesuffix("f"), "ftz", "NaN" if op.propagate_nan else "")
    else:
        _upstream(op, conversion, _EXTREMES[_name(op), op.propagate_nan])


@converts("cmpf")
def _cmpf(op: ir.OpView, conversion: Conversion) -> None:
    compare(op, conversion, "arith.cmpf", _ORDERINGS[op.comparison_ordering] + COMPARISONS[op.comparison_predicate])
