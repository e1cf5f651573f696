"""Arrays of lists are loaded, multiplied and stored by TMA, whatever their extents, strides and numbers are.

The elements around each array in memory are large numbers: no kernel reads them as data, or writes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest

import tilec
import tilec as ct
from tilec.signature import Signature

Const = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
UNTOUCHED = 99
TARGETS = ("sm_100a", "sm_90a")
BOTH = {"cp.async.bulk.tensor.2d.shared", "cp.async.bulk.tensor.2d.global.shared"}
# Rows, columns and depth of products: odd, of one row, empty in each dimension, and of whole tiles.
PRODUCTS = ((130, 72, 100), (0, 64, 32), (1, 1, 1), (65, 129, 65), (64, 72, 0), (3, 0, 5), (64, 64, 64))


class Groups:
    """Arrays of a list in one memory each, with elements UNTOUCHED around them, whose rows start at 16 bytes."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtype: Any = np.float16, values: Any = None) -> None:
        self.whole, self.arrays = [], []
        for shape in shapes:
            step = 16 // np.dtype(dtype).itemsize
            columns = -(-shape[-1] // step) * step + step
            memory = np.full((*shape[:-1], columns) if len(shape) > 1 else (columns,), UNTOUCHED, dtype)
            padded = np.full(memory.size + 4 * step, UNTOUCHED, dtype)
            start = step + -(padded.ctypes.data // np.dtype(dtype).itemsize) % step
            memory = padded[start : start + memory.size].reshape(memory.shape)
            self.whole.append(padded)
            self.arrays.append(memory[..., : shape[-1]])
        if values is not None:
            for array in self.arrays:
                array[...] = values(array.shape)

    def check(self, expected: Sequence[np.ndarray]) -> None:
        """Compares the arrays, which are then overwritten, and what is around them."""
        for array, whole, values in zip(self.arrays, self.whole, expected, strict=True):
            np.testing.assert_array_equal(array, values)
            array[...] = UNTOUCHED
            np.testing.assert_array_equal(whole, UNTOUCHED)


def integers(seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    return lambda shape: random.integers(-3, 4, shape)


def simulated(kernel: Any, args: Sequence[Any], grid: Any, target: str, hints: Any = None) -> Any:
    """The compiled kernel, after two runs in the simulator with different orders of the threads."""
    compiled = ct.compile(kernel, target=target, signature=Signature.from_arguments(kernel, args), hints=hints or {})
    for seed in range(2):
        tilec.run(compiled, grid, args, backend="simulate", seed=seed)
    acquired_maps(compiled)
    return compiled


@ct.kernel
def grouped_product(As, Bs, Cs, M: Const, N: Const, K: Const):
    """One persistent loop over the tiles of all products."""
    tile, first = ct.bid(0), 0
    for group in range(len(As)):
        a, b, c = As[group], Bs[group], Cs[group]
        columns, depth = ct.num_tiles(b, 1, (K, N)), ct.num_tiles(a, 1, (M, K))
        end = first + ct.num_tiles(a, 0, (M, K)) * columns
        while tile >= first and tile < end:
            row, column = (tile - first) // columns, (tile - first) % columns
            total = ct.zeros((M, N), ct.float32)
            for step in range(depth):
                left = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
                right = ct.load(b, (step, column), (K, N), padding_mode=ZERO)
                total = ct.mma(left, right, total)
            ct.store(c, (row, column), total.astype(c.dtype))
            tile += ct.num_blocks(0)
        first = end


@pytest.mark.parametrize(("tile", "ctas"), [((64, 64, 32), 1), ((256, 128, 64), 2)])
@pytest.mark.parametrize("target", TARGETS)
def test_grouped_product(target: str, tile: tuple[int, int, int], ctas: int) -> None:
    a = Groups([(m, k) for m, n, k in PRODUCTS], values=integers())
    b = Groups([(k, n) for m, n, k in PRODUCTS], values=integers(1))
    c = Groups([(m, n) for m, n, k in PRODUCTS])
    args = a.arrays, b.arrays, c.arrays, *tile
    compiled = simulated(grouped_product, args, 3, target, hints={"num_ctas": ctas})
    c.check([x.astype(np.float32) @ y.astype(np.float32) for x, y in zip(a.arrays, b.arrays, strict=True)])
    assert copies_of(compiled) == BOTH


@pytest.mark.parametrize("target", TARGETS)
def test_maps_are_acquired(target: str) -> None:
    """Once for each tile: before the loop of the loads, and at the start of the iteration that stores."""
    arrays = "list f16[?%1,?%8] strides (?%8,1)"
    signature = f"As: {arrays}, Bs: {arrays}, Cs: {arrays}, M=64, N=64, K=32"
    compiled = ct.compile(grouped_product, target=target, signature=signature, stop="ptx")
    assert len(set(acquired_maps(compiled))) == len(acquired_maps(compiled)) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_of_a_cluster_share_loads(target: str) -> None:
    """The extents of arrays, which bound the loops, are the same for all of them."""
    arrays = "list f16[?,?%8] strides (?%8,1)"
    signature = f"As: {arrays}, Bs: {arrays}, Cs: {arrays}, M=256, N=256, K=64"
    compiled = ct.compile(grouped_product, target=target, signature=signature, hints={"num_ctas": 2}, stop="ptx")
    assert (".cta_group::2" if target == "sm_100a" else ".multicast::cluster") in compiled.ptx


@ct.kernel
def product_of_block(As, Bs, Cs, order, M: Const, N: Const, K: Const):
    """The tiles of the product whose number is in memory, for each number."""
    group = ct.load(order, ct.bid(0), ())
    a, b, c = As[group], Bs[group], Cs[group]
    for row in range(ct.num_tiles(a, 0, (M, K))):
        for column in range(ct.num_tiles(b, 0, (N, K))):
            total = ct.zeros((M, N), ct.float32)
            for step in range(ct.num_tiles(a, 1, (M, K))):
                left = ct.load(a, (row, step), (M, K), padding_mode=ZERO)
                right = ct.load(b, (column, step), (N, K), padding_mode=ZERO)
                total = ct.mma(left, ct.transpose(right), total)
            ct.store(c, (row, column), total.astype(c.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("hints", [{}, {"num_ctas": 2}], ids=str)
def test_product_whose_number_is_loaded(target: str, hints: dict[str, int]) -> None:
    a = Groups([(m, k) for m, n, k in PRODUCTS], values=integers())
    b = Groups([(n, k) for m, n, k in PRODUCTS], values=integers(1))
    c = Groups([(m, n) for m, n, k in PRODUCTS])
    order = np.array([4, 2, 6, 0, 5, 1, 3], np.int32)
    args = a.arrays, b.arrays, c.arrays, order, 128, 64, 32
    compiled = simulated(product_of_block, args, len(order), target, hints=hints)
    c.check([x.astype(np.float32) @ y.astype(np.float32).T for x, y in zip(a.arrays, b.arrays, strict=True)])
    assert copies_of(compiled) == BOTH


@ct.kernel
def sum_of_products(As, B, C, M: Const, N: Const, K: Const):
    """The sum of the products with all matrices of a list, of which the last one counts twice."""
    total = ct.zeros((M, N), ct.float32)
    for step in range(ct.num_tiles(B, 0, (K, N))):
        right = ct.load(B, (step, ct.bid(1)), (K, N), padding_mode=ZERO)
        for number in range(len(As)):
            total = ct.mma(ct.load(As[number], (ct.bid(0), step), (M, K), padding_mode=ZERO), right, total)
        total = ct.mma(ct.load(As[-1], (ct.bid(0), step), (M, K), padding_mode=ZERO), right, total)
    ct.store(C, (ct.bid(0), ct.bid(1)), total)


@pytest.mark.parametrize("target", TARGETS)
def test_list_that_is_loaded_alone(target: str) -> None:
    a = Groups([(70, 72), (1, 72), (0, 72), (64, 72), (66, 72)], values=integers())
    b, c = Groups([(72, 40)], values=integers(1)), Groups([(70, 40)], np.float32)
    compiled = simulated(sum_of_products, (a.arrays, b.arrays[0], c.arrays[0], 64, 64, 64), (2, 1), target)
    factor = np.zeros((70, 72), np.float32)
    for array in (*a.arrays, a.arrays[-1]):
        factor[: len(array)] += array
    c.check([factor @ b.arrays[0].astype(np.float32)])
    assert "cp.async.bulk.tensor.2d.shared" in copies_of(compiled)


@ct.kernel
def product_to_list(A, B, Cs, sizes, M: Const, N: Const, K: Const):
    """Stores tiles of one product to the array of a list, the second and the first one in turn."""
    for row in range(ct.num_tiles(A, 0, (M, K))):
        total = ct.zeros((M, N), ct.float32)
        for step in range(ct.num_tiles(A, 1, (M, K))):
            left = ct.load(A, (row, step), (M, K), padding_mode=ZERO)
            total = ct.mma(left, ct.load(B, (step, 0), (K, N), padding_mode=ZERO), total)
        ct.store(Cs[1 - row % 2], (row // 2, 0), total.astype(ct.float16))


@pytest.mark.parametrize("target", TARGETS)
def test_list_that_is_stored_alone(target: str) -> None:
    a, b = Groups([(250, 72)], values=integers()), Groups([(72, 57)], values=integers(1))
    c = Groups([(122, 57), (128, 57)])
    args = a.arrays[0], b.arrays[0], c.arrays, np.zeros(1, np.int32), 64, 64, 64
    compiled = simulated(product_to_list, args, 1, target)
    exact = (a.arrays[0].astype(np.float32) @ b.arrays[0].astype(np.float32)).astype(np.float16)
    odd, even = np.r_[64:128, 192:250], np.r_[0:64, 128:192]
    c.check([exact[odd], exact[even]])
    assert copies_of(compiled) == BOTH


@ct.kernel
def rows_plus_vectors(As, xs, Bs, M: Const, N: Const):
    """Bs[i] = As[i] + xs[i], a row for all."""
    i = ct.bid(0)
    for row in range(ct.num_tiles(As[i], 0, (M, N))):
        for column in range(ct.num_tiles(As[i], 1, (M, N))):
            tile = ct.load(As[i], (row, column), (M, N)) + ct.load(xs[i], (column,), (N,))[None, :]
            ct.store(Bs[i], (row, column), tile)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32])
@pytest.mark.parametrize("target", TARGETS)
def test_matrices_and_vectors(target: str, dtype: Any) -> None:
    shapes = [(40, 72), (0, 8), (1, 1), (33, 131), (64, 0)]
    a, b = Groups(shapes, dtype, integers()), Groups(shapes, dtype)
    x = Groups([(n,) for m, n in shapes], dtype, integers(1))
    simulated(rows_plus_vectors, (a.arrays, x.arrays, b.arrays, 32, 64), len(shapes), target)
    b.check([y + z for y, z in zip(a.arrays, x.arrays, strict=True)])


@ct.kernel
def product_of_slices(As, B, Cs, starts, M: Const, N: Const, K: Const):
    """Rows starts[i] to starts[i + 1] of each array of a list, times a matrix."""
    for i in range(len(As)):
        start, stop = ct.load(starts, 2 * i, ()), ct.load(starts, 2 * i + 1, ())
        rows, results = As[i].slice(axis=0, start=start, stop=stop), Cs[i].slice(axis=0, start=start, stop=stop)
        for row in range(ct.cdiv(stop - start, M)):
            total = ct.zeros((M, N), ct.float32)
            for step in range(ct.num_tiles(B, 0, (K, N))):
                left = ct.load(rows, (row, step), (M, K), padding_mode=ZERO)
                total = ct.mma(left, ct.load(B, (step, 0), (K, N), padding_mode=ZERO), total)
            ct.store(results, (row, 0), total.astype(ct.float16))


@pytest.mark.parametrize("columns", [64, 57])
@pytest.mark.parametrize("target", TARGETS)
def test_slices_of_arrays_of_a_list(target: str, columns: int) -> None:
    rows, starts = (200, 70, 5), [(3, 140), (69, 70), (2, 2)]
    a = Groups([(n, 72) for n in rows], values=integers())
    b, c = Groups([(72, columns)], values=integers(1)), Groups([(n, columns) for n in rows])
    args = a.arrays, b.arrays[0], c.arrays, np.array(starts, np.int32).ravel(), 64, 64, 64
    compiled = simulated(product_of_slices, args, 1, target, hints={"slices_in_bounds": True})
    expected = [np.full(array.shape, UNTOUCHED, np.float16) for array in c.arrays]
    for array, result, (start, stop) in zip(a.arrays, expected, starts, strict=True):
        result[start:stop] = array[start:stop].astype(np.float32) @ b.arrays[0].astype(np.float32)
    c.check(expected)
    assert any(f".{rank}d.shared" in copy for copy in copies_of(compiled) for rank in (3, 4, 5))


@ct.kernel
def copies(xs, ys, M: Const, N: Const):
    for i in range(len(xs)):
        for row in range(ct.num_tiles(xs[i], 0, (M, N))):
            for column in range(ct.num_tiles(xs[i], 1, (M, N))):
                ct.store(ys[i], (row, column), ct.load(xs[i], (row, column), (M, N)))


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_that_are_not_aligned_use_no_map(target: str) -> None:
    """One array of the list suffices."""
    x = [np.ascontiguousarray(array) for array in Groups([(40, 72), (33, 131)], np.int32, integers()).arrays]
    y = [np.zeros_like(array) for array in x]
    compiled = simulated(copies, (x, y, 32, 64), 1, target)
    for found, expected in zip(y, x, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert not copies_of(compiled)


@ct.kernel
def grouped_product_of_wide_arrays(
    As: Annotated[list, ct.ListAnnotation(element=ct.IndexedWithInt64[ct.Array])],
    Bs: Annotated[list, ct.ListAnnotation(element=ct.IndexedWithInt64[ct.Array])],
    C,
):
    total = ct.zeros((64, 64), ct.float32)
    for i in range(len(As)):
        for step in range(ct.num_tiles(As[i], 1, (64, 64))):
            left = ct.load(As[i], (0, step), (64, 64), padding_mode=ZERO)
            total = ct.mma(left, ct.load(Bs[i], (step, 0), (64, 64), padding_mode=ZERO), total)
    ct.store(C, (0, 0), total)


@pytest.mark.parametrize("target", TARGETS)
def test_extents_of_64_bits_are_not_known_to_fit_a_map(target: str) -> None:
    a, b = Groups([(60, 72), (64, 9)], values=integers()), Groups([(72, 64), (9, 32)], values=integers(1))
    c = Groups([(64, 64)], np.float32)
    simulated(grouped_product_of_wide_arrays, (a.arrays, b.arrays, c.arrays[0]), 1, target)
    expected = np.zeros((64, 64), np.float32)
    for x, y in zip(a.arrays, b.arrays, strict=True):
        expected[: x.shape[0], : y.shape[1]] += x.astype(np.float32) @ y.astype(np.float32)
    c.check([expected])


@dataclass(frozen=True)
class Layer:
    scale: int
    weights: Any


@ct.kernel
def of_record(n, layer, pair, y):
    total = ct.zeros((64, 64), ct.float32)
    for i in range(n):
        total = ct.mma(ct.load(pair[1][i], (0, 0), (64, 64)), ct.load(layer.weights[i], (0, 0), (64, 64)), total)
    ct.store(y, (0, 0), total * layer.scale)


@pytest.mark.parametrize("target", TARGETS)
def test_lists_in_tuples_and_records(target: str) -> None:
    """The entry argument of a table follows those of what is before it."""
    a, b = Groups([(64, 64)] * 3, values=integers()), Groups([(64, 64)] * 3, values=integers(1))
    c = Groups([(64, 64)], np.float32)
    args = 3, Layer(2, b.arrays), (np.zeros((2, 3), np.int8), a.arrays), c.arrays[0]
    compiled = simulated(of_record, args, 1, target)
    pairs = zip(a.arrays, b.arrays, strict=True)
    c.check([2 * sum(x.astype(np.float32) @ y.astype(np.float32) for x, y in pairs)])
    assert "cp.async.bulk.tensor.2d.shared" in copies_of(compiled)


@ct.kernel
def batches(xs, ys, weights, M: Const, N: Const, K: Const):
    """Matrices of arrays of rank 3, with prefetches of the next matrix, times weights of 4 bits."""
    for i in range(len(xs)):
        view = ct.packed_view(weights[i], bits=4, tile=(N, K))
        for batch in range(xs[i].shape[0]):
            ct.prefetch(xs[i], (batch + 1, 0, 0), (1, M, K))
            total = ct.zeros((M, N), ct.float32)
            for step in range(ct.num_tiles(xs[i], 2, (1, M, K))):
                left = ct.load(xs[i], (batch, 0, step), (1, M, K), padding_mode=ZERO).reshape((M, K))
                right = ct.transpose(view.load((0, step)).astype(ct.float16))
                total = ct.mma(left, right, total)
            ct.store(ys[i], (batch, 0, 0), total.astype(ct.float16).reshape((1, M, N)))


@pytest.mark.parametrize("target", TARGETS)
def test_batches_and_packed_weights(target: str) -> None:
    random = np.random.default_rng(0)
    depths, counts = (64, 128, 192), (3, 0, 2)
    x = Groups([(count, 50, depth) for count, depth in zip(counts, depths, strict=True)], values=integers())
    y = Groups([(count, 50, 30) for count in counts])
    weights = [random.integers(0, 16, (32, depth)).astype(np.uint8) for depth in depths]
    nibbles = Groups([(32, depth // 2) for depth in depths], np.uint8)
    for array, values in zip(nibbles.arrays, weights, strict=True):
        array[...] = values[:, 0::2] | values[:, 1::2] << 4
    simulated(batches, (x.arrays, y.arrays, nibbles.arrays, 64, 32, 64), 1, target)
    y.check([a.astype(np.float32) @ w[:30].T.astype(np.float32) for a, w in zip(x.arrays, weights, strict=True)])


@ct.kernel
def sums_of_rows(xs, rows, ys, M: Const, N: Const):
    """Adds rows of each array, by their numbers, to an array of another list."""
    i = ct.bid(0)
    numbers = ct.load(rows, i, M)
    ct.store(ys[i], (0, 0), ct.load_advanced_indexing(xs[i], (numbers, ct.Slice(0, N))) + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_that_are_gathered(target: str) -> None:
    x, y = Groups([(40, 64), (9, 64)], np.float32, integers()), Groups([(32, 64)] * 2, np.float32)
    rows = np.random.default_rng(1).integers(0, 9, 64).astype(np.int32)
    simulated(sums_of_rows, (x.arrays, rows, y.arrays, 32, 64), 2, target)
    y.check([x.arrays[i][rows[32 * i :][:32]] + 1 for i in range(2)])


def acquired_maps(compiled: Any) -> list[str]:
    """The tables of maps of which fences acquire one; each copy reads a parameter, or a table after such a fence."""
    acquired: list[str] = []
    tables: dict[str, str] = {}
    parameters = set(re.findall(r"cvta\.param\.u64 (%rd\d+)", compiled.ptx))
    for statement in compiled.ptx.split(";"):
        if read := re.search(r"ld\.param\.b64 (%rd\d+), \[(\w+)\]", statement):
            tables[read[1]] = read[2]
        elif (sum := re.search(r"add\.s64 (%rd\d+), (%rd\d+), %rd\d+", statement)) and sum[2] in tables:
            tables[sum[1]] = tables[sum[2]]
        elif fence := re.search(r"fence\.proxy\.tensormap::generic\.acquire\.sys \[(%rd\d+)\], 128", statement):
            acquired.append(tables[fence[1]])
        elif "cp.async.bulk" in statement and ".tensor." in statement:
            (map,) = re.findall(r"\[(%rd\d+), \{", statement)
            assert map in parameters or tables[map] in acquired, statement
    return acquired


def copies_of(compiled: Any) -> set[str]:
    """How the kernel copies by TMA."""
    return {line.split("::")[0].split()[-1] for line in compiled.ptx.splitlines() if "cp.async.bulk.tensor" in line}


@ct.kernel
def doubled_rows(Xs, Ys):
    for number in range(len(Xs)):
        ct.store(Ys[number], (0, 0), ct.load(Xs[number], (0, 0), (64, 64), padding_mode=ZERO) * 2)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("target", TARGETS)
def test_threads_copy_the_arrays_of_a_list_with_one_that_repeats_a_row(target: str, order: tuple[int, int]) -> None:
    """A tensor map has no stride of 0."""
    row = np.arange(64, dtype=np.float16)
    inputs = [np.broadcast_to(row, (64, 64)), np.arange(64 * 64, dtype=np.float16).reshape(64, 64) % 128]
    results = [np.zeros((64, 64), np.float16) for _ in inputs]
    args = ([inputs[number] for number in order], results)
    for backend in ("simulate", "interpret"):
        ct.run(doubled_rows, (1,), args, backend=backend, target=target)
        for number, result in zip(order, results, strict=True):
            np.testing.assert_array_equal(result, inputs[number] * 2)
            result[...] = 0
