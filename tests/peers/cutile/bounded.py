"""Exact values with bounds on the error of f32 computation, which are the tolerances of these tests.

Running error analysis: Higham, Accuracy and Stability of Numerical Algorithms, section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

# Unit roundoffs: half a unit in the last place of 1.
F32 = 2.0**-24
TF32 = 2.0**-11
# The error bound of ex2.approx, rcp.approx and div.approx (PTX ISA): two units in the last place of f32.
APPROXIMATE = 2.0**-22


def _gamma(terms: int, unit: float = F32) -> float:
    """The bound of the relative error of `terms` consecutive roundings (Higham, lemma 3.1)."""
    return terms * unit / (1 - terms * unit)


@dataclass(frozen=True)
class Bounded:
    """The exact value in f64 and the error bound of a computed value; each operator rounds once to f32."""

    value: np.ndarray
    error: np.ndarray

    @staticmethod
    def exact(value: Any) -> Bounded:
        """A number or an array without an error."""
        found = np.asarray(value).astype(np.float64)
        return Bounded(found, np.zeros(found.shape))

    @property
    def size(self) -> np.ndarray:
        """The bound of the magnitude of a computed value."""
        return np.abs(self.value) + self.error

    def rounded(self, unit: float = F32, least: float = 0.0) -> Bounded:
        """The value rounded with this unit roundoff; subnormals are multiples of `least`."""
        return Bounded(self.value, self.error + unit * self.size + least / 2)

    def stored(self, dtype: Any) -> Bounded:
        """The value rounded to the element type of an array."""
        info = ml_dtypes.finfo(dtype)
        return self.rounded(float(info.eps) / 2, float(info.smallest_subnormal))

    def __getitem__(self, index: Any) -> Bounded:
        return Bounded(self.value[index], self.error[index])

    def __add__(self, other: Any) -> Bounded:
        other = _bounded(other)
        return Bounded(self.value + other.value, self.error + other.error).rounded()

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __sub__(self, other: Any) -> Bounded:
        return self + -_bounded(other)

    def __mul__(self, other: Any) -> Bounded:
        other = _bounded(other)
        error = np.abs(self.value) * other.error + self.error * other.size
        return Bounded(self.value * other.value, error).rounded()

    def __truediv__(self, other: Any) -> Bounded:
        other = _bounded(other)
        value = self.value / other.value
        error = (self.error + np.abs(value) * other.error) / (np.abs(other.value) - other.error)
        return Bounded(value, error).rounded()

    def __matmul__(self, other: Any) -> Bounded:
        """The matrix product, with sums in any order."""
        other = _bounded(other)
        propagated = np.abs(self.value) @ other.error + self.error @ other.size
        return Bounded(self.value @ other.value, propagated + _gamma(self.value.shape[-1]) * (self.size @ other.size))

    def sum(self, axis: int, keepdims: bool = False) -> Bounded:
        """The sum along an axis in any order."""
        rounding = _gamma(self.value.shape[axis]) * self.size.sum(axis, keepdims=keepdims)
        return Bounded(self.value.sum(axis, keepdims=keepdims), self.error.sum(axis, keepdims=keepdims) + rounding)

    def exp(self) -> Bounded:
        """The exponential function as exp2 of a product, with an error of two units in the last place."""
        value = np.exp(self.value)
        shifted = self.error + 2 * F32 * self.size
        return Bounded(value, value * np.expm1(shifted)).rounded(APPROXIMATE)

    def sqrt(self) -> Bounded:
        """The square root."""
        value = np.sqrt(self.value)
        return Bounded(value, value - np.sqrt(np.maximum(self.value - self.error, 0))).rounded()


def _bounded(value: Any) -> Bounded:
    return value if isinstance(value, Bounded) else Bounded.exact(value)


@dataclass(frozen=True)
class Comparison:
    """The largest error of a result, and the largest ratio of error to bound."""

    name: str
    error: float
    ratio: float

    def __str__(self) -> str:
        return f"{self.name}: largest error {self.error:.3g}, {self.ratio:.3g} of its bound"


def compare(name: str, result: np.ndarray, expected: Bounded) -> Comparison:
    """Compares a result with the expected value and its bound; the error of a NaN is infinite."""
    assert result.shape == expected.value.shape, f"{name}: shape {result.shape}, expected {expected.value.shape}"
    error = np.abs(result.astype(np.float64) - expected.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / expected.error)
    return Comparison(name, *(float(np.where(np.isnan(x), np.inf, x).max(initial=0.0)) for x in (error, ratio)))
