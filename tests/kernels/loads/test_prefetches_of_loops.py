"""Tiles of rings of one or two slots are prefetched to L2 an iteration earlier, if several blocks read them."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from attention_kernels import softmax_step
from compare import run_everywhere

import tilec as ct
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp, TmaPrefetchOp
from tilec.dialect.walk import operations_in, operations_named

Const = ct.Constant[int]
COPY = "cp.async.bulk.prefetch.tensor"
TARGET = "sm_100a"
# With 256 features, a tile of 128 keys has 64 KB: there is memory for rings of two slots.
TILE, FEATURES = 128, 256


def attend(query, K, V, head):
    """The output of queries by the keys of a head; K and V are (heads, keys, FEATURES)."""
    largest = ct.full((TILE, 1), -math.inf, ct.float32)
    total = ct.zeros((TILE, 1), ct.float32)
    output = ct.zeros((TILE, FEATURES), ct.float32)
    for j in range(ct.num_tiles(K, 1, (1, TILE, FEATURES))):
        key = ct.load(K, (head, j, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
        scores = ct.mma(query, ct.transpose(key), ct.zeros((TILE, TILE), ct.float32))
        powers, factor, largest, total = softmax_step(scores, largest, total)
        value = ct.load(V, (head, j, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
        output = ct.mma(ct.astype(powers, V.dtype), value, output * factor)
    return output / total


@ct.kernel
def by_axes(Q, K, V, out):
    i, head = ct.bid(0), ct.bid(1)
    query = ct.load(Q, (head, i, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
    result = ct.astype(attend(query, K, V, head), out.dtype)
    ct.store(out, (head, i, 0), result.reshape((1, TILE, FEATURES)))


@ct.kernel
def by_one_number(Q, K, V, out):
    """The tile and the head follow from one number of the block by division."""
    tiles = ct.num_tiles(Q, 1, (1, TILE, FEATURES))
    i, head = ct.bid(0) % tiles, ct.bid(0) // tiles
    query = ct.load(Q, (head, i, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
    result = ct.astype(attend(query, K, V, head), out.dtype)
    ct.store(out, (head, i, 0), result.reshape((1, TILE, FEATURES)))


@ct.kernel
def of_one_block(Q, K, V, out):
    """Each block has keys of its own."""
    query = ct.load(Q, (ct.bid(0), 0, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
    result = ct.astype(attend(query, K, V, ct.bid(0)), out.dtype)
    ct.store(out, (ct.bid(0), 0, 0), result.reshape((1, TILE, FEATURES)))


@ct.kernel
def prefetched_by_program(Q, K, V, out, ahead: Const):
    """The program prefetches keys and no values."""
    i, head = ct.bid(0), ct.bid(1)
    query = ct.load(Q, (head, i, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
    total = ct.zeros((TILE, FEATURES), ct.float32)
    for j in range(ct.num_tiles(K, 1, (1, TILE, FEATURES))):
        ct.prefetch(K, (head, j + ahead, 0), (1, TILE, FEATURES))
        key = ct.load(K, (head, j, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
        scores = ct.mma(query, ct.transpose(key), ct.zeros((TILE, TILE), ct.float32))
        value = ct.load(V, (head, j, 0), (1, TILE, FEATURES)).reshape((TILE, FEATURES))
        total = ct.mma(ct.astype(ct.exp2(scores), V.dtype), value, total)
    ct.store(out, (head, i, 0), ct.astype(total, out.dtype).reshape((1, TILE, FEATURES)))


def compiled(kernel, target=TARGET, extra="", **hints) -> ct.Compiled:
    arrays = ", ".join(f"{name}: f16[?,?,{FEATURES}]" for name in ("Q", "K", "V", "out"))
    return ct.compile(kernel, target=target, signature=arrays + extra, hints=hints, stop="ptx")


def values_of(body: ir.Block, outer: dict[ir.Value, int], counter: int) -> dict[ir.Value, int]:
    """The scalars of an iteration; those from outside of the loop are constants, or numbers of `outer`."""
    values = {body.arguments[0]: counter}

    def value_of(value: ir.Value) -> int:
        if value not in values and (made := value.owner).name == "arith.constant":
            return ir.IntegerAttr(made.attributes["value"]).value
        return values[value] if value in values else outer.setdefault(value, 1_000_000 * (len(outer) + 1))

    compute = {
        "arith.addi": lambda a, b: a + b,
        "arith.muli": lambda a, b: a * b,
        "arith.cmpi": lambda a, b: int(a < b),
        "arith.select": lambda condition, a, b: a if condition else b,
    }
    for op in operations_in(body):
        if op.name in compute:
            values[op.results[0]] = compute[op.name](*map(value_of, op.operands))
    return {value: value_of(value) for op in operations_in(body) for value in op.operands if str(value.type) == "i32"}


def boxes_of(load: ir.OpView, values: dict[ir.Value, int]) -> set[tuple[int, ...]]:
    """The coordinates of the boxes that a load copies, of tiles that are one row of boxes beside each other."""
    start, box, shape = [values[each] for each in load.coordinates], list(load.map.owner.box), load.buffer.type.shape
    assert list(reversed(shape))[1:] == box[1:]
    return {(start[0] + first, *start[1:]) for first in range(0, shape[-1], box[0])}


def test_each_box_is_prefetched_one_iteration_before_its_load():
    """In the last iteration its own boxes are, which L2 has."""
    module = compiled(by_axes).stage("gpu").value
    loop = operations_named(module, (TmaPrefetchOp.OPERATION_NAME,))[0].operation.parent
    body, bound = loop.regions[0].blocks[0], loop.operands[1]
    loads = operations_named(loop.opview, (TmaLoadOp.OPERATION_NAME,))
    prefetches = operations_named(loop.opview, (TmaPrefetchOp.OPERATION_NAME,))
    outer, iterations = {bound: 5}, range(5)
    values = [values_of(body, outer, number) for number in iterations]
    for number, following in itertools.pairwise([*iterations, 4]):
        prefetched = {tuple(values[number][each] for each in op.coordinates) for op in prefetches}
        assert prefetched == set().union(*(boxes_of(load, values[following]) for load in loads))


@pytest.mark.parametrize("kernel", [by_axes, by_one_number])
def test_tiles_of_several_blocks_are_prefetched(kernel):
    # Four boxes of 64 features of a tile of keys and of one of values.
    assert compiled(kernel).ptx.count(COPY) == 8


def test_role_that_loads_prefetches():
    roles = compiled(by_axes).stage("gpu").text.split(" warps")
    (role,) = [part for part in roles if "tile_gpu.tma_prefetch" in part]
    assert "tile_gpu.tma_load" in role and "tile_gpu.store" not in role


def test_cost_names_the_rings():
    assert "TMA loads 32 KB prefetched to L2 into a ring of" in compiled(by_axes).explain("cost")
    assert "prefetched" not in compiled(of_one_block).explain("cost")


def test_tiles_of_one_block_are_not_prefetched():
    assert COPY not in compiled(of_one_block).ptx


def test_prefetches_of_the_program_are_the_only_ones_of_their_array():
    module = compiled(prefetched_by_program, extra=", ahead=3").stage("gpu").value
    loop = operations_named(module, (TmaPrefetchOp.OPERATION_NAME,))[0].operation.parent.opview
    prefetches = Counter(op.map for op in operations_named(loop, (TmaPrefetchOp.OPERATION_NAME,)))
    loads = Counter(op.map for op in operations_named(loop, (TmaLoadOp.OPERATION_NAME,)))
    # Four boxes of each tile.
    assert len(loads) == 2 and prefetches == {map: 4 * count for map, count in loads.items()}


def test_no_prefetches_without_a_pipeline():
    assert COPY not in compiled(by_axes, pipeline=False).ptx


@pytest.mark.parametrize("kernel", [by_axes, by_one_number])
def test_results(kernel, random):
    """Scores are 0 or -1024, so that a weight is 1 or 0; the values are integers."""
    heads, queries, keys = 2, TILE, 3 * TILE
    q, k = np.zeros((heads, queries, FEATURES), np.float16), np.zeros((heads, keys, FEATURES), np.float16)
    k[:] = -1024 * random.integers(0, 2, k.shape)
    q[:, np.arange(queries), np.arange(queries)] = 1
    v = random.integers(-8, 9, k.shape).astype(np.float16)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)
    weights = np.exp2(scores - scores.max(axis=2, keepdims=True))
    sums = (weights @ v.astype(np.float64)).astype(np.float32)
    expected = (sums / weights.sum(axis=2, keepdims=True).astype(np.float32)).astype(np.float16)
    grid = (1, heads) if kernel is by_axes else (heads,)
    for (found,) in run_everywhere(kernel, grid, [q, k, v, np.zeros_like(q)], [3], target=TARGET, hints={}):
        np.testing.assert_array_equal(found, expected)
