"""Matrices over GF(2) with integers as columns: the algebra of linear layouts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

# An integer or an array of integers.
Index = TypeVar("Index", int, np.ndarray)


@dataclass(frozen=True)
class BitMatrix:
    """A linear map of bits: bit i of the input contributes columns[i], by XOR, to an output of `rows` bits."""

    columns: tuple[int, ...]
    rows: int

    def __post_init__(self) -> None:
        if any(column >> self.rows for column in self.columns):
            raise ValueError(f"columns {self.columns} do not fit in {self.rows} bits")

    @classmethod
    def identity(cls, bits: int) -> BitMatrix:
        return cls(tuple(1 << bit for bit in range(bits)), bits)

    def __call__(self, index: Index) -> Index:
        """The image of an integer, or of each element of an integer array."""
        result = index * 0
        for bit, column in enumerate(self.columns):
            result = result ^ ((index >> bit & 1) * column)
        return result

    def __matmul__(self, first: BitMatrix) -> BitMatrix:
        """The composition self(first(x))."""
        if first.rows != len(self.columns):
            raise ValueError(f"a map to {first.rows} bits does not compose with a map of {len(self.columns)} bits")
        return BitMatrix(tuple(self(column) for column in first.columns), self.rows)

    @cached_property
    def _eliminated(self) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
        """Pairs (image, input) with image = self(input), the largest image first, and the kernel; greedy from bit 0.

        The leading bits of the images are distinct.
        """
        reduced: list[tuple[int, int]] = []
        kernel: list[int] = []
        for bit, column in enumerate(self.columns):
            image, source = _reduce(column, 1 << bit, reduced)
            if image:
                _insert(reduced, image, source)
            else:
                kernel.append(source)
        return reduced, tuple(kernel)

    @property
    def rank(self) -> int:
        return len(self._eliminated[0])

    @property
    def is_surjective(self) -> bool:
        return self.rank == self.rows

    def solve(self, target: int) -> int | None:
        """An input whose image is the target, in the lowest independent input bits; None if there is none."""
        remainder, source = _reduce(target, 0, self._eliminated[0])
        return None if remainder else source

    def solve_all(self, targets: Iterable[int]) -> list[int] | None:
        """An input for each target; None if there is none for one of them."""
        inputs = [self.solve(target) for target in targets]
        found = [each for each in inputs if each is not None]
        return found if len(found) == len(inputs) else None

    def kernel(self) -> tuple[int, ...]:
        """A basis of the inputs whose image is zero."""
        return self._eliminated[1]

    def right_inverse(self) -> BitMatrix:
        """R with self @ R = identity, free input bits zero; ValueError unless self is surjective."""
        if not self.is_surjective:
            raise ValueError(f"a map of rank {self.rank} onto {self.rows} bits has no right inverse")
        return BitMatrix(tuple(self.solve(1 << bit) or 0 for bit in range(self.rows)), len(self.columns))

    def diagonals(self) -> dict[int, int]:
        """Masks by shift: self(x) = XOR over shifts of (x & mask) << shift; negative shifts are to the right."""
        masks: dict[int, int] = {}
        for bit, column in enumerate(self.columns):
            for row in bits_of(column):
                masks[row - bit] = masks.get(row - bit, 0) | 1 << bit
        return masks


def bits_of(number: int) -> list[int]:
    """The positions of the ones, lowest first."""
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]


def independent(vectors: Iterable[int]) -> tuple[int, ...]:
    """The vectors that are not in the span of preceding vectors."""
    kept: list[int] = []
    reduced: list[tuple[int, int]] = []
    for vector in vectors:
        remainder, _ = _reduce(vector, 0, reduced)
        if remainder:
            _insert(reduced, remainder, 0)
            kept.append(vector)
    return tuple(kept)


def complement(vectors: Iterable[int], rows: int) -> tuple[int, ...]:
    """Unit vectors that complete the span of the vectors to the whole space of `rows` bits."""
    basis = independent(vectors)
    return independent((*basis, *(1 << bit for bit in range(rows))))[len(basis) :]


def intersection(left: Iterable[int], right: Iterable[int], rows: int) -> tuple[int, ...]:
    """A basis of the intersection of two spans."""
    left_basis, right_basis = independent(left), independent(right)
    kept = (1 << len(left_basis)) - 1
    span = BitMatrix(left_basis, rows)
    return tuple(span(relation & kept) for relation in BitMatrix(left_basis + right_basis, rows).kernel())


def _insert(reduced: list[tuple[int, int]], image: int, source: int) -> None:
    """Adds a pair, so that the largest image stays first."""
    reduced.append((image, source))
    reduced.sort(reverse=True)


def _reduce(vector: int, source: int, reduced: list[tuple[int, int]]) -> tuple[int, int]:
    """Subtracts images, the largest first, whose leading bits are in a vector."""
    for image, origin in reduced:
        # The difference is smaller if, and only if, the vector has the leading bit of the image.
        if vector ^ image < vector:
            vector, source = vector ^ image, source ^ origin
    return vector, source
