"""Facts about a tile along one dimension: runs of consecutive elements, runs of equal elements, divisors."""

from __future__ import annotations

import math
from typing import NamedTuple

# The divisor of zero, which every number divides.
UNBOUNDED = 1 << 62


class Axis(NamedTuple):
    """Three powers of two that hold for every index of the other dimensions, with groups counted from index 0:

    in each group of `contiguity` elements, each is its predecessor plus 1 (modulo 2^width), or the next address;
    in each group of `constancy` elements, all are equal;
    the first of each `contiguity` elements is divisible by `divisibility` (in bytes for an address).
    `unit` is the difference of consecutive elements: 1, or the bytes of a pointee.
    """

    contiguity: int = 1
    constancy: int = 1
    divisibility: int = 1
    unit: int = 1

    def divisor(self, step: int) -> int:
        """A divisor of the elements at multiples of `step`, a power of two."""
        if step >= self.contiguity:
            return self.divisibility
        return math.gcd(self.divisibility, step * self.unit)

    def narrowed(self, extent: int) -> Axis:
        """The facts that hold for groups of `extent` elements."""
        contiguity = min(self.contiguity, extent)
        return Axis(contiguity, min(self.constancy, extent), self.divisor(contiguity), self.unit)

    @property
    def aligned(self) -> int:
        """The longest run that begins at a multiple of its own length, and so never wraps."""
        return min(self.contiguity, self.divisibility)

    def meet(self, other: Axis) -> Axis:
        """The facts that hold for both."""
        contiguity = min(self.contiguity, other.contiguity)
        divisor = math.gcd(self.divisor(contiguity), other.divisor(contiguity))
        return Axis(contiguity, min(self.constancy, other.constancy), divisor, self.unit)


# One for each dimension, then one for a dimension of one element: the facts about each single element.
Axes = tuple[Axis, ...]
