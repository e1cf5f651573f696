"""Kernels over all pairs of rows and columns: threads have whole rows, so that loops exchange no elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct
from tilec.signature import Signature

Constant = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def forces(points, result, n: int, rows: Constant, columns: Constant):
    """The sums over all points of weighted differences: one value serves two reductions."""
    i = ct.bid(0)
    x = ct.load(points, (0, i), (1, rows), padding_mode=ZERO).reshape((rows, 1))
    y = ct.load(points, (1, i), (1, rows), padding_mode=ZERO).reshape((rows, 1))
    fx, fy = ct.zeros((rows, 1), ct.float32), ct.zeros((rows, 1), ct.float32)
    for j in range(ct.cdiv(n, columns)):
        dx = ct.load(points, (0, j), (1, columns), padding_mode=ZERO) - x
        dy = ct.load(points, (1, j), (1, columns), padding_mode=ZERO) - y
        w = ct.load(points, (2, j), (1, columns), padding_mode=ZERO) * ct.rsqrt(dx * dx + dy * dy + 1.0)
        fx += ct.sum(w * dx, axis=1, keepdims=True)
        fy += ct.sum(w * dy, axis=1, keepdims=True)
    ct.store(result, (0, i), fx.reshape((1, rows)))
    ct.store(result, (1, i), fy.reshape((1, rows)))


@ct.kernel
def nearest(a, b, distances, numbers, rows: Constant, columns: Constant):
    """The least distance and its number; columns after the end of b are masked by their numbers."""
    i = ct.bid(0)
    x = ct.load(a, (i,), (rows,), padding_mode=ZERO)[:, None]
    best = ct.full((rows,), 2**30, ct.int32)
    number = ct.zeros((rows,), ct.int32)
    for j in range(ct.num_tiles(b, axis=0, shape=(columns,))):
        n = j * columns + ct.arange(columns, dtype=ct.int32)[None, :]
        distance = ct.abs(ct.load(b, (j,), (columns,), padding_mode=ZERO)[None, :] - x)
        distance = ct.where(n < b.shape[0], distance, 2**30)
        least = ct.min(distance, axis=1)
        first = j * columns + ct.argmin(distance, axis=1)
        number = ct.where(least < best, first, number)
        best = ct.minimum(best, least)
    ct.store(distances, (i,), best)
    ct.store(numbers, (i,), number)


@ct.kernel
def ranks(a, result, rows: Constant, columns: Constant):
    """How many elements of an array are smaller; the reduced dimension comes first."""
    i = ct.bid(0)
    x = ct.load(a, (i,), (rows,), padding_mode=ZERO)[None, :]
    total = ct.zeros((rows,), ct.int32)
    for j in range(ct.num_tiles(a, axis=0, shape=(columns,))):
        other = ct.load(a, (j,), (columns,), padding_mode=ZERO)[:, None]
        inside = j * columns + ct.arange(columns, dtype=ct.int32)[:, None] < a.shape[0]
        total += ct.sum(((other < x) & inside).astype(ct.int32), axis=0)
    ct.store(result, (i,), total)


SHAPES = [(128, 128), (256, 64), (64, 256), (32, 16)]
TARGETS = pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])


@TARGETS
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_forces(target: str, rows: int, columns: int) -> None:
    n = 203
    points = np.random.default_rng(rows).standard_normal((3, n), np.float32)
    result = np.zeros((2, n), np.float32)
    x, y, m = points.astype(np.float64)
    dx, dy = x[None] - x[:, None], y[None] - y[:, None]
    w = m[None] / np.sqrt(dx * dx + dy * dy + 1)
    exact = np.stack([(w * dx).sum(1), (w * dy).sum(1)])
    largest = np.stack([np.abs(w * dx).sum(1), np.abs(w * dy).sum(1)])
    args = [points, result, n, rows, columns]
    for (found,) in run_everywhere(forces, (-(-n // rows),), args, [1], target=target, hints={}):
        assert_within(found, exact, 2.0**-18 * largest)


@TARGETS
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_nearest(target: str, rows: int, columns: int) -> None:
    random = np.random.default_rng(columns)
    a, b = random.integers(-9999, 9999, 150, np.int32), random.integers(-9999, 9999, 301, np.int32)
    distance = np.abs(a[:, None] - b[None])
    args = [a, b, np.zeros_like(a), np.zeros_like(a), rows, columns]
    for least, number in run_everywhere(nearest, (-(-len(a) // rows),), args, [2, 3], target=target, hints={}):
        np.testing.assert_array_equal(least, distance.min(1))
        np.testing.assert_array_equal(number, distance.argmin(1))


@TARGETS
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_ranks(target: str, rows: int, columns: int) -> None:
    a = np.random.default_rng(rows).standard_normal(275, np.float32)
    args = [a, np.zeros(len(a), np.int32), rows, columns]
    for (found,) in run_everywhere(ranks, (-(-len(a) // rows),), args, [1], target=target, hints={}):
        np.testing.assert_array_equal(found, (a[None] < a[:, None]).sum(1))


@TARGETS
@pytest.mark.parametrize("kernel", [forces, nearest, ranks])
def test_threads_exchange_nothing(kernel: Any, target: str) -> None:
    """One shuffle broadcasts the number of the warp that stores by TMA, if any does."""
    points, flat = (np.zeros((3, 256), np.float32), np.zeros((2, 256), np.float32), 256), np.zeros(256, np.int32)
    arrays = {forces: points, nearest: (flat,) * 4, ranks: (points[0][0], flat)}[kernel]
    signature = Signature.from_arguments(kernel, [*arrays, 128, 128])
    ptx = ct.compile(kernel, target=target, signature=signature).ptx
    assert ptx.count("shfl.") == ("cp.async.bulk.tensor" in ptx)
