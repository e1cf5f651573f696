"""Default attributes and keywords of upstream operations."""

from __future__ import annotations

# Default attributes of arith and math operations, which are not printed.
DEFAULTS = {
    "fastmath": "#arith.fastmath<none>",
    "overflowFlags": "#arith.overflow<none>",
}
# The keywords of the `predicate` of each operation in numeric order (MLIR, ArithBase.td).
PREDICATES = {
    "arith.cmpi": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    "arith.cmpf": (
        *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
        *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
    ),
}
SEGMENTS = "operandSegmentSizes"
