"""Loops that load a row per iteration, or several of one array, equal numpy where TMA loads groups of rows.

The numbers are small integers, so that all sums are exact. A loop has any number of iterations, also none, and starts
anywhere; the rows after the last group are loaded one by one.
"""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_within, run_everywhere

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")
CHANNELS = 64
Extent = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def compute_rows(X, G, Y, first, end, channels):
    """y[t] = g[t] y[t - 1] + x[t], from `first` to `end`."""
    b, d = ct.bid(0), ct.bid(1)
    h = ct.zeros((1, 1, channels), ct.float32)
    for t in range(first, end):
        h = ct.load(G, (b, t, d), (1, 1, channels)).astype(ct.float32) * h
        h = h + ct.load(X, (b, t, d), (1, 1, channels)).astype(ct.float32)
        ct.store(Y, (b, t, d), h.astype(Y.dtype))


@ct.kernel
def recurrence(X, G, Y, first: int, end: int, channels: Extent):
    compute_rows(X, G, Y, first, end, channels)


@ct.kernel
def known(X, G, Y, first: Extent, end: Extent, channels: Extent):
    """The same recurrence, with a known number of iterations."""
    compute_rows(X, G, Y, first, end, channels)


@ct.kernel
def chunks(X, G, Y, size: Extent, channels: Extent):
    """The same recurrence, in chunks of `size` rows that the program loads."""
    b, d = ct.bid(0), ct.bid(1)
    h = ct.zeros((1, 1, channels), ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(1, size, channels))):
        x = ct.load(X, (b, j, d), (1, size, channels)).astype(ct.float32)
        g = ct.load(G, (b, j, d), (1, size, channels)).astype(ct.float32)
        for s in ct.static_iter(range(size)):
            h = ct.extract(g, (0, s, 0), (1, 1, channels)) * h + ct.extract(x, (0, s, 0), (1, 1, channels))
            ct.store(Y, (b, j * size + s, d), h.astype(Y.dtype))


@ct.kernel
def selected(X, G, Y, size: Extent, channels: Extent):
    """The same, with the number of the row in a loop."""
    b, d = ct.bid(0), ct.bid(1)
    h = ct.zeros((1, 1, channels), ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(1, size, channels))):
        x = ct.load(X, (b, j, d), (1, size, channels))
        g = ct.load(G, (b, j, d), (1, size, channels))
        for s in range(size):
            h = ct.extract(g, (0, s, 0), (1, 1, channels)).astype(ct.float32) * h
            h = h + ct.extract(x, (0, s, 0), (1, 1, channels)).astype(ct.float32)
            ct.store(Y, (b, j * size + s, d), h.astype(Y.dtype))


@ct.kernel
def differences(X, Y, channels: Extent):
    """y[t] = sum of x[i] - x[i + 1] for i up to t: rows of neighbouring iterations are in one group."""
    b, d = ct.bid(0), ct.bid(1)
    h = ct.zeros((1, 1, channels), ct.float32)
    for t in range(X.shape[1] - 1):
        h = h + ct.load(X, (b, t, d), (1, 1, channels)).astype(ct.float32)
        h = h - ct.load(X, (b, t + 1, d), (1, 1, channels)).astype(ct.float32)
        ct.store(Y, (b, t, d), h.astype(Y.dtype))


@ct.kernel
def weighted(X, Y, size: Extent, part: Extent):
    """The sum of x * 2 ** (number of the part) over parts of rows that the program loads in one iteration."""
    r = ct.bid(0)
    total = ct.zeros((1, part), ct.float32)
    for j in range(ct.cdiv(X.shape[1], size * part)):
        for s in ct.static_iter(range(size)):
            total = total + ct.load(X, (r, j * size + s), (1, part), padding_mode=ZERO).astype(ct.float32) * 2**s
    ct.store(Y, (r, 0), total)


@ct.kernel
def in_turn(X, G, Y, channels: Extent):
    """The sum of all x first, then the products of g added to it: two loops with rows of their own."""
    b, d = ct.bid(0), ct.bid(1)
    h = ct.zeros((1, 1, channels), ct.float32)
    for t in range(X.shape[1]):
        h = h + ct.load(X, (b, t, d), (1, 1, channels)).astype(ct.float32)
    product = ct.full((1, 1, channels), 1, ct.float32)
    for t in range(G.shape[1]):
        product = product * ct.load(G, (b, t, d), (1, 1, channels)).astype(ct.float32)
        ct.store(Y, (b, t, d), (h + product).astype(Y.dtype))


@ct.kernel
def in_place(X, channels: Extent):
    """x[t + 1] += x[t]: no row may be loaded before the store of the iteration before."""
    b, d = ct.bid(0), ct.bid(1)
    total = ct.zeros((1, 1, channels), ct.float32)
    for t in range(X.shape[1] - 1):
        row = ct.load(X, (b, t, d), (1, 1, channels)) + ct.load(X, (b, t + 1, d), (1, 1, channels))
        ct.store(X, (b, t + 1, d), row)
        total = total + row.astype(ct.float32)
    ct.store(X, (b, 0, d), total.astype(X.dtype))


