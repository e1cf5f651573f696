"""Correctly rounded add, subtract, multiply, divide, fma and sqrt in every format and rounding mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilec.runtime.interpret.numbers import exact
from tilec.runtime.interpret.numbers.float_format import TileFormat
from tilec.runtime.interpret.numbers.rounding import (
    NEAREST_EVEN,
    NEGATIVE_INF,
    POSITIVE_INF,
    ZERO,
    flush_subnormals,
    round_to,
)


def _round(pair: exact.Rounded, form: TileFormat, mode: str) -> np.ndarray:
    rounded, side = pair
    if form.name != "f64":
        return round_to(exact.to_odd(rounded, side), form, mode)
    down = np.where(side < 0, np.nextafter(rounded, -np.inf), rounded)
    up = np.where(side > 0, np.nextafter(rounded, np.inf), rounded)
    toward_zero = np.where(rounded > 0, down, np.where(rounded < 0, up, rounded))
    return {ZERO: toward_zero, NEGATIVE_INF: down, POSITIVE_INF: up}.get(mode, rounded)


def _round_sum(pair: exact.Rounded, form: TileFormat, mode: str, negative: np.ndarray) -> np.ndarray:
    """IEEE 754 section 6.3: when rounding down, an exact zero sum with any `negative` term is -0."""
    result = _round(pair, form, mode)
    if mode != NEGATIVE_INF:
        return result
    return np.where((pair[0] == 0) & (pair[1] == 0) & negative, -0.0, result)


def _add(form: TileFormat, mode: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _round_sum(exact.add(a, b), form, mode, np.signbit(a) | np.signbit(b))


def _fma(form: TileFormat, mode: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return _round_sum(exact.fused(a, b, c), form, mode, (np.signbit(a) ^ np.signbit(b)) | np.signbit(c))


_OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "add": _add,
    "subtract": lambda form, mode, a, b: _add(form, mode, a, -b),
    "multiply": lambda form, mode, a, b: _round(exact.multiply(a, b), form, mode),
    "divide": lambda form, mode, a, b: _round(exact.divide(a, b), form, mode),
    "sqrt": lambda form, mode, a: _round(exact.square_root(a), form, mode),
    "fma": _fma,
}


# numpy and ml_dtypes round these to nearest even: f32 and f64 in hardware, f16 and bf16 through f32. f32 has more than
# twice their precision plus two bits, so the second rounding has no effect.
_DIRECT: dict[str, np.ufunc] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "sqrt": np.sqrt,
}  # fmt: skip


def operate(name: str, tiles: tuple[np.ndarray, ...], form: TileFormat, mode: str, flush: bool = False) -> np.ndarray:
    """`name` (add, subtract, multiply, divide, fma, sqrt) of tiles of one format, rounded in `mode`.

    The fast modes `approx` and `full` round as nearest_even here.
    `flush` replaces subnormal operands and rounded subnormal results by zeros of the same sign (Tile IR 5.1.3).
    """
    mode = NEAREST_EVEN if mode in ("approx", "full") else mode
    if mode == NEAREST_EVEN and not flush and name in _DIRECT:
        return _DIRECT[name](*tiles)
    operands = [np.asarray(form.decode(tile)) for tile in np.broadcast_arrays(*tiles)]
    if flush:
        operands = [flush_subnormals(operand, form) for operand in operands]
    result = _OPERATIONS[name](form, mode, *operands)
    return form.encode(flush_subnormals(result, form) if flush else np.asarray(result))
