"""Exponents and truncation of exact numbers, from which tests compute the sums of tensor cores."""

from __future__ import annotations

from fractions import Fraction

FRACTION_BITS = 23
LEAST_EXPONENT = -126


def exponent_of(value: Fraction, smallest: int) -> int:
    """The exponent of the leading bit, at least `smallest`."""
    if not value:
        return smallest
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent
    return max(exponent, smallest)


def toward_zero(value: Fraction, unit: Fraction) -> Fraction:
    """The multiple of `unit` that truncation gives."""
    return int(value / unit) * unit


def to_f32(value: Fraction, fraction_bits: int = FRACTION_BITS) -> float:
    """The value truncated to f32 with this number of fraction bits."""
    return float(toward_zero(value, Fraction(2) ** (exponent_of(value, LEAST_EXPONENT) - fraction_bits)))
