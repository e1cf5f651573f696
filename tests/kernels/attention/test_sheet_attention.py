"""Attention of benchmarks/sheet with changed scores, of bytes and of packed sequences: equal to softmax in float64."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from compare import SUM_CUT, assert_within, run_everywhere
from sheet_kernels import kernels_of

kernels = kernels_of("attention")
HALF_ROUNDING = 2.0**-11


@dataclass(frozen=True)
class Heads:
    """Queries, keys and values [1, head, row, column], and the scale of the scores."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray

    @property
    def scale(self) -> float:
        return float(np.float32(self.q.shape[-1] ** -0.5))

    def scores(self, group: int = 1) -> np.ndarray:
        q, k = (each.astype(np.float64) for each in (self.q, self.k))
        return q @ k.repeat(group, 1).swapaxes(2, 3) * self.scale

    def score_error(self) -> float:
        """Sums of 8 products are cut, and the product with the scale is rounded."""
        q, k = (np.abs(each.astype(np.float64)) for each in (self.q, self.k))
        largest = q.sum(-1).max() * k.max() * self.scale
        return (self.q.shape[-1] / 8 + 4) * SUM_CUT * largest


def heads(random: np.random.Generator, count: int, rows: int, keys: int, width: int, group: int = 1) -> Heads:
    shapes = ((1, count, rows, width), *((1, count // group, keys, width),) * 2)
    return Heads(*(random.standard_normal(shape, np.float32).astype(np.float16) for shape in shapes))


def check(
    kernel: str,
    grid: tuple[int, ...],
    given: Heads,
    args: list,
    scores: np.ndarray,
    target: str,
    score_error: float,
    sinks: np.ndarray | None = None,
) -> None:
    """Compares with the softmax of `scores`, in which `sinks` take part without a value.

    P is rounded to 11 bits (2^-25 below 2^-14), and an error of the scores changes numerator and denominator.
    """
    output = next(number for number, arg in enumerate(args) if arg is None)
    args = [np.zeros(given.q.shape, np.float16) if arg is None else arg for arg in args]
    values = given.v.astype(np.float64).repeat(given.q.shape[1] // given.v.shape[1], 1)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[None, :, None, None] - largest)
    exact = weights @ values / total
    magnitude = weights @ np.abs(values) / total
    error = HALF_ROUNDING + 2 * (score_error + given.score_error()) + 2.0**-20
    tolerance = error * magnitude + HALF_ROUNDING * np.abs(exact) + 2.0**-24 * np.abs(values).sum(-2, keepdims=True)
    for (found,) in run_everywhere(getattr(kernels, kernel), grid, args, (output,), target=target, hints={}):
        assert_within(found, exact, tolerance)


def causal(rows: int, keys: int) -> np.ndarray:
    return np.arange(keys)[None, :] <= np.arange(rows)[:, None]


# Up to three tiles of keys are before the loop.
@pytest.mark.parametrize(("width", "tiles"), [(64, 1), (64, 6), (128, 2)])
def test_bias(width: int, tiles: int, random: np.random.Generator, target: str) -> None:
    given = heads(random, 2, 256, 128 * tiles, width)
    bias = random.standard_normal((2, 256, 128 * tiles), np.float32).astype(np.float16)
    args = [given.q, given.k, given.v, bias, None, given.scale, 2, width, 128, 128]
    scores = given.scores() + bias.astype(np.float64)
    check("attention_with_bias", (2, 2), given, args, scores, target, 2.0**-21)


@pytest.mark.parametrize("width", [64, 128])
def test_slopes(width: int, random: np.random.Generator, target: str) -> None:
    given = heads(random, 2, 200, 200, width)
    slopes = np.array([0.5, 0.0625], np.float32)
    args = [given.q, given.k, given.v, slopes, None, given.scale, 2, width, 128, 128]
    distance = np.arange(200)[:, None] - np.arange(200)[None, :]
    scores = np.where(causal(200, 200), given.scores() - slopes[None, :, None, None] * distance, -np.inf)
    # The product of the slope with log2(e) and a distance of less than 200 is rounded.
    check("attention_with_slopes", (2, 2), given, args, scores, target, 200 * 2.0**-22)


@pytest.mark.parametrize(("width", "keys", "window"), [(128, 128, 4096), (128, 128, 100), (256, 64, 70)])
def test_cap_and_window(width: int, keys: int, window: int, random: np.random.Generator, target: str) -> None:
    given = heads(random, 2, 200, 200, width)
    cap = 4.0
    args = [given.q, given.k, given.v, None, given.scale, cap, 2, width, 128, keys, window]
    distance = np.arange(200)[:, None] - np.arange(200)[None, :]
    visible = (distance >= 0) & (distance < window)
    scores = np.where(visible, cap * np.tanh(given.scores() / cap), -np.inf)
    # PTX ISA 9.7.3.23: tanh.approx.f32 has a relative error of at most 2^-11.
    check("attention_with_cap", (2, 2), given, args, scores, target, cap * 2.0**-11)


@pytest.mark.parametrize("keys", [64, 128])
def test_sink(keys: int, random: np.random.Generator, target: str) -> None:
    given = heads(random, 4, 200, 200, 64, group=2)
    sinks = np.array([-1, 0, 2, 4], np.float16)
    args = [given.q, given.k, given.v, sinks, None, given.scale, 4, 2, 64, 128, keys]
    scores = np.where(causal(200, 200), given.scores(2), -np.inf)
    check("attention_with_sink", (2, 4), given, args, scores, target, 2.0**-20, sinks.astype(np.float64))


@pytest.mark.parametrize("rows", [128, 256])
def test_bytes(rows: int, random: np.random.Generator, target: str) -> None:
    """P is rounded to 4 bits, and to multiples of 2^-9 below 2^-6."""
    made = heads(random, 1, 256, 256, 128)
    q, k, v = (each.astype(ml_dtypes.float8_e4m3fn) for each in (made.q, made.k, made.v))
    given, value_scale = Heads(q, k, v), 0.5
    args = [q, k, np.ascontiguousarray(v.swapaxes(2, 3)), np.zeros(q.shape, np.float16)]
    args += [given.scale, value_scale, 1, 128, rows, 128]
    scores, values = given.scores(), v.astype(np.float64)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    exact = value_scale * (weights @ values) / total
    rounding = np.maximum(2.0**-4 * weights, 2.0**-10) + 2 * given.score_error() * weights + 2.0**-20 * weights
    tolerance = value_scale * (rounding @ np.abs(values)) / total + HALF_ROUNDING * np.abs(exact) + 2.0**-24
    for (found,) in run_everywhere(kernels.attention_of_bytes, (256 // rows, 1), args, (3,), target=target, hints={}):
        assert_within(found, exact, tolerance)


@pytest.mark.parametrize("width", [64, 128])
def test_packed_sequences(width: int, random: np.random.Generator, target: str) -> None:
    """Sequences of 150, 0, 10 and 200 tokens: no block reads or writes tokens of another one."""
    starts = np.array([0, 150, 150, 160, 360], np.int32)
    q, k, v = (random.standard_normal((360, 2, width), np.float32).astype(np.float16) for _ in range(3))
    scale = float(np.float32(width**-0.5))
    args = [q, k, v, starts, np.full_like(q, 7), scale, width, 128, 128]
    results = run_everywhere(kernels.attention_of_sequences, (2, 2, 4), args, (4,), target=target, hints={})
    for begin, end in zip(starts, starts[1:], strict=False):
        if begin == end:
            continue
        given = Heads(*(each[begin:end].swapaxes(0, 1)[None] for each in (q, k, v)))
        scores = np.where(causal(end - begin, end - begin), given.scores(), -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        values = given.v.astype(np.float64)
        exact, error = weights @ values, HALF_ROUNDING + 2 * given.score_error() + 2.0**-20
        tolerance = error * (weights @ np.abs(values)) + HALF_ROUNDING * np.abs(exact) + 2.0**-24 * 360
        for (found,) in results:
            assert_within(found[begin:end].swapaxes(0, 1)[None], exact, tolerance)
