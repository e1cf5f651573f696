"""What power of two divides a scalar, from promises, constants and arithmetic."""

from __future__ import annotations

import math
from typing import Any

from tilec.dialect.cuda_tile.attributes import DivByAttr
from tilec.dialect.mlir import ir

# Zero is divisible by everything; this stands for it.
UNBOUNDED = 1 << 62


def divisibility(value: ir.Value) -> int:
    """The largest power of two known to divide an integer scalar (elements) or a pointer (bytes); 1 where nothing is known."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return 1
    rule = _RULES.get(owner.operation.name)
    return rule(owner) if rule is not None else 1


def _assume(op: Any) -> int:
    predicate = op.predicate
    known = divisibility(op.operation.operands[0])
    if isinstance(predicate, DivByAttr) and predicate.every is None:
        return max(known, predicate.divisor)
    return known


def _constant(op: Any) -> int:
    elements = ir.DenseElementsAttr(op.operation.attributes["value"])
    if not elements.is_splat or not isinstance(elements.type.element_type, ir.IntegerType):
        return 1
    number = int(elements.get_splat_value().value)
    return number & -number if number else UNBOUNDED


def _product(op: Any) -> int:
    return min(UNBOUNDED, math.prod(divisibility(operand) for operand in op.operation.operands))


def _common(op: Any) -> int:
    return math.gcd(*(divisibility(operand) for operand in op.operation.operands))


def _source(op: Any) -> int:
    return divisibility(op.operation.operands[0])


_RULES = {
    "cuda_tile.assume": _assume,
    "cuda_tile.constant": _constant,
    "cuda_tile.muli": _product,
    "cuda_tile.addi": _common,
    "cuda_tile.subi": _common,
    "cuda_tile.exti": _source,
    "cuda_tile.trunci": _source,
}
