"""Integer values as scale * induction variable + scalars + something between two numbers, modulo 2^width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilec.dialect.mlir import ir
from tilec.lowering.tile.bounds import bounds, type_interval
from tilec.lowering.tile.constants import splat


@dataclass(frozen=True)
class Affine:
    """Each element is scale * i + the sum of factor * scalar + a number from low to high."""

    scale: int
    scalars: tuple[tuple[int, ir.Value], ...]
    low: int
    high: int

    def plus(self, other: Affine) -> Affine:
        return Affine(
            self.scale + other.scale, self.scalars + other.scalars, self.low + other.low, self.high + other.high
        )

    def times(self, factor: int) -> Affine:
        ends = sorted((self.low * factor, self.high * factor))
        scalars = tuple((factor * each, value) for each, value in self.scalars)
        return Affine(self.scale * factor, scalars, *ends)

    def reach(self, magnitude: int) -> int:
        """The largest absolute value that it or a part of it has where i and the scalars are at most `magnitude`."""
        factors = abs(self.scale) + sum(abs(factor) for factor, _ in self.scalars)
        return factors * magnitude + max(abs(self.low), abs(self.high))


# What a value is in terms of an induction variable, None where it cannot be said.
Of = Callable[[ir.Value], Affine | None]


def affine(value: ir.Value, induction: ir.Value, is_invariant: Callable[[ir.Value], bool]) -> Affine | None:
    """A tile or scalar in terms of `induction`; scalars for which `is_invariant` holds may stand in it."""
    known: dict[ir.Value, Affine | None] = {}

    def of(value: ir.Value) -> Affine | None:
        if value not in known:
            known[value] = _affine(value, induction, is_invariant, of)
        return known[value]

    return of(value)


def _affine(value: ir.Value, induction: ir.Value, is_invariant: Callable[[ir.Value], bool], of: Of) -> Affine | None:
    if value == induction:
        return Affine(1, (), 0, 0)
    owner = value.owner
    if not isinstance(owner, ir.Block):
        rule = _RULES.get(owner.operation.name)
        found = None if rule is None else rule(owner, of)
        if found is not None:
            return found
    if not value.type.shape and is_invariant(value) and splat(value) is None:
        return Affine(0, ((1, value),), 0, 0)
    known = bounds(value)
    return None if known == type_interval(value.type) else Affine(0, (), known.low, known.high)


def _sum(op: Any, of: Of) -> Affine | None:
    a, b = of(op.lhs), of(op.rhs)
    return None if a is None or b is None else a.plus(b)


def _difference(op: Any, of: Of) -> Affine | None:
    a, b = of(op.lhs), of(op.rhs)
    return None if a is None or b is None else a.plus(b.times(-1))


def _product(op: Any, of: Of) -> Affine | None:
    for value, factor in ((op.lhs, splat(op.rhs)), (op.rhs, splat(op.lhs))):
        if factor is not None:
            found = of(value)
            return None if found is None else found.times(factor)
    return None


def _shifted(op: Any, of: Of) -> Affine | None:
    amount, found = splat(op.rhs), of(op.lhs)
    if amount is None or found is None or not 0 <= amount < op.lhs.type.element.width:
        return None
    return found.times(1 << amount)


def _source(op: Any, of: Of) -> Affine | None:
    return of(op.operation.operands[0])


_RULES: dict[str, Callable[[Any, Of], Affine | None]] = {
    "cuda_tile.addi": _sum,
    "cuda_tile.subi": _difference,
    "cuda_tile.muli": _product,
    "cuda_tile.shli": _shifted,
    "cuda_tile.assume": _source,
    "cuda_tile.broadcast": _source,
    "cuda_tile.reshape": _source,
    "cuda_tile.permute": _source,
    "cuda_tile.extract": _source,
}
