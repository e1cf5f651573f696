"""Scans, recurrences and kernels without matrix products of benchmarks/sheet: equal to sequential code in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, run_everywhere
from sheet_kernels import importable_sheet, kernels_of

import tilec

kernels = kernels_of("scans")
with importable_sheet():
    from convolution_kernel import convolution
HALF_ROUNDING, FLOAT_ROUNDING = 2.0**-11, 2.0**-24


def test_cumulative_sum(random: np.random.Generator, target: str) -> None:
    x = random.integers(-100, 101, (2, 5000)).astype(np.float32)
    args = [x, np.zeros_like(x), 2048]
    for (found,) in run_everywhere(kernels.cumulative_sum, (2,), args, (1,), target=target, hints={}):
        np.testing.assert_array_equal(found, x.cumsum(1))


def test_selective_scan(random: np.random.Generator, target: str) -> None:
    """The recurrence step by step; each step loses a few roundings of numbers that decay with the state."""
    states, channels, time = 16, 8, 256
    x = random.standard_normal((1, channels, time), np.float32).astype(np.float16)
    steps = random.uniform(0.01, 1, (1, channels, time)).astype(np.float16)
    rates = -random.uniform(0.1, 2, (channels, states)).astype(np.float32)
    b, c = (random.standard_normal((1, states, time), np.float32).astype(np.float16) for _ in range(2))
    d = random.standard_normal(channels, np.float32)
    args = [x, steps, rates, b, c, d, np.zeros_like(x), states, 4, 128]
    state, magnitude = np.zeros((channels, states)), np.zeros((channels, states))
    exact, bound = np.zeros((1, channels, time)), np.zeros((1, channels, time))
    for t in range(time):
        step, value = steps[0, :, t, None].astype(np.float64), x[0, :, t, None].astype(np.float64)
        decay, added = np.exp(step * rates), step * value * b[0, :, t].astype(np.float64)
        # ex2.approx has a relative error of 2^-22; its argument, below 4, and four products and sums are rounded.
        state, lost = decay * state + added, (2.0**-22 + 12 * FLOAT_ROUNDING) * magnitude
        magnitude = decay * magnitude + np.abs(added) + lost
        exact[0, :, t] = state @ c[0, :, t].astype(np.float64) + d * value[:, 0]
        terms = magnitude @ np.abs(c[0, :, t].astype(np.float64)) + np.abs(d * value[:, 0])
        # Decays multiply at most t of these errors, and a scan in a tree has as many products.
        bound[0, :, t] = (t + 32) * (2.0**-22 + 12 * FLOAT_ROUNDING) * terms
    for (found,) in run_everywhere(kernels.selective_scan, (1, 2), args, (6,), target=target, hints={}):
        assert_within(found, exact, bound + HALF_ROUNDING * np.abs(exact) + 2.0**-25)


# Up to three chunks are before the loop.
@pytest.mark.parametrize(("size", "width", "chunks"), [(64, 64, 1), (64, 64, 6), (64, 128, 2), (128, 128, 2)])
def test_linear_attention(size: int, width: int, chunks: int, random: np.random.Generator, target: str) -> None:
    """The recurrence token by token. Scores, the state and decayed keys are rounded to float16 once per chunk."""
    tokens, rate = chunks * size, np.array([0.0625, 0.25], np.float32)
    q, k, v = ((random.standard_normal((1, 2, tokens, width), np.float32) / 4).astype(np.float16) for _ in range(3))
    args = [q, k, v, rate, np.zeros_like(q), 2, width, size]
    exact, magnitude = np.zeros(q.shape), np.zeros(q.shape)
    state, state_magnitude = np.zeros((2, width, width)), np.zeros((2, width, width))
    decay = np.exp2(-rate.astype(np.float64))[:, None, None]
    for t in range(tokens):
        query, key, value = (each[0, :, t].astype(np.float64) for each in (q, k, v))
        state = decay * state + key[:, :, None] * value[:, None, :]
        state_magnitude = decay * state_magnitude + np.abs(key[:, :, None] * value[:, None, :])
        exact[0, :, t] = np.einsum("hi,hij->hj", query, state)
        magnitude[0, :, t] = np.einsum("hi,hij->hj", np.abs(query), state_magnitude)
    bound = (2 * HALF_ROUNDING + 2.0**-17) * magnitude + HALF_ROUNDING * np.abs(exact) + 2.0**-20
    for (found,) in run_everywhere(kernels.linear_attention, (2,), args, (4,), target=target, hints={}):
        assert_within(found, exact, bound)


def test_gravity(random: np.random.Generator, target: str) -> None:
    bodies = random.standard_normal((4, 256)).astype(np.float32)
    args = [bodies, np.zeros((3, 256), np.float32), 256, 128, 128]
    points, mass = bodies[:3].astype(np.float64), np.abs(bodies[3].astype(np.float64))
    away = points[:, None, :] - points[:, :, None]
    inverse = ((away**2).sum(0) + 1e-6) ** -0.5
    terms = bodies[3].astype(np.float64) * inverse**3 * away
    # rsqrt.approx has a relative error of 2^-22.4, three times; the sum of 256 terms is rounded at each of them.
    bound = (3 * 2.0**-22 + (256 + 16) * FLOAT_ROUNDING) * (mass * inverse**3 * np.abs(away)).sum(2)
    for (found,) in run_everywhere(kernels.gravity, (2,), args, (1,), target=target, hints={}):
        assert_within(found, terms.sum(2), bound)


def test_histograms(random: np.random.Generator, target: str) -> None:
    """Bin 7 has half of all values."""
    values = np.where(random.random(4096) < 0.5, 7, random.integers(0, 256, 4096)).astype(np.int32)
    expected, counts = np.bincount(values, minlength=256), np.zeros(256, np.int32)
    for (found,) in run_everywhere(kernels.histogram, (16,), [values, counts, 256, 256], (1,), target=target, hints={}):
        np.testing.assert_array_equal(found, expected)
    for (found,) in run_everywhere(
        kernels.scattered_histogram, (4,), [values, counts, 1024], (1,), target=target, hints={}
    ):
        np.testing.assert_array_equal(found, expected)


def test_largest_of_row(random: np.random.Generator, target: str) -> None:
    """Of equal elements the first one counts, and columns outside of the array never do."""
    x = random.integers(-50, 50, (5, 200)).astype(np.float32)
    args = [x, np.zeros((5, 8), np.float32), np.zeros((5, 8), np.int32), 8, 256]
    order = np.argsort(-x, axis=1, kind="stable")[:, :8]
    for values, numbers in run_everywhere(kernels.largest_of_row, (5,), args, (1, 2), target=target, hints={}):
        np.testing.assert_array_equal(numbers, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize(
    ("taps", "stride", "tile", "mode"),
    [
        (1, 1, (128, 128, 64), "im2col"),
        (3, 1, (128, 128, 64), "im2col"),
        (3, 1, (128, 256, 64), "im2col"),
        (3, 2, (128, 128, 64), "im2col"),
        (7, 2, (128, 64, 16), "im2col"),
        (3, 1, (128, 128, 64), "run"),
        (3, 1, (128, 256, 64), "run"),
    ],
)
def test_convolution(
    taps: int, stride: int, tile: tuple[int, int, int], mode: str, random: np.random.Generator, target: str
) -> None:
    images, extent, channels, filters = 2, 14, 64, tile[1]
    x = random.integers(-2, 3, (images, extent, extent, channels)).astype(np.float16)
    w = random.integers(-2, 3, (taps, taps, channels, filters)).astype(np.float16)
    padded = np.pad(x.astype(np.float32), ((0, 0), (taps // 2,) * 2, (taps // 2,) * 2, (0, 0)))
    size = (extent + 2 * (taps // 2) - taps) // stride + 1
    exact = np.zeros((images, size, size, filters), np.float32)
    for r in range(taps):
        for s in range(taps):
            window = padded[:, r : r + stride * size : stride, s : s + stride * size : stride][:, :size, :size]
            exact += window @ w[r, s].astype(np.float32)
    signature = (
        f"x: f16[{images},{extent},{extent},{channels}], filters: f16[{taps},{taps},{channels},{filters}], "
        f"y: f16[{images},{size},{size},{filters}], stride={stride}, padding={taps // 2}, "
        f"tm={tile[0]}, tn={tile[1]}, tk={tile[2]}, mode={mode!r}"
    )
    compiled = tilec.compile(convolution, signature=signature, target=target)
    # A tile of mode=run has pixels of one row of an image.
    blocks = images * size if mode == "run" else -(-images * size * size // tile[0])
    for backend in ("simulate", "interpret"):
        y = np.zeros(exact.shape, np.float16)
        tilec.run(compiled, (blocks,), [x, w, y, stride, taps // 2, *tile, mode], backend=backend)
        np.testing.assert_array_equal(y, exact.astype(np.float16))
