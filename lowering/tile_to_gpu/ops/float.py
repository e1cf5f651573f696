"""Floats: arith and math if they have the exact semantics, tile_gpu.math for other roundings and approximate forms."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, converts
from tilec.lowering.tile_to_gpu.ops.arith import COMPARISONS, compare, computed, elementwise, short_name

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
    **{name: f"math.{name}" for name in ("absf", "ceil", "floor", "cos", "cosh", "sin", "sinh", "tan", "log", "log2")},
    **{name: f"math.{name}" for name in ("atan2", "fpowi")},
    "negf": "arith.negf",
    "fpowf": "math.powf",
    "remf": "arith.remf",
}
# (operation, propagate_nan): maxnum ignores one NaN, maximum does not.
_EXTREMES = {
    ("maxf", False): "arith.maxnumf",
    ("maxf", True): "arith.maximumf",
    ("minf", False): "arith.minnumf",
    ("minf", True): "arith.minimumf",
}
_ORDERINGS = {"ordered": "o", "unordered": "u"}


@converts(*_ROUNDED)
def _rounded(op: ir.OpView, conversion: Conversion) -> None:
    upstream, word = _ROUNDED[short_name(op)]
    if op.rounding_mode == "nearest_even" and not op.flush_to_zero:
        elementwise(op, conversion, upstream)
    else:
        computed(op, conversion, word, MODES[op.rounding_mode], "ftz" if op.flush_to_zero else "")


@converts(*_PLAIN)
def _plain(op: ir.OpView, conversion: Conversion) -> None:
    elementwise(op, conversion, _PLAIN[short_name(op)])


@converts("exp2", "rsqrt")
def _flushing(op: ir.OpView, conversion: Conversion) -> None:
    if op.flush_to_zero:
        computed(op, conversion, short_name(op), "approx", "ftz")
    else:
        elementwise(op, conversion, f"math.{short_name(op)}")


@converts("exp", "tanh")
def _full(op: ir.OpView, conversion: Conversion) -> None:
    if op.rounding_mode == "full":
        elementwise(op, conversion, f"math.{short_name(op)}")
    else:
        computed(op, conversion, short_name(op), "approx")


@converts("maxf", "minf")
def _extreme(op: ir.OpView, conversion: Conversion) -> None:
    if op.flush_to_zero:
        computed(op, conversion, short_name(op).removesuffix("f"), "ftz", "NaN" if op.propagate_nan else "")
    else:
        elementwise(op, conversion, _EXTREMES[short_name(op), op.propagate_nan])


@converts("cmpf")
def _cmpf(op: ir.OpView, conversion: Conversion) -> None:
    compare(op, conversion, "arith.cmpf", _ORDERINGS[op.comparison_ordering] + COMPARISONS[op.comparison_predicate])
