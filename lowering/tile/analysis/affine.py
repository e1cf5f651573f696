"""Integer values as scale * induction variable + scalars + an interval, modulo 2^width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.lowering.tile.analysis.bounds import bounds, type_interval
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.value_analysis import analyze


@dataclass(frozen=True)
class Affine:
    """Each element is scale * i + sum(factor * scalar) + a number in [low, high]."""

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
        """The largest absolute value of the expression and its parts if |i| and the scalars are at most `magnitude`."""
        factors = abs(self.scale) + sum(abs(factor) for factor, _ in self.scalars)
        return factors * magnitude + max(abs(self.low), abs(self.high))


# The affine form of a value in terms of an induction variable, or None if it has none.
Of = Callable[[ir.Value], Affine | None]


def affine(value: ir.Value, induction: ir.Value, is_invariant: Callable[[ir.Value], bool]) -> Affine | None:
    """The affine form of a tile or scalar in `induction`; scalars for which `is_invariant` holds are its symbols."""
    return analyze(value, lambda inner, of: _affine(inner, induction, is_invariant, of))


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


def _sum(op: ir.OpView, of: Of) -> Affine | None:
    a, b = of(op.lhs), of(op.rhs)
    return None if a is None or b is None else a.plus(b)


def _difference(op: ir.OpView, of: Of) -> Affine | None:
    a, b = of(op.lhs), of(op.rhs)
    return None if a is None or b is None else a.plus(b.times(-1))


def _product(op: ir.OpView, of: Of) -> Affine | None:
    for value, factor in ((op.lhs, splat(op.rhs)), (op.rhs, splat(op.lhs))):
        if factor is not None:
            found = of(value)
            return None if found is None else found.times(factor)
    return None


def _shifted(op: ir.OpView, of: Of) -> Affine | None:
    amount, found = splat(op.rhs), of(op.lhs)
    if amount is None or found is None or not 0 <= amount < op.lhs.type.element.width:
        return None
    return found.times(1 << amount)


def _source(op: ir.OpView, of: Of) -> Affine | None:
    return of(op.operation.operands[0])


_RULES: dict[str, Callable[[ir.OpView, Of], Affine | None]] = {
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
