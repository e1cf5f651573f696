"""Operations on two tiles with different layouts agree with numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct

Const = ct.Constant[int]
ROWS, COLUMNS = 16, 64

# How `made` below computes a tile from X, by number.
SOURCES = (
    "loaded",
    "permuted",
    "broadcast",
    "reshaped",
    "iota",
    "constant",
    "reduced",
    "gathered",
    "unaligned",
    "column",
)


def made(X, source, n, m):
    """A tile of shape (n, m), whose layout depends on `source`."""
    if source == 0:
        return ct.load(X, index=(0, 0), shape=(n, m))
    elif source == 1:
        return ct.transpose(ct.load(X, index=(0, 0), shape=(m, n)))
    elif source == 2:
        return ct.broadcast_to(ct.load(X, index=(0, 0), shape=(1, m)), (n, m))
    elif source == 3:
        return ct.load(X, index=(0, 0), shape=(m, n)).reshape((n, m))
    elif source == 4:
        return ct.broadcast_to(ct.arange(m, dtype=ct.int32).astype(X.dtype).reshape((1, m)), (n, m))
    elif source == 5:
        return ct.full((n, m), 3, dtype=X.dtype)
    elif source == 6:
        return ct.sum(ct.load(X, index=(0, 0), shape=(n, 4 * m)).reshape((n, 4, m)), axis=1)
    elif source == 7:
        rows = ct.arange(n, dtype=ct.int32).reshape((n, 1))
        return ct.gather(X, (rows, ct.arange(m, dtype=ct.int32).reshape((1, m)) * 2))
    elif source == 8:
        return ct.load(X.slice(axis=1, start=1, stop=X.shape[1]), index=(0, 0), shape=(n, m))
    else:
        return ct.broadcast_to(ct.load(X, index=(0, 0), shape=(n, 1)), (n, m))


def expected(x: np.ndarray, source: str, n: int, m: int) -> np.ndarray:
    """What `made` computes, in numpy."""
    tiles = {
        "loaded": lambda: x[:n, :m],
        "permuted": lambda: x[:m, :n].T,
        "broadcast": lambda: np.broadcast_to(x[:1, :m], (n, m)),
        "reshaped": lambda: x[:m, :n].reshape(n, m),
        "iota": lambda: np.broadcast_to(np.arange(m).astype(x.dtype), (n, m)),
        "constant": lambda: np.full((n, m), 3, x.dtype),
        "reduced": lambda: x[:n, : 4 * m].reshape(n, 4, m).sum(axis=1, dtype=x.dtype),
        "gathered": lambda: x[:n, : 2 * m : 2],
        "unaligned": lambda: x[:n, 1 : m + 1],
        "column": lambda: np.broadcast_to(x[:n, :1], (n, m)),
    }
    return tiles[source]()


@ct.kernel
def joined(X, Y, Z, left: Const, right: Const, n: Const, m: Const, axis: Const):
    ct.store(Z, index=(0, 0), tile=ct.cat((made(X, left, n, m), made(Y, right, n, m)), axis))


@ct.kernel
def selected(X, Y, Z, left: Const, right: Const, n: Const, m: Const):
    a, b = made(X, left, n, m), made(Y, right, n, m)
    ct.store(Z, index=(0, 0), tile=ct.where(a < b, b - a, a))


@ct.kernel
def reduced(X, Y, Z, left: Const, right: Const, n: Const, m: Const, axis: Const):
    def both(a, b, c, d):
        return a + c, ct.maximum(b, d)

    sums, largest = ct.reduce((made(X, left, n, m), made(Y, right, n, m)), axis, both, (0, -1000))
    ct.store(Z, index=(0, 0), tile=ct.expand_dims(sums - largest, axis))


@ct.kernel
def scanned(X, Y, Z, left: Const, right: Const, n: Const, m: Const, axis: Const):
    def both(a, b, c, d):
        return a + c, ct.maximum(b, d)

    sums, largest = ct.scan((made(X, left, n, m), made(Y, right, n, m)), axis, both, (0, -1000))
    ct.store(Z, index=(0, 0), tile=sums - largest)


@ct.kernel
def scattered(X, Y, Z, left: Const, right: Const, n: Const, m: Const):
    a, b = made(X, left, n, m), made(Y, right, n, m)
    columns = ct.arange(m, dtype=ct.int32).reshape((1, m))
    rows = ct.arange(n, dtype=ct.int32).reshape((n, 1))
    ct.scatter(Z, (rows, columns), a, mask=a < b)


@ct.kernel
def picked(X, Y, Z, left: Const, right: Const, n: Const, m: Const):
    a, b = made(X, left, n, m), made(Y, right, n, m)
    rows = ct.broadcast_to(ct.arange(n, dtype=ct.int32).reshape((n, 1)), (n, m))
    found = ct.gather(Y, (rows, a.astype(ct.int32)), mask=a < b, padding_value=b)
    ct.store(Z, index=(0, 0), tile=found)


@ct.kernel
def carried(X, Y, Z, left: Const, right: Const, n: Const, m: Const, times):
    a, b = made(X, left, n, m), made(Y, right, n, m)
    for i in range(times):
        a, b = b, a
        if i == 1:
            a = made(Y, left, n, m)
    ct.store(Z, index=(0, 0), tile=a)


@ct.kernel
def looped(X, Y, Z, left: Const, right: Const, n: Const, m: Const, times):
    a, b = made(X, left, n, m), made(Y, right, n, m)
    i = 0
    while i < times:
        a, b = b, a + b
        i += 1
    ct.store(Z, index=(0, 0), tile=a)


def inputs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    return tuple(random.integers(0, 60, (64, 4 * COLUMNS)).astype(dtype) for _ in range(2))


def check(kernel, pair, extra, dtype, exact, start=None):
    """Asserts that the simulator, for one of the two targets, and the interpreter compute the exact tile."""
    X, Y = inputs(dtype)
    left, right = (SOURCES.index(source) for source in pair)
    Z = np.zeros(exact.shape, dtype) if start is None else start
    args = (X, Y, Z, left, right, ROWS, COLUMNS, *extra)
    # Pairs alternate between the targets: layouts of these operations do not depend on the target.
    target = ("sm_100a", "sm_90a")[(left + right) % 2]
    for (z,) in run_everywhere(kernel, (1,), args, (2,), target=target, hints={}):
        assert np.array_equal(z, exact)


PAIRS = list(itertools.product(SOURCES, SOURCES))
# A third of the pairs, in which each source occurs first and second.
SOME_PAIRS = PAIRS[::3]


def tiles(pair, dtype) -> list[np.ndarray]:
    return [expected(x, source, ROWS, COLUMNS) for x, source in zip(inputs(dtype), pair, strict=True)]


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_cat(pair):
    for axis, dtype in ((0, np.float32), (1, np.int8)):
        check(joined, pair, (axis,), dtype, np.concatenate(tiles(pair, dtype), axis))


@pytest.mark.parametrize("pair", SOME_PAIRS, ids=" ".join)
def test_select(pair):
    a, b = tiles(pair, np.int16)
    check(selected, pair, (), np.int16, np.where(a < b, b - a, a))


@pytest.mark.parametrize("pair", SOME_PAIRS, ids=" ".join)
def test_reduce(pair):
    a, b = tiles(pair, np.int32)
    exact = a.sum(axis=1, keepdims=True, dtype=np.int32) - b.max(axis=1, keepdims=True)
    check(reduced, pair, (1,), np.int32, exact)


@pytest.mark.parametrize("pair", SOME_PAIRS, ids=" ".join)
def test_scan(pair):
    a, b = tiles(pair, np.int32)
    exact = a.cumsum(axis=0, dtype=np.int32) - np.maximum.accumulate(b, axis=0)
    check(scanned, pair, (0,), np.int32, exact)


@pytest.mark.parametrize("pair", SOME_PAIRS, ids=" ".join)
def test_scatter(pair):
    a, b = tiles(pair, np.float32)
    start = np.full((ROWS, COLUMNS), -1, np.float32)
    check(scattered, pair, (), np.float32, np.where(a < b, a, start), start)


@pytest.mark.parametrize("pair", SOME_PAIRS, ids=" ".join)
def test_gather(pair):
    a, b = tiles(pair, np.int32)
    _, Y = inputs(np.int32)
    exact = np.where(a < b, Y[np.arange(ROWS)[:, None], np.clip(a, 0, 255)], b)
    check(picked, pair, (), np.int32, exact)


@pytest.mark.parametrize("pair", SOME_PAIRS, ids=" ".join)
def test_loop_carried_and_branch_values(pair):
    a, b = tiles(pair, np.float16)
    again = expected(inputs(np.float16)[1], pair[0], ROWS, COLUMNS)
    check(carried, pair, (1,), np.float16, b)
    check(carried, pair, (3,), np.float16, b)
    check(carried, pair, (2,), np.float16, again)
    c, d = (x.astype(np.int32) for x in (a, b))
    check(looped, pair, (3,), np.int32, c + 2 * d)
