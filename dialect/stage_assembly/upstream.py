"""What the text of upstream operations leaves out or spells by a word."""

from __future__ import annotations

# Attributes that the operations of arith and math have anyway.
DEFAULTS = {
    "fastmath": "#arith.fastmath<none>",
    "overflowFlags": "#arith.overflow<none>",
}
# By operation, the words of its `predicate` in the order of their numbers (MLIR, ArithBase.td).
PREDICATES = {
    "arith.cmpi": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    "arith.cmpf": (
        *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
        *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
    ),
}
SEGMENTS = "operandSegmentSizes"
