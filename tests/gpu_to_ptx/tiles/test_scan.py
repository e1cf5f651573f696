"""Scans in both directions, of one and of two operands."""

from __future__ import annotations

import numpy as np
import pytest
from reductions import reduction_text, yields
from simulated import elementwise, kernel, load_tile, ptx_of, run, store_tile, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.wgmma import wgmma_accumulator

LAYOUTS = {
    "rows": blocked((64, 32), 4, 1, 4),
    "wgmma": wgmma_accumulator((64, 16), 4),
    "small": blocked((4, 8), 4),
    "one row": blocked((1, 512), 4, 1, 4),
    "two rows": blocked((2, 1024), 8, 1, 4),
    "eight warps": blocked((256, 1), 8),
}


def scan(
    results: str, operands: str, types: list[str], elements: list[str], body: str, dimension: int, reverse: bool
) -> str:
    return reduction_text(
        "scan", results, operands, types, types, elements, body, dimension, f", reverse = {str(reverse).lower()}"
    )


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("i16", np.int16)])
def test_sums(name, dimension, reverse, element, dtype):
    layout = LAYOUTS[name]
    tile_type = tile(element, layout)
    body = f"%s = arith.add{element[0]} %e0, %acc0 : {element}\n" + yields("%s", [element])
    scanned = scan("%y", "%x0", [tile_type], [element], body, dimension, reverse)
    text = elementwise(scanned, [(element, layout)], (element, layout), layout.warps)
    x = np.random.default_rng(1).integers(-20, 20, layout.shape).astype(dtype)
    y = np.zeros_like(x)
    run(text, [x, y], warps=layout.warps)
    ordered = np.flip(x, dimension) if reverse else x
    expected = np.cumsum(ordered, axis=dimension, dtype=dtype)
    assert np.array_equal(y, np.flip(expected, dimension) if reverse else expected)


@pytest.mark.parametrize("size", [1, 2, 32, 64, 128, 256, 1024, 4096])
def test_vector_longer_than_a_warp(size):
    layout = blocked((size,), 4, 0, 2)
    tile_type = tile("f32", layout)
    body = "%s = arith.addf %e0, %acc0 : f32\n" + yields("%s", ["f32"])
    text = elementwise(scan("%y", "%x0", [tile_type], ["f32"], body, 0, False), [("f32", layout)], ("f32", layout))
    x = np.random.default_rng(2).integers(-20, 20, size).astype(np.float32)
    y = np.zeros_like(x)
    run(text, [x, y], warps=layout.warps)
    assert np.array_equal(y, np.cumsum(x))


@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_of_two_operands_that_does_not_commute(size, reverse):
    """The composition of functions x -> a x + b: (a, b) after (c, d) is (a c, a d + b)."""
    layout = blocked((size,), 4)
    tile_type = tile("i32", layout)
    body = f"""%a = arith.muli %e0, %acc0 : i32
        %m = arith.muli %e0, %acc1 : i32
        %b = arith.addi %m, %e1 : i32
        {yields("%a, %b", ["i32", "i32"])}"""
    text = kernel(
        "%pa: i64, %pb: i64, %pc: i64",
        "\n".join(
            [
                load_tile("%x", tile_type, "%pa", (size,)),
                load_tile("%z", tile_type, "%pb", (size,)),
                scan("%r:2", "%x, %z", [tile_type, tile_type], ["i32", "i32"], body, 0, reverse),
                store_tile("%r#1", tile_type, "%pc", (size,)),
            ]
        ),
    )
    a = np.where(np.arange(size) % 3 == 0, -1, 1).astype(np.int32)
    b = np.arange(size, dtype=np.int32)
    y = np.zeros(size, np.int32)
    run(text, [a, b, y])
    value, expected = 0, []
    for i in range(size)[:: -1 if reverse else 1]:
        value = int(a[i]) * value + int(b[i])
        expected.append(value)
    assert y.tolist() == expected[:: -1 if reverse else 1]


def test_threads_scan_adjacent_elements():
    """16 elements of a thread: 15 sums for their total and 16 for their scan, 10 in lanes and a few among warps."""
    layout = blocked((2048,), 4, 0, 4)
    body = "%s = arith.addf %e0, %acc0 : f32\n" + yields("%s", ["f32"])
    own = tile("f32", layout)
    text = elementwise(scan("%y", "%x0", [own], ["f32"], body, 0, False), [("f32", layout)], ("f32", layout))
    ptx = ptx_of(text)
    assert ptx.count("shfl.") == 6 and ptx.count("add.rn.f32") <= 48
