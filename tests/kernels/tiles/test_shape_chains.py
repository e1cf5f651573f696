"""Random chains of broadcast, reshape, permute, reduce and compare, some with extents of 1, agree with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Const = ct.Constant[int]
STEPS = 10


def step(x, number):
    """One step of a chain on a two-dimensional tile; `expected_step` computes the same in numpy."""
    if number == 0:
        return ct.sum(x, axis=0, keepdims=True)
    elif number == 1:
        return ct.max(x, axis=1, keepdims=True)
    elif number == 2:
        return ct.transpose(x)
    elif number == 3:
        return x.reshape((x.shape[1], x.shape[0]))
    elif number == 4:
        return x.reshape((1, x.shape[0] * x.shape[1]))
    elif number == 5:
        return x + ct.arange(x.shape[1], dtype=ct.int32)[None, :]
    elif number == 6:
        return ct.broadcast_to(x[:, None, :], (x.shape[0], 2, x.shape[1])).reshape((2 * x.shape[0], x.shape[1]))
    elif number == 7:
        return ct.sum(x[:, :, None] * ct.broadcast_to(x[:, None, :], (x.shape[0], x.shape[1], x.shape[1])), axis=2)
    elif number == 8:
        return ct.sum((x[:, :, None] == ct.arange(4, dtype=ct.int32)[None, None, :]).astype(ct.int32), axis=0)
    else:
        return ct.where(x > 3, x, ct.sum(x, axis=1)[:, None])


def expected_step(x: np.ndarray, number: int) -> np.ndarray:
    rows, columns = x.shape
    steps = [
        lambda: x.sum(axis=0, keepdims=True, dtype=np.int32),
        lambda: x.max(axis=1, keepdims=True),
        lambda: x.T,
        lambda: x.reshape(columns, rows),
        lambda: x.reshape(1, rows * columns),
        lambda: x + np.arange(columns, dtype=np.int32),
        lambda: np.repeat(x, 2, axis=0),
        lambda: x * x.sum(axis=1, keepdims=True, dtype=np.int32),
        lambda: (x[:, :, None] == np.arange(4)).sum(axis=0, dtype=np.int32),
        lambda: np.where(x > 3, x, x.sum(axis=1, keepdims=True, dtype=np.int32)),
    ]
    return steps[number]()


@ct.kernel
def chain(X, Z, rows: Const, columns: Const, s0: Const, s1: Const, s2: Const, s3: Const):
    x = ct.load(X, index=(0, 0), shape=(rows, columns))
    ct.store(Z, index=(0, 0), tile=step(step(step(step(x, s0), s1), s2), s3))


SHAPES = [(1, 1), (1, 16), (32, 1), (2, 2), (8, 16), (128, 4)]
# Most elements of a tile in a chain: step 7 makes a tile of rows x columns x columns.
LARGEST = 1 << 13


def chains(seed: int, count: int) -> list[tuple[tuple[int, int], list[int]]]:
    random = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        shape = SHAPES[random.integers(len(SHAPES))]
        steps = [int(number) for number in random.integers(0, STEPS, 4)]
        x, largest = np.zeros(shape, np.int32), 0
        for number in steps:
            largest = max(largest, x.size * (x.shape[1] if number == 7 else 4 if number == 8 else 2))
            x = expected_step(x, number) if largest <= LARGEST else x
        if largest <= LARGEST:
            found.append((shape, steps))
    return found


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("seed", range(8))
def test_chains(target, seed):
    for shape, steps in chains(seed, 6):
        exact = X = np.random.default_rng(seed).integers(-3, 8, shape).astype(np.int32)
        with np.errstate(over="ignore"):
            for number in steps:
                exact = expected_step(exact, number)
        Z = np.zeros(exact.shape, np.int32)
        for (z,) in run_everywhere(chain, (1,), (X, Z, *shape, *steps), (1,), target=target, hints={}):
            assert np.array_equal(z, exact), (shape, steps)


@ct.kernel
def one_hot_sum(X, H, size: Const, bins: Const):
    """Counts the occurrences of each bin by comparing each element with each bin."""
    v = ct.gather(X, ct.arange(size, dtype=ct.int32), padding_value=-1)
    hits = (v[:, None] == ct.arange(bins, dtype=ct.int32)[None, :]).astype(ct.int32)
    ct.scatter(H, ct.arange(bins, dtype=ct.int32), ct.sum(hits, axis=0))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("size", "bins"), [(128, 16), (256, 1), (1, 8), (32, 256)])
def test_one_hot_sum(target, size, bins):
    X = np.random.default_rng(1).integers(0, bins, size - size // 4).astype(np.int32)
    H = np.zeros(bins, np.int32)
    for (h,) in run_everywhere(one_hot_sum, (1,), (X, H, size, bins), (1,), target=target, hints={}):
        assert np.array_equal(h, np.bincount(X, minlength=bins))
