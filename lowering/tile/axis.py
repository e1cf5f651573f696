"""What is known of a tile along one of its dimensions: runs of consecutive or equal elements, and what divides them."""

from __future__ import annotations

import math
from typing import NamedTuple

# Zero is divisible by everything; this stands for it.
UNBOUNDED = 1 << 62


class Axis(NamedTuple):
    """Three powers of two; at any place of the other dimensions, counted from index 0 of this one:

    in each `contiguity` elements, every one is the one before plus 1 (modulo 2^width), or one element after it;
    in each `constancy` elements, all are equal;
    the first of each `contiguity` elements is divisible by `divisibility` (an address: in bytes).
    `unit` is what a step of one element adds: 1, or the bytes of a pointee.
    """

    contiguity: int = 1
    constancy: int = 1
    divisibility: int = 1
    unit: int = 1

    def divisor(self, step: int) -> int:
        """What divides the elements at multiples of `step`, a power of two."""
        if step >= self.contiguity:
            return self.divisibility
        return math.gcd(self.divisibility, step * self.unit)

    def narrowed(self, extent: int) -> Axis:
        """The same of groups of `extent` elements."""
        contiguity = min(self.contiguity, extent)
        return Axis(contiguity, min(self.constancy, extent), self.divisor(contiguity), self.unit)

    @property
    def aligned(self) -> int:
        """In how many elements, at most, a run begins at a multiple of its own length, so that it never wraps."""
        return min(self.contiguity, self.divisibility)

    def meet(self, other: Axis) -> Axis:
        """What holds of either."""
        contiguity = min(self.contiguity, other.contiguity)
        divisor = math.gcd(self.divisor(contiguity), other.divisor(contiguity))
        return Axis(contiguity, min(self.constancy, other.constancy), divisor, self.unit)


# One for each dimension, then one along which there is a single element: what is known of each element alone.
Axes = tuple[Axis, ...]