def arrays(steps: int, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(steps)
    x, g = (random.integers(-1, 2, (2, steps, 2 * CHANNELS)).astype(dtype) for _ in range(2))
    return x, g, np.full(x.shape, 7, dtype)


def recurred(x: np.ndarray, g: np.ndarray, y: np.ndarray, first: int, end: int) -> np.ndarray:
    y, h = y.copy(), np.zeros(x.shape[::2])
    for t in range(first, end):
        h = y[:, t] = g[:, t] * h + x[:, t]
    return y


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("first", "end"), [(0, 0), (5, 3), (0, 7), (0, 8), (0, 19), (3, 24), (7, 30), (4, 3 - 2**31)])
def test_rows_of_iterations(first: int, end: int, dtype: type, target: str) -> None:
    """Rows outside of the array are zeros, and stores to them are dropped; an empty loop stores nothing."""
    x, g, y = arrays(24, dtype)
    for (found,) in run_everywhere(recurrence, (2, 2), (x, g, y, first, end, CHANNELS), (2,), target=target, hints={}):
        assert_within(found, recurred(x, g, y, first, min(end, 24)), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("first", "end"), [(0, 1), (0, 2), (0, 3), (1, 7), (2, 10), (5, 3)])
def test_rows_of_a_known_number_of_iterations(first: int, end: int, target: str) -> None:
    x, g, y = arrays(24, np.float32)
    for (found,) in run_everywhere(known, (2, 2), (x, g, y, first, end, CHANNELS), (2,), target=target, hints={}):
        assert_within(found, recurred(x, g, y, first, end), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", [chunks, selected])
@pytest.mark.parametrize("size", [2, 4, 8])
def test_rows_of_a_tile(size: int, kernel, target: str) -> None:
    """Also where the last tile is partly outside of the array."""
    for steps in (20, 24) if size == 8 else (24,):
        x, g, y = arrays(steps, np.float32)
        args = (x, g, y, size, CHANNELS)
        for (found,) in run_everywhere(kernel, (2, 2), args, (2,), target=target, hints={}):
            assert_within(found, recurred(x, g, y, 0, steps), 0)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_that_iterations_share(target: str) -> None:
    x, _, y = arrays(22, np.float32)
    exact = np.concatenate([np.cumsum(x[:, :-1] - x[:, 1:], axis=1), y[:, -1:]], axis=1)
    for (found,) in run_everywhere(differences, (2, 2), (x, y, CHANNELS), (1,), target=target, hints={}):
        assert_within(found, exact, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("size", "part"), [(8, 16), (4, 64), (4, 128)])
def test_parts_of_a_row(size: int, part: int, target: str) -> None:
    """Rows of 128, 256 and 512 elements, of which a box of TMA has at most 256; the last exceeds the array."""
    x = np.random.default_rng(part).integers(-1, 2, (3, 2 * size * part + part)).astype(np.float16)
    padded = np.zeros((3, 3 * size * part))
    padded[:, : x.shape[1]] = x
    weights = 2.0 ** (np.arange(3 * size) % size)
    exact = (padded.reshape(3, -1, part) * weights[:, None]).sum(axis=1)
    args = (x, np.zeros((3, part), np.float32), size, part)
    for (found,) in run_everywhere(weighted, (3,), args, (1,), target=target, hints={}):
        assert_within(found, exact, 0)
    signature = f"X: f16[?%16,?%16], Y: f32[?%16,?%16], size={size}, part={part}"
    assert "cp.async.bulk.tensor" in ptx_of(weighted, signature, target)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_two_loops(target: str) -> None:
    x, g, y = arrays(21, np.float32)
    exact = x.sum(axis=1, keepdims=True) + np.cumprod(g, axis=1)
    for (found,) in run_everywhere(in_turn, (2, 2), (x, g, y, CHANNELS), (2,), target=target, hints={}):
        assert_within(found, exact, 0)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_that_the_loop_stores(target: str) -> None:
    x, _, _ = arrays(20, np.float32)
    sums = np.cumsum(x, axis=1)
    exact = np.concatenate([sums[:, 1:].sum(axis=1, keepdims=True), sums[:, 1:]], axis=1)
    for (found,) in run_everywhere(in_place, (2, 2), (x, CHANNELS), (0,), target=target, hints={}):
        assert_within(found, exact, 0)


def ptx_of(kernel, signature: str, target: str) -> str:
    return ct.compile(kernel, signature=signature, target=target, stop="ptx").ptx


@pytest.mark.parametrize("target", TARGETS)
def test_one_copy_per_group(target: str) -> None:
    """The same recurrence in three wordings has two TMA copies per group, and no barrier beside that of the start."""
    array = "f32[?%16,?%16,?%16]"
    given = f"X: {array}, G: {array}, Y: {array}"
    for kernel, more in ((recurrence, "first: i32, end: i32"), (chunks, "size=8"), (selected, "size=8")):
        ptx = ptx_of(kernel, f"{given}, {more}, channels={CHANNELS}", target)
        assert (ptx.count("cp.async.bulk.tensor"), ptx.count("bar.sync")) == (2, 1), kernel


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("end", [2, 4, 8])
def test_a_group_has_no_more_rows_than_the_loop(end: int, target: str) -> None:
    """No row is left for threads to load."""
    array = "f32[?%16,?%16,?%16]"
    ptx = ptx_of(known, f"X: {array}, G: {array}, Y: {array}, first=0, end={end}, channels=256", target)
    assert ptx.count("cp.async.bulk.tensor") == 2 and "ld.global" not in ptx


@pytest.mark.parametrize("target", TARGETS)
def test_no_group_of_rows_that_a_loop_stores(target: str) -> None:
    assert "cp.async.bulk.tensor" not in ptx_of(in_place, f"X: f32[?%16,?%16,?%16], channels={CHANNELS}", target)
