"""Arithmetic on scalars of which some are known numbers; results of known numbers are numbers.

Other results have the width of the widest operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

from tilec.dialect.mlir import ir
from tilec.lowering import emitter

# A known number, or an i32 or i64. Divisors are positive and dividends are not negative.
Scalar: TypeAlias = "int | ir.Value"


def scalar_value(value: Scalar, width: int) -> ir.Value:
    """The value as an integer of `width` bits; the sign of a known number and of a wider value is kept."""
    if isinstance(value, int):
        return emitter.constant(emitter.integer_type(width), value)
    return emitter.cast_integer(value, width)


def _width(*values: Scalar) -> int:
    return max(value.type.width for value in values if not isinstance(value, int))


def _binary(name: str, left: Scalar, right: Scalar) -> ir.Value:
    width = _width(left, right)
    return emitter.binary(name, scalar_value(left, width), scalar_value(right, width))


def added(left: Scalar, right: Scalar) -> Scalar:
    """left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return left if right == 0 else _binary("arith.addi", left, right)


def multiplied(left: Scalar, right: Scalar) -> Scalar:
    """left * right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if 1 in (left, right):
        return right if left == 1 else left
    return _binary("arith.muli", left, right)


def product(factors: Sequence[Scalar]) -> Scalar:
    """The product of all factors; 1 of none."""
    return reduce(multiplied, factors, 1)


def divided(left: Scalar, right: Scalar) -> Scalar:
    """left / right, rounded down."""
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    return left if right == 1 else _binary("arith.divui", left, right)


def ceildiv(left: Scalar, right: int) -> Scalar:
    """left / right, rounded up."""
    if isinstance(left, int):
        return -(-left // right)
    return left if right == 1 else _binary("arith.ceildivui", left, right)


def remainder(left: Scalar, right: Scalar) -> Scalar:
    """left % right."""
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    return 0 if right == 1 else _binary("arith.remui", left, right)


def at_least(value: Scalar, least: int) -> Scalar:
    """The maximum of signed numbers."""
    if isinstance(value, int):
        return max(value, least)
    return emitter.binary("arith.maxsi", value, emitter.constant(value.type, least))


def at_most_of_width(value: Scalar, width: int) -> Scalar:
    """A known number or an i64, at most the greatest unsigned number of a width, as an integer of this width."""
    limit = (1 << width) - 1
    if isinstance(value, int):
        return min(value, limit)
    if width == 64:
        return value
    return emitter.cast_integer(emitter.binary("arith.minui", value, emitter.unsigned(value.type, limit)), width)
