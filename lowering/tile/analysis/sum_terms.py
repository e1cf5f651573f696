"""Sums and differences as terms: the values that are added, each with its factor, and a constant."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.tile_operations import producer, without_assumptions

# The operations through which a sum follows its operands.
_DEPTH = 6


@dataclass
class _Sum:
    """A sum modulo the range of its type.

    Attributes:
        constant: the constant.
        factors: the factor of each other term, by its value without assumptions.
        terms: the terms with their assumptions.
    """

    constant: int = 0
    factors: dict[ir.Value, int] = field(default_factory=dict)
    terms: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def add(self, value: ir.Value, factor: int, depth: int = _DEPTH) -> None:
        """Adds `factor` times a value, or times its terms."""
        number = splat(value)
        if number is not None:
            self.constant += factor * number
            return
        plain = without_assumptions(value)
        op = producer(plain, "addi", "subi", "muli") if depth else None
        if op is not None and op.operation.name != "cuda_tile.muli":
            self.add(op.lhs, factor, depth - 1)
            self.add(op.rhs, factor if op.operation.name == "cuda_tile.addi" else -factor, depth - 1)
            return
        for known, other in () if op is None else ((op.rhs, op.lhs), (op.lhs, op.rhs)):
            if (number := splat(known)) is not None:
                self.add(other, factor * number, depth - 1)
                return
        self.factors[plain] = self.factors.get(plain, 0) + factor
        self.terms[plain] = value


def constant_difference(lhs: ir.Value, rhs: ir.Value) -> int | None:
    """lhs - rhs, modulo the range of their type, if their terms cancel."""
    total, count = _Sum(), _count(lhs)
    total.add(lhs, 1)
    total.add(rhs, -1)
    return None if any(factor % count for factor in total.factors.values()) else total.constant % count


def linear_factors(value: ir.Value) -> dict[ir.Value, int]:
    """The signed factor of each term of a sum of scalars, by the term without assumptions; constants are left out."""
    total, count = _Sum(), _count(value)
    total.add(value, 1)
    factors = {term: factor % count for term, factor in total.factors.items() if factor % count}
    return {term: factor - count if factor >= count // 2 else factor for term, factor in factors.items()}


def only_term(value: ir.Value) -> ir.Value | None:
    """The only term of a sum or a difference whose other terms cancel: x of (x - 1) + 1."""
    total, count = _Sum(), _count(value)
    total.add(value, 1)
    left = [term for term, factor in total.factors.items() if factor % count]
    is_term = len(left) == 1 and (total.factors[left[0]] - 1) % count == total.constant % count == 0
    return total.terms[left[0]] if is_term else None


def _count(value: ir.Value) -> int:
    """The number of integers of a type."""
    return 1 << int(ELEMENT_BITS[spell(value.type.element)])
