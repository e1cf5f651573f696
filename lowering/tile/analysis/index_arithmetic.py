"""Arithmetic of indices on numbers and values: numbers are folded, scalars are broadcast to the shape of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.constants import integer_splat, splat
from tilec.lowering.tile.analysis.tile_parts import reshaped

# A known number, or an integer scalar or tile of one dimension.
Number: TypeAlias = "int | ir.Value"


@dataclass(frozen=True)
class IndexArithmetic:
    """Builds integer arithmetic of `width` bits at the insertion point; sums and products wrap.

    The operands of `at_least` and `quotient_up`, which are signed, must not exceed 2^(width - 1) - 1.
    """

    width: int

    @property
    def scalar(self) -> TileType:
        return TileType.get((), ir.IntegerType.get_signless(self.width))

    def made(self, value: Number) -> ir.Value:
        """The value of a number."""
        return integer_splat(self.scalar, value) if isinstance(value, int) else value

    def cast(self, value: Number, type: TileType | None = None) -> Number:
        """Unsigned integers in the width of this arithmetic, or in another type; the number of a constant."""
        if isinstance(value, int):
            return value
        known = splat(value)
        if known is not None:
            return known & ((1 << value.type.element.width) - 1)
        type = type or self._like(value)
        if value.type == type:
            return value
        if value.type.element.width > type.element.width:
            return build("trunci", [value], [type]).result
        return build("exti", [value], [type], {"signedness": "unsigned"}).result

    def extended(self, value: Number) -> Number:
        """Signed integers of at most the width of this arithmetic, in this width."""
        if isinstance(value, int) or value.type == self._like(value):
            return value
        return build("exti", [value], [self._like(value)], {"signedness": "signed"}).result

    def _like(self, value: ir.Value) -> TileType:
        return TileType.get(value.type.shape, self.scalar.element)

    def iota(self, count: int) -> ir.Value:
        return build("iota", [], [TileType.get((count,), self.scalar.element)]).result

    def sum(self, terms: Sequence[Number]) -> Number:
        """The sum; scalars are added first."""
        total = sum(term for term in terms if isinstance(term, int))
        values = sorted((term for term in terms if not isinstance(term, int)), key=_rank)
        if not values:
            return total
        for value in values[1:]:
            values[0] = self._binary("addi", values[0], value)
        return values[0] if total == 0 else self._binary("addi", values[0], total)

    def product(self, factors: Sequence[Number]) -> Number:
        """The product; scalars are multiplied first."""
        known = 1
        for factor in factors:
            known *= factor if isinstance(factor, int) else 1
        values = sorted((factor for factor in factors if not isinstance(factor, int)), key=_rank)
        if not values or known == 0:
            return known
        for value in values[1:]:
            values[0] = self._binary("muli", values[0], value)
        return values[0] if known == 1 else self._binary("muli", values[0], known)

    def quotient(self, number: Number, divisor: Number) -> Number:
        """The quotient of numbers that are not negative, rounded down."""
        if divisor == 1:
            return number
        if isinstance(number, int) and isinstance(divisor, int):
            return number // divisor
        return self._binary("divi", number, divisor, signedness="unsigned")

    def quotient_up(self, number: Number, divisor: Number) -> Number:
        """The quotient of numbers that are not negative, rounded up."""
        if divisor == 1:
            return number
        if isinstance(number, int) and isinstance(divisor, int):
            return -(-number // divisor)
        return self._binary("divi", number, divisor, signedness="signed", rounding="positive_inf")

    def divided(self, number: Number, divisor: Number) -> tuple[Number, Number]:
        """The quotient and the remainder of numbers that are not negative, with one division."""
        quotient = self.quotient(number, divisor)
        if isinstance(number, int) and isinstance(divisor, int):
            return quotient, number % divisor
        return quotient, 0 if divisor == 1 else self.difference(number, self.product([quotient, divisor]))

    def difference(self, number: Number, other: Number) -> Number:
        """number - other."""
        if isinstance(other, int):
            return self.sum([number, -other])
        return self._binary("subi", number, other)

    def at_least(self, least: int, number: Number) -> Number:
        """The maximum of signed numbers."""
        if isinstance(number, int):
            return max(least, number)
        return self._binary("maxi", number, least, signedness="signed")

    def within(self, number: Number, low: int, high: int) -> Number:
        """The nearest number in [low, high], of signed numbers."""
        if isinstance(number, int):
            return min(max(number, low), high)
        return self._binary("mini", self.at_least(low, number), high, signedness="signed")

    def at_most(self, most: int, number: Number) -> Number:
        """The minimum of numbers that are not negative."""
        if isinstance(number, int):
            return min(most, number)
        return self.select(self.is_less(number, most), number, most)

    def is_less(self, number: ir.Value, limit: Number) -> ir.Value:
        """Whether an unsigned number is below a limit; a negative number is above every limit."""
        lhs, rhs = self.alike([number, limit])
        condition = TileType.get(lhs.type.shape, ir.IntegerType.get_signless(1))
        attributes = {"comparison_predicate": "less_than", "signedness": "unsigned"}
        return build("cmpi", [lhs, rhs], [condition], attributes).result

    def all(self, conditions: Sequence[ir.Value]) -> ir.Value | None:
        """All of the conditions; None means always."""
        values = sorted(conditions, key=_rank)
        for value in values[1:]:
            values[0] = self._binary("andi", values[0], value)
        return values[0] if values else None

    def select(self, condition: ir.Value | None, value: Number, otherwise: Number) -> Number:
        """`value` where the condition holds, else `otherwise`; None means always."""
        if condition is None:
            return value
        values = self.alike([condition, value, otherwise])
        return build("select", values, [values[1].type]).result

    def alike(self, values: Sequence[Number]) -> list[ir.Value]:
        """The values as tiles of the shape of the largest one."""
        shape = max((value.type.shape for value in values if not isinstance(value, int)), key=len, default=())
        tile = TileType.get(shape, self.scalar.element)
        return [integer_splat(tile, v) if isinstance(v, int) else broadcast(v, shape) for v in values]

    def _binary(self, name: str, lhs: Number, rhs: Number, **attributes: str) -> ir.Value:
        values = self.alike([lhs, rhs])
        return build(name, values, [values[0].type], attributes).result


# Extents and byte offsets are computed in 64 bits, where nothing wraps.
NARROW, WIDE = IndexArithmetic(32), IndexArithmetic(64)


def value_of_type(number: Number, type: TileType) -> ir.Value:
    """A number of 64 bits as a scalar of an integer type."""
    return IndexArithmetic(type.element.width).made(WIDE.cast(number, type))


def broadcast(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A scalar, or a tile whose extents are those of the shape or 1, as a tile of the shape."""
    if tuple(value.type.shape) == tuple(shape):
        return value
    source = value if value.type.rank else reshaped(value, (1,) * len(shape))
    return build("broadcast", [source], [TileType.get(shape, value.type.element)]).result


def along_axis(values: ir.Value, axis: int, shape: Sequence[int]) -> ir.Value:
    """A tile of a shape whose elements change along an axis only, as those of a tile of one dimension do."""
    return broadcast(reshaped(values, [extent if k == axis else 1 for k, extent in enumerate(shape)]), shape)


def _rank(value: ir.Value) -> int:
    return value.type.rank
