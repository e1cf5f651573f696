"""Sums of 8-bit floats on Hopper: a model of wgmma in float64, in which every step is exact.

One instruction adds 32 products and the accumulator: it truncates each of these terms to 13 fraction bits below the
largest exponent among them, and truncates the sum to 13 fraction bits (measured on H100: arXiv 2511.10909).
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

FRACTION_BITS = 13
PRODUCTS = 32
# As many products as a compiler sums by wgmma before it adds the sum in float32.
PROMOTED = 128


def exponents(values: np.ndarray, smallest: int) -> np.ndarray:
    """The exponent of the leading bit, at least `smallest`, which subnormal numbers have."""
    return np.maximum(np.frexp(values)[1] - 1, smallest)


def truncated(values: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """The values truncated to multiples of the unit of a number with this exponent."""
    unit = np.ldexp(1.0, exponent - FRACTION_BITS)
    return np.trunc(values / unit) * unit


def instruction(a: np.ndarray, b: np.ndarray, accumulator: np.ndarray) -> np.ndarray:
    """One wgmma: a of M x 32 and b of 32 x N in one type of 8-bit floats, the accumulator of M x N in float64."""
    smallest = int(ml_dtypes.finfo(a.dtype).minexp)
    lhs, rhs = a.astype(np.float64)[:, np.newaxis], b.astype(np.float64).T
    terms = np.concatenate([lhs * rhs, accumulator[..., np.newaxis]], axis=-1)
    sums = exponents(lhs, smallest) + exponents(rhs, smallest)
    exponent = np.concatenate([sums, exponents(accumulator, -126)[..., np.newaxis]], axis=-1)
    largest = np.where(terms != 0, exponent, -252).max(axis=-1, keepdims=True)
    total = truncated(terms, largest).sum(axis=-1)
    return truncated(total, exponents(total, -126))


def chained(a: np.ndarray, b: np.ndarray, accumulator: np.ndarray) -> np.ndarray:
    """The accumulator after all instructions along K."""
    for first in range(0, a.shape[1], PRODUCTS):
        accumulator = instruction(a[:, first : first + PRODUCTS], b[first : first + PRODUCTS], accumulator)
    return accumulator


def promoted(a: np.ndarray, b: np.ndarray, accumulator: np.ndarray, depth: int) -> np.ndarray:
    """The accumulator in float32, to which each sum of 128 products, or of the `depth` of a tile, is added."""
    size = min(depth, PROMOTED)
    for first in range(0, a.shape[1], size):
        part = chained(a[:, first : first + size], b[first : first + size], np.zeros_like(accumulator, np.float64))
        accumulator = accumulator + part.astype(np.float32)
    return accumulator
