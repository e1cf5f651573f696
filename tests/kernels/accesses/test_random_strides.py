"""Arrays of random strides, extents and starts run on every backend, with the values of numpy.

Strides of 0 repeat elements, axes are exchanged, rows are padded; extents are 0, 1 or odd too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilec as ct

ZERO = ct.PaddingMode.ZERO
EXTENTS = (0, 1, 7, 16, 33, 64, 72)


@ct.kernel
def add(x, y, z):
    at = ct.bid(0), ct.bid(1)
    ct.store(z, at, ct.load(x, at, (16, 32), padding_mode=ZERO) + ct.load(y, at, (16, 32), padding_mode=ZERO))


@ct.kernel
def transpose(x, z):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(z, (j, i), ct.transpose(ct.load(x, (i, j), (32, 16), padding_mode=ZERO)))


@ct.kernel
def gather(x, rows, z):
    at = ct.load(rows, (ct.bid(0),), (16,), padding_mode=ZERO)
    columns = ct.bid(1) * 16 + ct.arange(16, dtype=ct.int32)
    ct.store(z, (ct.bid(0), ct.bid(1)), ct.gather(x, (at[:, None], columns[None, :])))


@ct.kernel
def matmul(x, y, z):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.cdiv(x.shape[1], 64)):
        a, b = ct.load(x, (i, k), (64, 64), padding_mode=ZERO), ct.load(y, (k, j), (64, 64), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(z, (i, j), total.astype(z.dtype))


@ct.kernel
def batched(x, y, z):
    i = ct.bid(0)
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.cdiv(x.shape[2], 64)):
        a = ct.load(x, (i, 0, k), (1, 64, 64), padding_mode=ZERO).reshape((64, 64))
        b = ct.load(y, (i, k, 0), (1, 64, 64), padding_mode=ZERO).reshape((64, 64))
        total = ct.mma(a, b, total)
    ct.store(z, (i, 0, 0), total.reshape((1, 64, 64)).astype(z.dtype))


@ct.kernel
def convolution(x, filters, z):
    images = ct.im2col_view(x, window=(3, 3), padding=1, tile=(64, 64))
    result = ct.im2col_view(z, window=1, tile=(64, 16))
    total = ct.zeros((64, 16), ct.float32)
    for r in range(3):
        for s in range(3):
            for c in range(images.num_tiles(1)):
                weights = ct.load(filters, (r, s, c, 0), (1, 1, 64, 16), padding_mode=ZERO).reshape((64, 16))
                total = ct.mma(ct.load(images, (ct.bid(0), c), offset=(r, s)), weights, total)
    ct.store(result, (ct.bid(0), 0), total.astype(z.dtype))


class Arrays:
    """Draws extents, and arrays of them whose elements are small integers, so that every sum is exact."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def extent(self) -> int:
        return int(self.random.choice(EXTENTS))

    def read(self, *shape: int, dtype: type = np.float16) -> np.ndarray:
        """An array that kernels read; one of four axes has a stride of 0."""
        memory = self._layout(shape, dtype, self.random.random(len(shape)) < 0.25)
        memory[...] = self.random.integers(-2, 3, shape) if memory.size else 0
        return memory

    def written(self, *shape: int, dtype: type = np.float16) -> np.ndarray:
        """An array whose elements have memory of their own."""
        array = self._layout(shape, dtype, np.zeros(len(shape), bool))
        array[...] = 99
        return array

    def _layout(self, shape: tuple[int, ...], dtype: type, repeated: np.ndarray) -> np.ndarray:
        strides, step = [0] * len(shape), int(self.random.choice([1, 1, 1, 2]))
        order = list(range(len(shape)))[::-1] if self.random.random() < 0.6 else self.random.permutation(len(shape))
        for axis in order:
            if not repeated[axis]:
                strides[axis] = step
                step = max(1, shape[axis]) * step + int(self.random.choice([0, 0, 8, 3]))
                step = -(-step // 8) * 8 if self.random.random() < 0.7 else step
        memory = np.zeros(step + 32, dtype)
        aligned = -memory.ctypes.data % 16 // memory.itemsize
        start = aligned + int(self.random.choice([0, 0, 0, 8, 1]))
        in_bytes = [stride * memory.itemsize for stride in strides]
        return np.lib.stride_tricks.as_strided(memory[start:], shape, in_bytes)


Case = tuple[tuple[int, ...], list[np.ndarray], np.ndarray, np.ndarray]


def _add(arrays: Arrays) -> Case:
    n, m = arrays.extent(), arrays.extent()
    x, y = arrays.read(n, m), arrays.read(n, m)
    return (-(-n // 16), -(-m // 32)), [x, y], arrays.written(n, m), x + y


def _transpose(arrays: Arrays) -> Case:
    n, m = arrays.extent(), arrays.extent()
    x = arrays.read(n, m)
    return (-(-n // 32), -(-m // 16)), [x], arrays.written(m, n), x.T


def _gather(arrays: Arrays) -> Case:
    n, m, count = max(1, arrays.extent()), arrays.extent(), arrays.extent()
    x, rows = arrays.read(n, m), arrays.written(count, dtype=np.int32)
    rows[...] = arrays.random.integers(0, n, count)
    return (-(-count // 16), -(-m // 16)), [x, rows], arrays.written(count, m), x[rows]


def _matmul(arrays: Arrays) -> Case:
    n, m, k = arrays.extent(), arrays.extent(), arrays.extent()
    x, y = arrays.read(n, k), arrays.read(k, m)
    return (-(-n // 64), -(-m // 64)), [x, y], arrays.written(n, m), x.astype(np.float32) @ y.astype(np.float32)


def _batched(arrays: Arrays) -> Case:
    batch, n, m, k = int(arrays.random.choice([0, 1, 3])), min(64, arrays.extent()), 64, arrays.extent()
    x, y = arrays.read(batch, n, k), arrays.read(batch, k, m)
    return (batch,), [x, y], arrays.written(batch, n, m), x.astype(np.float32) @ y.astype(np.float32)


def _convolution(arrays: Arrays) -> Case:
    n, h, w, c = (int(arrays.random.choice(extents)) for extents in ([0, 1, 2], [1, 5], [1, 7], [7, 16, 64]))
    x, filters = arrays.read(n, h, w, c), arrays.read(3, 3, c, 16)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float32)
    taps = (padded[:, r : r + h, s : s + w] @ filters[r, s].astype(np.float32) for r in range(3) for s in range(3))
    return (-(-n * h * w // 64),), [x, filters], arrays.written(n, h, w, 16), sum(taps)


CASES: dict[str, tuple[ct.Kernel, Callable[[Arrays], Case]]] = {
    "add": (add, _add),
    "transpose": (transpose, _transpose),
    "gather": (gather, _gather),
    "matmul": (matmul, _matmul),
    "batched": (batched, _batched),
    "convolution": (convolution, _convolution),
}
SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(5, 60))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_equals_numpy(name: str, seed: int, target: str) -> None:
    kernel, draw = CASES[name]
    # Not the seed alone: each kernel has arrays of its own.
    grid, given, result, expected = draw(Arrays(1000 * list(CASES).index(name) + seed))
    for backend, options in [("interpret", {}), ("simulate", {"target": target})]:
        result[...] = 99
        ct.launch(None, grid, kernel, (*given, result), backend=backend, **options)
        shown = [(array.shape, array.strides) for array in (*given, result)]
        np.testing.assert_array_equal(result, expected.astype(result.dtype), f"{backend} {shown}")


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_reversed_array_is_refused_with_the_remedy(backend: str) -> None:
    x, z = np.ones((16, 32), np.float16), np.zeros((16, 32), np.float16)
    problem = r"argument 'x' needs strides that are not negative, got \(-32, 1\): pass a copy with positive strides"
    with pytest.raises(ct.TilecError, match=problem):
        ct.launch(None, (1, 1), add, (x[::-1], x, z), backend=backend)
    ct.launch(None, (1, 1), add, (np.ascontiguousarray(x[::-1]), x, z), backend=backend)
    assert (z == 2).all()


def test_stride_of_0_that_a_signature_does_not_know_is_refused_with_the_remedy(target: str) -> None:
    row, y, z = np.ones((1, 64), np.float16), np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)
    x, rest = np.broadcast_to(row, (64, 64)), "y: f16[?,?], z: f32[?,?]"
    unknown = ct.compile(matmul, signature=f"x: f16[?,?], {rest}", target=target, stop="ptx")
    problem = (
        r"expected a positive stride.*: compile for a signature in which x.strides\[0\] is 0, as in 'strides \(0,1\)'"
    )
    with pytest.raises(ct.TilecError, match=problem):
        ct.run(unknown, (1, 1), [x, y, z])
    known = ct.compile(matmul, signature=f"x: f16[?,?] strides (0,1), {rest}", target=target, stop="ptx")
    ct.run(known, (1, 1), [x, y, z])
    assert (z == 64).all()


@ct.kernel
def store(x, z):
    ct.store(z, (0, 0), ct.load(x, (0, 0), (16, 32)))


@ct.kernel
def accumulate(x, z):
    z.tiled_view((16, 32)).atomic_store_add((0, 0), ct.load(x, (0, 0), (16, 32)))


def test_additions_to_repeated_elements_are_all_made(target: str) -> None:
    x = np.arange(512).reshape(16, 32).astype(np.float32)
    for backend, options in [("interpret", {}), ("simulate", {"target": target})]:
        row = np.zeros((1, 32), np.float32)
        rows = np.lib.stride_tricks.as_strided(row, (16, 32), (0, 4))
        ct.launch(None, 1, accumulate, (x, rows), backend=backend, **options)
        np.testing.assert_array_equal(row[0], x.sum(0), backend)


def test_stores_to_repeated_elements_have_no_order(target: str) -> None:
    """One of the values is stored, and equal values are; the checks of the interpreter report unlike ones."""
    unlike, equal = np.arange(512).reshape(16, 32).astype(np.float32), np.ones((16, 32), np.float32)
    for x in (unlike, equal):
        for backend, options in [("interpret", {}), ("simulate", {"target": target})]:
            row = np.full((1, 32), -1, np.float32)
            rows = np.lib.stride_tricks.as_strided(row, (16, 32), (0, 4))
            ct.launch(None, 1, store, (x, rows), backend=backend, **options)
            assert (x == row).any(axis=0).all(), backend
    with pytest.raises(ct.TilecError, match="two elements of this store write different values to one address"):
        ct.launch(None, 1, store, (unlike, rows), backend="interpret", check=True)
