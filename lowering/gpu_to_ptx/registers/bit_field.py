"""The bits of a word that an integer is, and a pair of floats of such integers."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import ir


@dataclass(frozen=True)
class BitField:
    """An integer that is `bits` bits of a register of 32 bits, from bit `shift`, and a constant added to them.

    Attributes:
        is_signed: whether the highest of the bits is the sign; of no meaning if the element has no other bits.
        zeros: the number of zeros below the bits, after a shift to the left.
        added: the constant.
    """

    word: ir.Value
    shift: int
    bits: int
    is_signed: bool = False
    zeros: int = 0
    added: int = 0

    @property
    def mask(self) -> int:
        """The bits, from bit 0."""
        return (1 << self.bits) - 1

    @property
    def sign(self) -> int:
        """The bit of the sign of a signed number, from bit 0; else 0."""
        return 1 << self.bits - 1 if self.is_signed else 0

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number, without zeros below the bits."""
        return self.added - self.sign, self.added + self.mask - self.sign


@dataclass(frozen=True)
class FloatsOfBits:
    """A pair of 16-bit floats of integers: number * factor / unit - taken.

    Attributes:
        number: the register of two floats whose significands have the bits.
        factor: the factor of both.
        taken: what each integer is less than its bits, with the hidden bit of the significand.
        unit: the power of two by which the product is divided, as the factor alone is too small.
    """

    number: ir.Value
    factor: float
    taken: tuple[float, float]
    unit: float
