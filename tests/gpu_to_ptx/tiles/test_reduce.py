"""Reductions over registers, lanes and warps, of one or more operands, in several layouts."""

from __future__ import annotations

import numpy as np
import pytest
from reductions import reduce, yields
from simulated import elementwise, kernel, load_tile, ptx_of, run, store_tile, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator

LAYOUTS = {
    "rows": blocked((64, 32), 4, 1, 4),
    "columns": blocked((64, 32), 4, 0, 4),
    "small": blocked((4, 8), 4),
    "wgmma": wgmma_accumulator((64, 32), 4),
    "tensor_memory": tensor_memory_32x32b((128, 16), 4),
    "swizzled": parse_layout("register=(0,3)(1,2)(0,16) lane=(2,1)(2,0)(0,4)(4,4)(0,8) warp=(0,17)(8,16) shape=16x32"),
}
KINDS = {"sum": "arith.addf", "maximum": "arith.maximumf"}
INTEGER = {"sum": "arith.addi", "maximum": "arith.maxsi"}


def reduction_of_one(element: str, layout: LinearLayout, dimension: int, operation: str) -> str:
    result = layout.drop(dimension)
    body = f"%s = {operation} %e0, %acc0 : {element}\n" + yields("%s", [element])
    reduction = reduce("%y", "%x0", [tile(element, layout)], [tile(element, result)], [element], body, dimension)
    return elementwise(reduction, [(element, layout)], (element, result))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("element", "dtype"), [("f32", np.float32), ("f16", np.float16), ("i32", np.int32), ("f64", np.float64)]
)
def test_one_operand(name, dimension, kind, element, dtype):
    layout = LAYOUTS[name]
    x = np.random.default_rng(1).integers(-8, 8, layout.shape).astype(dtype)
    y = np.zeros(layout.drop(dimension).shape, dtype)
    run(reduction_of_one(element, layout, dimension, (INTEGER if element == "i32" else KINDS)[kind]), [x, y])
    assert np.array_equal(y, x.sum(axis=dimension) if kind == "sum" else x.max(axis=dimension))


@pytest.mark.parametrize("size", [32, 64, 512])
def test_reduction_of_a_vector_to_a_scalar(size):
    """Every thread receives the scalar, which is added to a tile."""
    layout = blocked((size,), 4, 0, 2)
    vector = tile("f32", layout)
    body = "%s = arith.addf %e0, %acc0 : f32\n" + yields("%s", ["f32"])
    text = f"""{reduce("%sum", "%x0", [vector], ["f32"], ["f32"], body, 0)}
        %all = "tile_gpu.splat"(%sum) : (f32) -> {vector}
        %y = arith.addf %all, %x0 : {vector}"""
    x = np.random.default_rng(2).integers(-8, 8, size).astype(np.float32)
    y = np.zeros_like(x)
    run(elementwise(text, [("f32", layout)], ("f32", layout)), [x, y])
    assert np.array_equal(y, x + x.sum())


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
def test_two_operands(name, dimension):
    """The largest element and its index, the first one if it occurs more than once."""
    layout = LAYOUTS[name]
    result = layout.drop(dimension)
    body = f"""%more = arith.cmpf ogt, %e0, %acc0 : f32
        %same = arith.cmpf oeq, %e0, %acc0 : f32
        %before = arith.cmpi slt, %e1, %acc1 : i32
        %tie = arith.andi %same, %before : i1
        %take = arith.ori %more, %tie : i1
        %value = arith.select %take, %e0, %acc0 : f32
        %index = arith.select %take, %e1, %acc1 : i32
        {yields("%value, %index", ["f32", "i32"])}"""
    types, result_types = [tile("f32", layout), tile("i32", layout)], [tile("f32", result), tile("i32", result)]
    text = kernel(
        "%a: i64, %b: i64, %v: i64, %i: i64",
        "\n".join(
            [
                load_tile("%x", types[0], "%a", layout.shape),
                load_tile("%n", types[1], "%b", layout.shape),
                reduce("%top:2", "%x, %n", types, result_types, ["f32", "i32"], body, dimension),
                store_tile("%top#0", result_types[0], "%v", result.shape),
                store_tile("%top#1", result_types[1], "%i", result.shape),
            ]
        ),
    )
    x = np.random.default_rng(3).integers(0, 50, layout.shape).astype(np.float32)
    indices = np.broadcast_to(
        np.arange(layout.shape[dimension]).reshape((-1, 1) if dimension == 0 else (1, -1)), layout.shape
    )
    value, index = np.zeros(result.shape, np.float32), np.zeros(result.shape, np.int32)
    run(text, [x, np.ascontiguousarray(indices, np.int32), value, index])
    assert np.array_equal(value, x.max(axis=dimension)) and np.array_equal(index, x.argmax(axis=dimension))


def test_barriers_only_if_a_row_spans_warps():
    rows = ptx_of(reduction_of_one("f32", LAYOUTS["wgmma"], 1, "arith.addf"))
    columns = ptx_of(reduction_of_one("f32", LAYOUTS["wgmma"], 0, "arith.addf"))
    assert "bar.sync" not in rows and rows.count("shfl.sync.bfly") == 2 * 2
    # There are fewer columns (32) than threads: one thread reduces a column, then all threads read the result.
    assert columns.count("bar.sync") == 2


def test_reduction_to_a_scalar_has_one_barrier():
    """After one barrier every thread reads all parts of the row."""
    body = "%s = arith.addf %e0, %acc0 : f32\n" + yields("%s", ["f32"])
    layout = blocked((512,), 4, 0, 2)
    reduction = reduce("%sum", "%x0", [tile("f32", layout)], ["f32"], ["f32"], body, 0)
    text = f'{reduction}\n%y = "tile_gpu.splat"(%sum) : (f32) -> {tile("f32", layout)}'
    assert ptx_of(elementwise(text, [("f32", layout)], ("f32", layout))).count("bar.sync") == 1


LAST_NONZERO = """%zero = arith.constant 0 : i32
        %some = arith.cmpi ne, %e0, %zero : i32
        %s = arith.select %some, %e0, %acc0 : i32
        """


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
def test_order_is_kept_if_the_body_is_not_commutative(name, dimension):
    """The last element that is not zero."""
    layout = LAYOUTS[name]
    own, result = tile("i32", layout), tile("i32", layout.drop(dimension))
    body = LAST_NONZERO + yields("%s", ["i32"])
    text = elementwise(
        reduce("%y", "%x0", [own], [result], ["i32"], body, dimension),
        [("i32", layout)],
        ("i32", layout.drop(dimension)),
    )
    random = np.random.default_rng(4)
    x = np.where(random.random(layout.shape) < 0.1, random.integers(1, 99, layout.shape), 0).astype(np.int32)
    y = np.full(layout.drop(dimension).shape, -1, np.int32)
    run(text, [x, y])
    assert y.tolist() == [next((v for v in row[::-1] if v), 0) for row in np.moveaxis(x, dimension, 1).tolist()]


def test_one_exchange_makes_neighbours_of_lanes_and_registers():
    """Lanes hold the low bits of the position and registers the high ones: each tile is converted once."""
    layout = blocked((4, 256), 4)
    own, result = tile("i32", layout), tile("i32", layout.drop(1))
    reduction = reduce("%y", "%x0", [own], [result], ["i32"], LAST_NONZERO + yields("%s", ["i32"]), 1)
    ptx = ptx_of(elementwise(reduction, [("i32", layout)], ("i32", layout.drop(1))))
    assert ptx.count("shfl.sync.bfly") == 5 and ptx.count("bar.sync") == 1
