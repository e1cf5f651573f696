"""Correct rounding of f64 values to a format in each mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilec.runtime.interpret.numbers.float_format import TileFormat

NEAREST_EVEN = "nearest_even"
ZERO = "zero"
NEGATIVE_INF = "negative_inf"
POSITIVE_INF = "positive_inf"
NEAREST_AWAY = "nearest_away"


def _away(x: np.ndarray) -> np.ndarray:
    magnitude = np.abs(x)
    whole = np.floor(magnitude)
    return np.copysign(whole + (magnitude - whole >= 0.5), x)


TO_INTEGRAL: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    NEAREST_EVEN: np.rint, ZERO: np.trunc, NEGATIVE_INF: np.floor, POSITIVE_INF: np.ceil, NEAREST_AWAY: _away,
}  # fmt: skip


def round_to(values: np.ndarray, target: TileFormat, mode: str) -> np.ndarray:
    """Rounds `values` to the format `target`, as f64.

    Overflow follows IEEE 754 section 7.4; formats of at most 8 bits saturate instead, infinities included (Tile IR
    5.1.3). NaN becomes the largest value if the format has no NaN.
    """
    values = np.asarray(values, np.float64)
    if target.name == "f64":
        return values
    _, exponent = np.frexp(values)
    quantum = np.maximum(exponent - 1, target.min_exponent) - (target.precision - 1)
    finite = np.where(np.isfinite(values), values, 0.0)
    rounded = np.ldexp(TO_INTEGRAL[mode](np.ldexp(finite, -quantum)), quantum)
    rounded = np.where(np.isfinite(values), rounded, values)
    return _special(np.where(np.abs(rounded) > target.largest, _overflow(rounded, target, mode), rounded), target)


def _overflow(values: np.ndarray, target: TileFormat, mode: str) -> np.ndarray:
    largest = np.copysign(target.largest, values)
    if target.saturates:
        return largest
    toward_zero = {ZERO: True, NEGATIVE_INF: values > 0, POSITIVE_INF: values < 0}.get(mode, False)
    return np.where(np.isfinite(values) & toward_zero, largest, np.copysign(np.inf, values))


def _special(values: np.ndarray, target: TileFormat) -> np.ndarray:
    if not target.has_nan:
        values = np.where(np.isnan(values), target.largest, values)
    if not target.has_sign:
        values = np.where(values <= 0, 0.0, values)
    if not target.has_zero:
        values = np.where(values < target.smallest_normal, target.smallest_normal, values)
    return values


def flush_subnormals(values: np.ndarray, form: TileFormat) -> np.ndarray:
    """Subnormal values replaced by zero of the same sign."""
    return np.where(np.abs(values) < form.smallest_normal, np.copysign(0.0, values), values)
