"""Arrays and their views that branches choose and loops carry agree with numpy in the interpreter and the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct
from tilec.signature import Signature

X, Y = np.arange(8, dtype=np.int32), np.arange(100, 116, dtype=np.int32)[::2]


def everywhere(kernel, args, outputs, target):
    return run_everywhere(kernel, (1,), args, outputs, target=target, hints={}, seeds=(0, 1))


@ct.kernel
def chosen_by_a_branch(x, y, z, n: int):
    """The stride of y differs from that of x; the accesses of both and of the chosen one keep program order."""
    if n > 0:
        chosen = x
    else:
        chosen = y
    ct.store(x, 0, ct.full(8, 7, ct.int32))
    ct.store(chosen, 0, ct.load(chosen, 0, 8) + 1)
    ct.store(z, 0, ct.load(x, 0, 8) + ct.gather(y, ct.arange(8, dtype=ct.int32)))


@pytest.mark.parametrize("n", [0, 1])
def test_branch(target, n):
    args = (X.copy(), Y, np.zeros(8, np.int32), n)
    exact_x, exact_y = np.full(8, 7 + n), Y + 1 - n
    for x, y, z in everywhere(chosen_by_a_branch, args, (0, 1, 2), target):
        assert np.array_equal(x, exact_x) and np.array_equal(y, exact_y) and np.array_equal(z, exact_x + exact_y)


@ct.kernel
def views_chosen_by_an_expression(x, y, z, n: int):
    view = x.tiled_view(4) if n > 0 else y.tiled_view(4)
    memory = y.get_raw_memory() if n > 0 else x.get_raw_memory()
    z.tiled_view(4).store(0, view.load(1))
    z.tiled_view(4).store(1, memory.load_offset(ct.arange(4, dtype=ct.int32)))


@pytest.mark.parametrize("n", [0, 1])
def test_views(target, n):
    y = np.ascontiguousarray(Y)
    exact = np.concatenate([X[4:], y[:4]] if n else [y[4:], X[:4]])
    for (z,) in everywhere(views_chosen_by_an_expression, (X, y, np.zeros(8, np.int32), n), (2,), target):
        assert np.array_equal(z, exact)


@ct.kernel
def swapped(x, y, z, n: int):
    a, b = x, y.tiled_view(8)
    for i in range(n):
        ct.store(z, i, ct.load(a, 0, 8) * 1000 + b.load(0))
        # Writes the array that the next iteration reads.
        ct.store(a, 0, ct.load(a, 0, 8) + 1)
        if i == 0:
            a, b = y, x.tiled_view(8)
        else:
            a, b = x, y.tiled_view(8)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_loop(target, n):
    y = np.ascontiguousarray(Y)
    rows = [X * 1000 + y, y * 1000 + X + 1, (X + 1) * 1000 + y + 1]
    exact = np.concatenate([*rows[:n], np.zeros(8 * (3 - n))])
    for x, y_after, z in everywhere(swapped, (X.copy(), y, np.zeros(24, np.int32), n), (0, 1, 2), target):
        assert np.array_equal(z, exact)
        assert np.array_equal(x, X + (n + 1) // 2) and np.array_equal(y_after, y + n // 2)


@ct.kernel
def advancing(x, z):
    """The sum of each third element: a slice of the array of the iteration before."""
    rest, total = x, ct.zeros((), ct.int32)
    while rest.shape[0] > 4:
        total = total + ct.load(rest, 0, 1).item()
        rest = rest.slice(0, 3, rest.shape[0])
    ct.store(z, 0, total)
    ct.store(z, 1, rest.shape[0])


def test_slice_of_the_previous_slice(target):
    for (z,) in everywhere(advancing, (np.arange(20, dtype=np.int32), np.zeros(2, np.int32)), (1,), target):
        assert z.tolist() == [0 + 3 + 6 + 9 + 12 + 15, 2]


@ct.kernel
def found(x, y, z, n: int):
    """A slice made inside of the loop, used after it."""
    i = 0
    while True:
        part = x.slice(0, i, 8)
        if ct.gather(part, 0) >= n:
            break
        i = i + 1
    ct.store(z, 0, ct.load(part, 0, 2))


def test_array_of_an_exit(target):
    for (z,) in everywhere(found, (X, Y, np.zeros(2, np.int32), 5), (2,), target):
        assert z.tolist() == [5, 6]


@ct.kernel
def product(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    left, acc = A.tiled_view((tm, tk)), ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(left.load((0, k)), ct.load(B, (k, 0), (tk, tn)), acc)
        left = A.tiled_view((tm, tk))
    ct.store(C, (0, 0), acc)


def test_equal_view_in_a_loop_is_loaded_by_tma(target):
    a = np.zeros((128, 128), np.float16)
    signature = Signature.from_arguments(product, (a, a, np.zeros((128, 128), np.float32), 128, 128, 64))
    compiled = ct.compile(product, target=target, signature=signature)
    assert "cp.async.bulk.tensor" in compiled.ptx and not compiled.all_remarks


def other_rank(x, y, n):
    chosen = x
    if n > 0:
        chosen = ct.Array.from_foreign(y.foreign_pointer, (2, 4), (4, 1))
    ct.load(chosen, 0, 4)


def other_tiles(x, y, n):
    view = x.tiled_view(4) if n > 0 else y.tiled_view(8)
    view.load(0)


def other_strides(x, y, n):
    chosen = x
    for _ in range(n):
        ct.load(chosen, 0, 4)
        chosen = y


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (other_rank, "'chosen' has incompatible values after the branches of an 'if': array 'y' of int32, rank 2 and"),
        (other_tiles, "the two branches have incompatible values: a tiled view of array 'x' and a tiled view of"),
        (other_strides, "'chosen' changes from iteration to iteration: .* with other constant extents or strides"),
    ],
)
def test_mistake(body, message):
    with pytest.raises(ct.TileTypeError, match=message):
        ct.launch(None, 1, ct.kernel(body), (X, Y, 1), backend="interpret")
