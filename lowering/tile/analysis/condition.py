"""Builds the conditions of checks: comparisons that hold by known bounds are True, all others are tiles of i1."""

from __future__ import annotations

from typing import TypeAlias

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.bounds import Interval, read_as
from tilec.lowering.tile.analysis.constants import integer_splat

Condition: TypeAlias = "bool | ir.Value"


def width(value: ir.Value) -> int:
    """The bits of an element of an integer tile."""
    return ELEMENT_BITS[spell(value.type.element)]


def compare(predicate: str, lhs: ir.Value, rhs: ir.Value | int, signedness: str = "signed") -> Condition:
    """Whether the elements of a tile compare with those of another one, or with a number."""
    if decided(predicate, read_as(lhs, signedness), _interval(rhs, signedness)):
        return True
    if isinstance(rhs, int) and 1 < width(lhs) < 8:
        # Tile IR has no constants of i4.
        lhs = widened(lhs, 8, signedness)
    other = integer_splat(lhs.type, rhs) if isinstance(rhs, int) else rhs
    attributes = {"comparison_predicate": predicate, "signedness": signedness}
    return build("cmpi", [lhs, other], [_booleans(lhs)], attributes).result


def compare_floats(predicate: str, lhs: ir.Value, rhs: ir.Value) -> Condition:
    """Whether floats compare with others; false for NaN."""
    attributes = {"comparison_predicate": predicate, "comparison_ordering": "ordered"}
    return build("cmpf", [lhs, rhs], [_booleans(lhs)], attributes).result


def both(one: Condition, other: Condition) -> Condition:
    """Whether both conditions hold."""
    if isinstance(one, bool):
        return other if one else False
    if isinstance(other, bool):
        return one if other else False
    return integer("andi", one, other)


def either(one: Condition, other: Condition) -> Condition:
    """Whether one of two conditions holds."""
    if isinstance(one, bool):
        return True if one else other
    if isinstance(other, bool):
        return True if other else one
    return integer("ori", one, other)


def integer(name: str, lhs: ir.Value, rhs: ir.Value | int, **attributes: str) -> ir.Value:
    """The result of an operation on integers of one type; a number is the same for all elements."""
    other = integer_splat(lhs.type, rhs) if isinstance(rhs, int) else rhs
    return build(name, [lhs, other], [lhs.type], attributes).result


def widened(value: ir.Value, bits: int, signedness: str) -> ir.Value:
    """An integer tile in a width that is its own or larger."""
    if width(value) == bits:
        return value
    type = TileType.get(value.type.shape, ir.IntegerType.get_signless(bits))
    return build("exti", [value], [type], {"signedness": signedness}).result


def cast_signed(value: ir.Value, type: TileType) -> ir.Value:
    """A signed integer scalar in another type, in which it fits."""
    if width(value) > type.element.width:
        return build("trunci", [value], [type]).result
    return widened(value, type.element.width, "signed")


def _booleans(like: ir.Value) -> TileType:
    return TileType.get(like.type.shape, ir.IntegerType.get_signless(1))


def _interval(value: ir.Value | int, signedness: str) -> Interval:
    return Interval(value, value) if isinstance(value, int) else read_as(value, signedness)


def decided(predicate: str, lhs: Interval, rhs: Interval) -> bool | None:
    """The result of comparing any two numbers of two intervals, or None if it varies."""
    if predicate in ("equal", "not_equal"):
        if lhs.high < rhs.low or rhs.high < lhs.low:
            return predicate == "not_equal"
        return predicate == "equal" if lhs.low == lhs.high == rhs.low == rhs.high else None
    if predicate.startswith("greater_than"):
        lhs, rhs = rhs, lhs
    if predicate.endswith("or_equal"):
        return True if lhs.high <= rhs.low else False if lhs.low > rhs.high else None
    return True if lhs.high < rhs.low else False if lhs.low >= rhs.high else None


def limits(bits: int, signedness: str) -> Interval:
    """The least and the greatest integer of a width."""
    return Interval(-(1 << bits - 1), (1 << bits - 1) - 1) if signedness == "signed" else Interval(0, (1 << bits) - 1)
