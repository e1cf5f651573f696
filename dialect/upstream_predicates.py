"""The predicates of arith.cmpi and arith.cmpf, which MLIR stores as numbers, by the keywords of its assembly."""

from __future__ import annotations

from tilec.dialect.mlir import ir

# In numeric order (MLIR, ArithBase.td).
PREDICATES = {
    "arith.cmpi": ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    "arith.cmpf": (
        *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
        *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
    ),
}


def predicate_attribute(operation: str, keyword: str) -> ir.Attribute:
    """The attribute `predicate` of an operation, by name, for a keyword."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), PREDICATES[operation].index(keyword))


def predicate_of(operation: ir.Operation) -> str:
    """The keyword of the predicate of an operation."""
    return PREDICATES[operation.name][operation.attributes["predicate"].value]
