"""Reductions and scans by functions that are associative but not commutative keep the order of the elements.

The function of the user gets the later block first. The oracle goes through the elements in order in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.signature import Signature

SHAPES = [((1,), 0), ((2,), 0), ((64,), 0), ((2048,), 0), ((4, 8), 0), ((4, 8), 1), ((64, 32), 0), ((64, 32), 1)]
SHAPES += [((2, 512), 1), ((256, 4), 0), ((8, 16, 8), 0), ((8, 16, 8), 1), ((8, 16, 8), 2)]


def earlier(a, b):
    return b


def later(a, b):
    return a


def last_nonzero(a, b):
    return ct.where(a != 0, a, b)


def greater(a, b):
    """Not associative with NaN: the result depends on the tree, which is one of neighbours."""
    return ct.where(a > b, a, b)


def composed(a1, b1, a2, b2):
    """x -> a1 (a2 x + b2) + b1."""
    return a1 * a2, a1 * b2 + b1


def appended(text, scale, before, scale_before):
    """Bytes of a number, the first one highest: `scale` is 256 ** length."""
    return before * scale + text, scale * scale_before


def multiplied(a, b, c, d, e, f, g, h):
    """The matrix of rows (a, b), (c, d) times that of (e, f), (g, h)."""
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def kernel_of(
    operation: str, func: Callable, shape: tuple[int, ...], axis: int, count: int, reverse: bool = False
) -> Any:
    """y0.. = operation((x0, ..), axis, func), for `count` tiles x and as many y."""
    start, identity = (0,) * len(shape), 0 if count == 1 else (0,) * count

    def reduced(tiles):
        return ct.reduce(tiles, axis, func, identity, keepdims=True)

    def scanned(tiles):
        return ct.scan(tiles, axis, func, identity, reverse=reverse)

    combined = {"reduce": reduced, "scan": scanned}[operation]

    @ct.kernel
    def one(x0, y0):
        ct.store(y0, start, combined(ct.load(x0, start, shape)))

    @ct.kernel
    def two(x0, x1, y0, y1):
        r0, r1 = combined((ct.load(x0, start, shape), ct.load(x1, start, shape)))
        ct.store(y0, start, r0)
        ct.store(y1, start, r1)

    @ct.kernel
    def four(x0, x1, x2, x3, y0, y1, y2, y3):
        a, b, c, d = (
            ct.load(x0, start, shape),
            ct.load(x1, start, shape),
            ct.load(x2, start, shape),
            ct.load(x3, start, shape),
        )
        r0, r1, r2, r3 = combined((a, b, c, d))
        ct.store(y0, start, r0)
        ct.store(y1, start, r1)
        ct.store(y2, start, r2)
        ct.store(y3, start, r3)

    return {1: one, 2: two, 4: four}[count]


def results(kernel: Any, sources: Sequence[np.ndarray], shape: tuple, target: str, warps: int) -> list:
    """The outputs of the simulator and of the interpreter."""
    found = []
    for backend in ("simulate", "interpret"):
        outputs = [np.zeros(shape, source.dtype) for source in sources]
        signature = Signature.from_arguments(kernel, [*sources, *outputs])
        compiled = ct.compile(kernel, target=target, signature=signature, hints={"warps": warps})
        ct.run(compiled, 1, [*sources, *outputs], backend=backend)
        found.append(outputs)
    return found


def oracle(combine: Callable, sources: Sequence[np.ndarray], axis: int, prefixes: bool, reverse: bool = False) -> list:
    """combine(later, earlier) over lists of numpy scalars from the first element to the last."""
    rows = [np.moveaxis(source, axis, -1).reshape(-1, source.shape[axis]) for source in sources]
    kept = [np.zeros_like(row) for row in rows]
    for number in range(len(rows[0])):
        total = None
        order = range(rows[0].shape[1])
        for at in reversed(order) if reverse else order:
            element = [row[number, at] for row in rows]
            total = element if total is None else combine(element, total)
            for column, value in zip(kept, total, strict=True):
                column[number, at] = value
    rest = np.moveaxis(sources[0], axis, -1).shape
    moved = [np.moveaxis(column.reshape(rest), -1, axis) for column in kept]
    return moved if prefixes else [np.take(column, [-1], axis) for column in moved]


# The function, the same on lists of numpy scalars, and the number of tiles.
FUNCTIONS = {
    "earlier": (earlier, lambda a, b: b, 1),
    "later": (later, lambda a, b: a, 1),
    "last non-zero": (last_nonzero, lambda a, b: a if a[0] != 0 else b, 1),
    "composed": (composed, lambda a, b: composed(*a, *b), 2),
    "appended": (appended, lambda a, b: appended(*a, *b), 2),
    "multiplied": (multiplied, lambda a, b: multiplied(*a, *b), 4),
}
TYPES = {
    "earlier": ["int8", "float16", "float32", "float64"],
    "later": ["int16", "bool"],
    "last non-zero": ["int32", "float32", "int64"],
    "composed": ["int32", "uint32", "int8"],
    "appended": ["int64", "int32"],
    "multiplied": ["int32", "uint16"],
}
LAYOUTS = list(itertools.product(SHAPES, (4, 8)))


def source_tiles(name: str, dtype: str, shape: tuple[int, ...], count: int) -> list[np.ndarray]:
    random = np.random.default_rng(len(shape) + shape[-1])
    if name == "appended":
        return [random.integers(1, 256, shape).astype(dtype), np.full(shape, 256, dtype)]
    tiles = [random.integers(-100, 100, shape) for _ in range(count)]
    if name.startswith("last"):
        tiles = [np.where(random.random(shape) < 0.1, tile, 0) for tile in tiles]
    return [tile.astype(dtype) for tile in tiles]


def check(
    operation: str, name: str, dtype: str, shape: tuple, axis: int, target: str, warps: int, reverse: bool = False
) -> None:
    func, combine, count = FUNCTIONS[name]
    sources = source_tiles(name, dtype, shape, count)
    with np.errstate(over="ignore"):
        expected = oracle(combine, sources, axis, operation == "scan", reverse)
    kernel = kernel_of(operation, func, shape, axis, count, reverse)
    for found in results(kernel, sources, expected[0].shape, target, warps):
        for tile, wanted in zip(found, expected, strict=True):
            assert np.array_equal(tile, wanted), (name, dtype, shape, axis)


@pytest.mark.covering
@pytest.mark.parametrize(("place", "warps"), LAYOUTS, ids=str)
@pytest.mark.parametrize("name", ["last non-zero", "multiplied"])
def test_reduction_in_each_layout(name, place, warps, target):
    check("reduce", name, "int32", *place, target, warps)


@pytest.mark.covering
@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in TYPES for dtype in TYPES[name]])
def test_reduction_of_each_type(name, dtype, target):
    for place in (((1024,), 0), ((16, 64), 1), ((64, 8), 0)):
        check("reduce", name, dtype, *place, target, 4)


@pytest.mark.covering
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("place", SHAPES, ids=str)
def test_scan_in_each_layout(place, reverse, target):
    check("scan", "composed", "int32", *place, target, 8 if place[1] else 4, reverse=reverse)


@pytest.mark.covering
@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in TYPES for dtype in TYPES[name]])
def test_scan_of_each_type(name, dtype, target):
    check("scan", name, dtype, (8, 64), 1, target, 4)


def neighbours(row: np.ndarray) -> np.ndarray:
    """The tree of neighbours, of a function that is not associative."""
    while len(row) > 1:
        row = np.where(row[1::2] > row[0::2], row[1::2], row[0::2])
    return row


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("place", [((2048,), 0), ((16, 64), 1), ((64, 16), 0)], ids=str)
def test_comparisons_with_nan_are_a_tree_of_neighbours(place, warps, target):
    shape, axis = place
    random = np.random.default_rng(0)
    source = np.where(random.random(shape) < 0.3, np.nan, random.standard_normal(shape)).astype(np.float32)
    expected = np.apply_along_axis(neighbours, axis, source)
    kernel = kernel_of("reduce", greater, shape, axis, 1)
    for (found,) in results(kernel, [source], expected.shape, target, warps):
        assert np.array_equal(found, expected, equal_nan=True)


@ct.kernel
def counted(x, y, size: ct.Constant[int]):
    """The bound of the loop is a scalar, so control flow is uniform only if it is equal in all threads."""
    bound = ct.reduce(ct.load(x, (0,), (size,)), 0, earlier, 0)
    total = ct.zeros((size,), ct.int32)
    for step in range(bound):
        total = total + ct.load(x, (0,), (size,)) * step
    ct.store(y, (0,), total)


@pytest.mark.parametrize("size", [32, 1024])
def test_a_scalar_is_equal_in_all_threads(size, target):
    x = np.arange(5, 5 + size, dtype=np.int32)
    for backend, options in (("simulate", {"target": target}), ("interpret", {})):
        y = np.zeros_like(x)
        ct.launch(None, 1, counted, (x, y, size), backend=backend, **options)
        assert np.array_equal(y, x * 10)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("warps", [4, 8])
def test_the_layout_of_an_accumulator(axis, warps, target):
    """The reduced tile is the sum of a multiply, in registers or tensor memory."""
    shape = (128, 64)

    @ct.kernel
    def product(a, b, y):
        left, right = ct.load(a, (0, 0), (128, 64)), ct.load(b, (0, 0), (64, 64))
        sums = ct.mma(left, right, ct.zeros((128, 64), ct.float32)).astype(ct.int32)
        ct.store(y, (0, 0), ct.reduce(sums, axis, last_nonzero, 0, keepdims=True))

    random = np.random.default_rng(1)
    sparse = np.where(random.random(shape) < 0.05, random.integers(1, 99, shape), 0)
    sources = [sparse.astype(np.float16), np.eye(64, dtype=np.float16)]
    (expected,) = oracle(FUNCTIONS["last non-zero"][1], [sparse.astype(np.int32)], axis, False)
    signature = Signature.from_arguments(product, [*sources, expected])
    compiled = ct.compile(product, target=target, signature=signature, hints={"warps": warps})
    for backend in ("simulate", "interpret"):
        found = np.zeros_like(expected)
        ct.run(compiled, 1, [*sources, found], backend=backend)
        assert np.array_equal(found, expected)


def first_index(row: np.ndarray, nan_wins: bool) -> int:
    """The first NaN, or the first largest number."""
    if np.isnan(row).all() or nan_wins and np.isnan(row).any():
        return int(np.argmax(np.isnan(row)))
    return int(np.nanargmax(row))


@pytest.mark.parametrize("nan_wins", [False, True])
@pytest.mark.parametrize("place", [((1024,), 0), ((16, 64), 1), ((64, 16), 0)], ids=str)
def test_index_of_the_largest_with_nan(place, nan_wins, target):
    shape, axis = place
    start = (0,) * len(shape)

    @ct.kernel
    def largest(x, y):
        tile = ct.load(x, start, shape)
        ct.store(y, start, ct.argmax(tile, axis, keepdims=True, propagate_nan=nan_wins))

    random = np.random.default_rng(2)
    source = np.where(random.random(shape) < 0.3, np.nan, random.integers(-3, 3, shape)).astype(np.float32)
    source[(slice(None), *([0] * (len(shape) - 1)))[:: 1 if axis == 0 else -1]] = np.nan
    expected = np.apply_along_axis(lambda row: first_index(row, nan_wins), axis, source)
    for backend, options in (("simulate", {"target": target}), ("interpret", {})):
        found = np.zeros(np.expand_dims(expected, axis).shape, np.int32)
        ct.launch(None, 1, largest, (source, found), backend=backend, **options)
        assert np.array_equal(found, np.expand_dims(expected, axis))


# The language has no branches in these functions, but Tile IR has.
BRANCH = """
cuda_tile.module @branches {{
  entry @last_nonzero(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>) {{
    %source = make_tensor_view %x, shape = [16, 64], strides = [64, 1] : tensor_view<16x64xi32, strides=[64,1]>
    %sources = make_partition_view %source : partition_view<tile=(16x64), tensor_view<16x64xi32, strides=[64,1]>>
    %first = constant <i32: 0> : tile<i32>
    %tile, %read = load_view_tko weak %sources[%first, %first]
      : partition_view<tile=(16x64), tensor_view<16x64xi32, strides=[64,1]>>, tile<i32> -> tile<16x64xi32>, token
    %found = {operation} %tile dim=1 {keywords} identities=[0 : i32] : tile<16x64xi32> -> tile<{result}xi32>
    (%later: tile<i32>, %earlier: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %counts = cmpi not_equal %later, %zero, signed : tile<i32> -> tile<i1>
      %chosen = if %counts -> (tile<i32>) {{
        yield %later : tile<i32>
      }} else {{
        yield %earlier : tile<i32>
      }}
      yield %chosen : tile<i32>
    }}
    %rows = reshape %found : tile<{result}xi32> -> tile<16x{columns}xi32>
    %target = make_tensor_view %y, shape = [16, {columns}], strides = [{columns}, 1]
      : tensor_view<16x{columns}xi32, strides=[{columns},1]>
    %targets = make_partition_view %target
      : partition_view<tile=(16x{columns}), tensor_view<16x{columns}xi32, strides=[{columns},1]>>
    %written = store_view_tko weak %rows, %targets[%first, %first]
      : tile<16x{columns}xi32>,
        partition_view<tile=(16x{columns}), tensor_view<16x{columns}xi32, strides=[{columns},1]>>, tile<i32> -> token
    return
  }}
}}
"""
BRANCHES = {
    "reduce": BRANCH.format(operation="reduce", keywords="", result="16", columns=1),
    "scan": BRANCH.format(operation="scan", keywords="reverse=false", result="16x64", columns=64),
}


@pytest.mark.parametrize("operation", ["reduce", "scan"])
def test_branches_of_tile_ir(operation, target):
    (source,) = source_tiles("last non-zero", "int32", (16, 64), 1)
    (expected,) = oracle(lambda a, b: a if a[0] != 0 else b, [source], 1, operation == "scan", False)
    compiled = ct.compile(ct.Module.parse(BRANCHES[operation]), target=target)
    for backend in ("simulate", "interpret"):
        found = np.zeros((16, 64 if operation == "scan" else 1), np.int32)
        ct.run(compiled, 1, [source, found], backend=backend)
        assert np.array_equal(found, expected)
