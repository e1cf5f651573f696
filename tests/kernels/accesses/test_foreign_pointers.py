"""Arrays made of foreign pointers agree with numpy in the interpreter and in the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from compare import run_everywhere

import tilec as ct


def everywhere(kernel, args, outputs, target):
    return run_everywhere(kernel, (1,), args, outputs, target=target, hints={}, seeds=(0, 1))


@ct.kernel
def transposed(x, y, rows: ct.Constant[int], columns: ct.Constant[int]):
    view = ct.Array.from_foreign(x.foreign_pointer, (x.shape[1], x.shape[0]), (x.strides[1], x.strides[0]))
    ct.store(y, (0, 0), ct.load(view, (0, 0), (columns, rows), padding_mode=ct.PaddingMode.ZERO))


def test_extents_and_strides_of_another_array(target):
    x = np.arange(6 * 10, dtype=np.float32).reshape(6, 10)
    for (y,) in everywhere(transposed, (x, np.zeros((10, 6), np.float32), 8, 16), (1,), target):
        assert np.array_equal(y, x.T)


@ct.kernel
def flattened(x, y, n, size: ct.Constant[int]):
    """The first n of 64 elements, at a stride of 3."""
    view = ct.Array.from_foreign(x.foreign_pointer, (n,), (3,))
    ct.store(y, 0, ct.load(view, 0, size, padding_mode=ct.PaddingMode.ZERO))
    ct.scatter(view, ct.arange(size, dtype=ct.int32), -1)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_extent_from_an_argument(target, index):
    x = np.arange(64, dtype=np.int32)
    exact, written = np.zeros(16, np.int32), x.copy()
    exact[:11], written[:33:3] = x[:33:3], -1
    for found, y in everywhere(flattened, (x, np.zeros(16, np.int32), index(11), 16), (0, 1), target):
        assert np.array_equal(y, exact) and np.array_equal(found, written)


@ct.kernel
def repeated(x, y):
    """A stride of 0 repeats the row; the extent of 0 of another array has no elements."""
    rows = ct.Array.from_foreign(x.foreign_pointer, (4, 8), (0, 1))
    empty = ct.Array.from_foreign(x.foreign_pointer, (0,), (1,))
    ct.scatter(empty, 0, 99)
    ct.store(y, (0, 0), ct.gather(rows, (ct.arange(4, dtype=ct.int32)[:, None], ct.arange(8, dtype=ct.int32)[None, :])))


def test_stride_and_extent_of_zero(target):
    x = np.arange(8, dtype=np.int32)
    for found, y in everywhere(repeated, (x, np.zeros((4, 8), np.int32)), (0, 1), target):
        assert np.array_equal(y, np.tile(x, (4, 1))) and np.array_equal(found, x)


@ct.kernel
def written_twice(x, y):
    """Accesses of an array and of one made of its pointer are of the same memory, and keep program order."""
    alias = ct.Array.from_foreign(x.foreign_pointer, x.shape, x.strides)
    ct.store(x, 0, ct.arange(8, dtype=ct.int32))
    ct.store(alias, 0, ct.load(alias, 0, 8) + 10)
    ct.store(y, 0, ct.load(x, 0, 8))


def test_program_order(target):
    for (y,) in everywhere(written_twice, (np.zeros(8, np.int32), np.zeros(8, np.int32)), (1,), target):
        assert np.array_equal(y, np.arange(8) + 10)


def pointer_sum(x):
    x.foreign_pointer + 1


def no_pointer(x):
    ct.Array.from_foreign(x, (4,), (1,))


def ranks(x):
    ct.Array.from_foreign(x.foreign_pointer, (4,), (1, 1))


def negative(x):
    ct.Array.from_foreign(x.foreign_pointer, (4,), (-1,))


def unsigned(x):
    ct.Array.from_foreign(x.foreign_pointer, (ct.uint32(4),), (1,))


def fraction(x):
    ct.Array.from_foreign(x.foreign_pointer, (4.0,), (1,))


def tile_of_pointers(x):
    ct.zeros(4, ct.foreign_pointer_dtype(ct.int32))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (pointer_sum, "expected tiles or numbers, got a foreign pointer to array 'x'"),
        (no_pointer, "argument 'pointer': expected a foreign pointer, got array 'x'.*: use x.foreign_pointer"),
        (ranks, "argument 'strides': expected one stride per extent, 1 in all, got 2"),
        (negative, "argument 'strides': expected at least 0, got -1"),
        (unsigned, "argument 'shape': expected signed integers, got the uint32 constant 4"),
        (fraction, "argument 'shape': expected integer scalars, got the constant 4.0"),
        (
            tile_of_pointers,
            r"argument 'dtype': expected an element type .*, got the element type foreign_pointer\[int32\]",
        ),
    ],
)
def test_mistake(body, message):
    with pytest.raises(ct.TileTypeError, match=message):
        ct.launch(None, 1, ct.kernel(body), (np.zeros(8, np.int32),), backend="interpret")
