"""Sum, product, quotient, square root and fused multiply-add of f64 as (rounded to nearest even, sign of the residue).

The sign is -1 if the exact result lies below the rounded value, 0 if they are equal, 1 if it lies above. It comes from
error-free transformations (Dekker, Knuth) if no intermediate value overflows or underflows, else from exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

Rounded = tuple[np.ndarray, np.ndarray]

# Within these bounds a product, and a quotient, stays below 2**961, where Veltkamp's split does not overflow, and the
# error of a product stays a multiple of 2**-1064, above the smallest subnormal 2**-1074.
_SAFE_LARGE, _SAFE_SMALL = 2.0**480, 2.0**-480


def two_sum(a: np.ndarray, b: np.ndarray) -> Rounded:
    """a + b rounded, and its exact rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _split(a: np.ndarray) -> Rounded:
    c = a * 134217729.0
    high = c - (c - a)
    return high, a - high


def two_product(a: np.ndarray, b: np.ndarray) -> Rounded:
    """a * b rounded, and its rounding error, exact unless a value overflows or underflows (Dekker)."""
    p = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _safe(*operands: np.ndarray) -> np.ndarray:
    inside = [(np.abs(x) < _SAFE_LARGE) & ((np.abs(x) > _SAFE_SMALL) | (x == 0)) for x in operands]
    return np.logical_and.reduce(inside)


def _finish(
    rounded: np.ndarray,
    error: np.ndarray,
    safe: np.ndarray,
    exactly: Callable[..., tuple[float, int]],
    *operands: np.ndarray,
) -> Rounded:
    """Replaces the elements outside the safe range by results of exact fractions."""
    rounded, sign = np.array(rounded), np.array(np.sign(np.where(safe, error, 0.0)))
    finite = np.logical_and.reduce([np.isfinite(x) for x in operands])
    for index in np.argwhere(~safe & finite):
        at = tuple(index)
        rounded[at], sign[at] = exactly(rounded[at], *(float(x[at]) for x in operands))
    return rounded, sign


def _side(exact: Fraction, rounded: float) -> int:
    """The sign of `exact - rounded`; an infinity lies beyond every value."""
    if np.isinf(rounded):
        return -1 if rounded > 0 else 1
    return (exact > Fraction(rounded)) - (exact < Fraction(rounded))


def _nearest(exact: Fraction, zero: float) -> float:
    """The f64 nearest to a rational number; Python rounds the quotient of integers once, to even."""
    if not exact:
        return zero
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


def add(a: np.ndarray, b: np.ndarray) -> Rounded:
    """a + b."""
    rounded, error = two_sum(a, b)
    safe = (np.abs(a) < 2.0**1020) & (np.abs(b) < 2.0**1020)
    return _finish(rounded, error, safe, lambda r, x, y: (r, _side(Fraction(x) + Fraction(y), r)), a, b)


def multiply(a: np.ndarray, b: np.ndarray) -> Rounded:
    """a * b."""
    rounded, error = two_product(a, b)
    return _finish(rounded, error, _safe(a, b), lambda r, x, y: (r, _side(Fraction(x) * Fraction(y), r)), a, b)


def divide(a: np.ndarray, b: np.ndarray) -> Rounded:
    """a / b."""
    rounded = a / b
    product, error = two_product(rounded, b)
    remainder = ((a - product) - error) * np.sign(b)
    safe = _safe(a, b) & (b != 0)

    def exactly(r: float, x: float, y: float) -> tuple[float, int]:
        return r, _side(Fraction(x) / Fraction(y), r) if y else 0

    return _finish(rounded, remainder, safe, exactly, a, b)


def square_root(a: np.ndarray) -> Rounded:
    """The square root of a."""
    rounded = np.sqrt(a)
    product, error = two_product(rounded, rounded)

    def exactly(r: float, x: float) -> tuple[float, int]:
        return r, 0 if x <= 0 else (Fraction(x) > Fraction(r) ** 2) - (Fraction(x) < Fraction(r) ** 2)

    return _finish(rounded, (a - product) - error, _safe(a) & (a >= 0), exactly, a)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Rounded:
    """a * b + c, rounded once (Boldo and Melquiond: the low parts are added with rounding to odd)."""
    high, low = two_product(a, b)
    sum_low, rest = two_sum(c, low)
    top, middle = two_sum(high, sum_low)
    tail, lost = two_sum(middle, rest)
    odd = to_odd(tail, np.sign(lost))
    rounded, left = two_sum(top, odd)

    def exactly(_: float, x: float, y: float, z: float) -> tuple[float, int]:
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        nearest = _nearest(exact, x * y + z)
        return nearest, _side(exact, nearest)

    rounded, side = _finish(rounded, np.where(left != 0, left, lost), _safe(a, b, c), exactly, a, b, c)
    # The transformations lose the sign of an exact zero and turn infinities into NaN; plain arithmetic handles both.
    finite = np.isfinite(a) & np.isfinite(b)
    plain = ((rounded == 0) & (side == 0)) | ~(finite & np.isfinite(c))
    return np.where(plain, np.where(finite & np.isinf(c), c, a * b + c), rounded), side


def to_odd(rounded: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The exact value rounded to odd: inexact results get an odd last bit, so that a second rounding is correct."""
    even = (np.asarray(rounded, order="C").view(np.uint64) & 1) == 0
    neighbour = np.nextafter(rounded, np.where(side > 0, np.inf, -np.inf))
    return np.where(even & (side != 0) & np.isfinite(rounded), neighbour, rounded)
