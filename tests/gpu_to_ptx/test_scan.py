"""Scans in both directions, of one and of two operands."""

from __future__ import annotations

import numpy as np
import pytest
from reductions import reduction_text, yields
from simulated import elementwise, kernel, load_tile, run, store_tile, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.wgmma import wgmma_accumulator

LAYOUTS = {
    "rows": blocked((64, 32), 4, 1, 4),
    "wgmma": wgmma_accumulator((64, 16), 4),
    "small": blocked((4, 8), 4),
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
    text = elementwise(
        scan("%y", "%x0", [tile_type], [element], body, dimension, reverse), [(element, layout)], (element, layout)
    )
    x = np.random.default_rng(1).integers(-20, 20, layout.shape).astype(dtype)
    y = np.zeros_like(x)
    run(text, [x, y])
    ordered = np.flip(x, dimension) if reverse else x
    expected = np.cumsum(ordered, axis=dimension, dtype=dtype)
    assert np.array_equal(y, np.flip(expected, dimension) if reverse else expected)


@pytest.mark.parametrize("size", [1, 2, 32, 1024])
def test_vector_longer_than_a_warp(size):
    layout = blocked((size,), 4, 0, 2)
    tile_type = tile("f32", layout)
    body = "%s = arith.addf %e0, %acc0 : f32\n" + yields("%s", ["f32"])
    text = elementwise(scan("%y", "%x0", [tile_type], ["f32"], body, 0, False), [("f32", layout)], ("f32", layout))
    x = np.random.default_rng(2).integers(-20, 20, size).astype(np.float32)
    y = np.zeros_like(x)
    run(text, [x, y])
    assert np.array_equal(y, np.cumsum(x))


def test_scan_of_two_operands_that_does_not_commute():
    """The composition of functions x -> a x + b: (a, b) after (c, d) is (a c, a d + b)."""
    layout = blocked((64,), 4)
    tile_type = tile("i32", layout)
    body = f"""%a = arith.muli %e0, %acc0 : i32
        %m = arith.muli %e0, %acc1 : i32
        %b = arith.addi %m, %e1 : i32
        {yields("%a, %b", ["i32", "i32"])}"""
    text = kernel(
        "%pa: i64, %pb: i64, %pc: i64",
        "\n".join(
            [
                load_tile("%x", tile_type, "%pa", (64,)),
                load_tile("%z", tile_type, "%pb", (64,)),
                scan("%r:2", "%x, %z", [tile_type, tile_type], ["i32", "i32"], body, 0, False),
                store_tile("%r#1", tile_type, "%pc", (64,)),
            ]
        ),
    )
    a = np.where(np.arange(64) % 3 == 0, -1, 1).astype(np.int32)
    b = np.arange(64, dtype=np.int32)
    y = np.zeros(64, np.int32)
    run(text, [a, b, y])
    value, expected = 0, []
    for i in range(64):
        value = int(a[i]) * value + int(b[i])
        expected.append(value)
    assert y.tolist() == expected
