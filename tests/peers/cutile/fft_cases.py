"""The discrete Fourier transform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cutile.bounded import F32, Bounded, compare
from cutile.sampling import Comparisons, Launch, constants, random


def fft(
    launch: Launch, factors: tuple[int, int, int] = (4, 8, 4), batch: int = 2, rows: int = 1, packing: int = 8
) -> Comparisons:
    """A batch of transforms, with `rows` transforms per tile block."""
    f0, f1, f2 = factors
    extent = f0 * f1 * f2
    x = random(1, batch, extent, 2)
    packed = x.reshape(batch, 2 * extent // packing, packing)
    out = np.zeros_like(packed)
    tables = [_roots(f0, f0, f0), _roots(f1, f1, f1), _roots(f2, f2, f2)]
    tables += [_roots(f0, f1 * f2, extent), _roots(f1, f2, f1 * f2)]
    launch("fft", (batch // rows,), [packed, out, *tables, *constants(extent, *factors, rows, packing)])
    result = out.reshape(batch, extent, 2)
    exact = np.fft.fft(x[..., 0].astype(np.float64) + 1j * x[..., 1])
    value = np.stack([exact.real, exact.imag], -1)
    name = f"fft of {extent} = {f0}x{f1}x{f2}, batch {batch} by {rows}"
    yield compare(name, result, Bounded(value, _fft_error(x, factors)))


def _roots(rows: int, columns: int, order: int) -> np.ndarray:
    angles = -2 * np.pi * np.outer(np.arange(rows), np.arange(columns)) / order
    return np.stack([np.cos(angles), np.sin(angles)], -1).astype(np.float32)


def _fft_error(x: np.ndarray, factors: Sequence[int]) -> np.ndarray:
    """Each of the five products by roots of unity multiplies |re| + |im| by at most sqrt(2); all roundings add up."""
    roundings = sum(2 * factor + 2 for factor in factors) + 2 * 4
    size = np.abs(x.astype(np.float64)).sum((1, 2)) * 2**2.5
    return np.broadcast_to((roundings * F32 * size)[:, None, None], x.shape)
