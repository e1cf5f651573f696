"""Elementwise operations, reductions and accesses require the same layout of all their tiles."""

from __future__ import annotations

import pytest
from gpu_text import kernel

from tilec.dialect.mlir import context, ir

SEGMENTS = ", ".join(["1", "1", *["0"] * 30])
FIRST = 'tensor<64xELEMENT, "register=(1) lane=(2)(4)(8)(16)(32) warp=(0)(0) shape=64">'
SECOND = 'tensor<64xELEMENT, "register=(32) lane=(1)(2)(4)(8)(16) warp=(0)(0) shape=64">'
DOUBLED = 'tensor<128xELEMENT, "register=(1)(64) lane=(2)(4)(8)(16)(32) warp=(0)(0) shape=128">'


def first(element: str) -> str:
    return FIRST.replace("ELEMENT", element)


def second(element: str) -> str:
    return SECOND.replace("ELEMENT", element)


def body(name: str) -> str:
    yielded = '"tile_gpu.yield"(%e0, %e1) {operandSegmentSizes = array<i32: ' + SEGMENTS + ">} : (i32, i32) -> ()"
    arguments = "^bb0(%e0: i32, %a0: i32, %e1: i32, %a1: i32):\n"
    return (
        f'%r:2 = "tile_gpu.{name}"(%x, %y) ({{\n{arguments}{yielded}\n}}) {{dimension = 0 : i32, '
        f"identities = [0 : i32, 0 : i32], reverse = false, operandSegmentSizes = array<i32: {SEGMENTS}>, "
        f"resultSegmentSizes = array<i32: {SEGMENTS}>}}"
    )


# Operations with several tiles: %x, %pointers and %m have the first layout, %y the layout that a case inserts as Y.
OPERATIONS = {
    "cat": f'%r = "tile_gpu.cat"(%x, %y) {{dimension = 0 : i32}} : ({first("i32")}, Y) -> '
    + DOUBLED.replace("ELEMENT", "i32"),
    "math": f'%r = "tile_gpu.math"(%x, %y) {{function = "add.rz", operandSegmentSizes = array<i32: {SEGMENTS}>}} '
    f": ({first('i32')}, Y) -> {first('i32')}",
    "math_result": '%r = "tile_gpu.math"(%y) {function = "exp2.approx", operandSegmentSizes = array<i32: 1, '
    + ", ".join(["0"] * 31)
    + f">}} : (Y) -> {first('i32')}",
    "reduce": f"{body('reduce').replace('reverse = false, ', '')} : ({first('i32')}, Y) -> (i32, i32)",
    "scan": f"{body('scan')} : ({first('i32')}, Y) -> ({first('i32')}, {first('i32')})",
    "load_global": '%r = "tile_gpu.load_global"(%pointers, %m, %y) {vector = 1 : i32, '
    f"operandSegmentSizes = array<i32: 1, 1, 1>}} : ({first('i64')}, {first('i1')}, Y) -> {first('i32')}",
    "store_global": '"tile_gpu.store_global"(%pointers, %y, %m) {vector = 1 : i32, '
    f"operandSegmentSizes = array<i32: 1, 1, 1>}} : ({first('i64')}, Y, {first('i1')}) -> ()",
    "atomic_global": '%r = "tile_gpu.atomic_global"(%pointers, %y, %m) {mode = "add", vector = 1 : i32, '
    'order = "relaxed", scope = "device", operandSegmentSizes = array<i32: 1, 1, 1>} '
    f": ({first('i64')}, Y, {first('i1')}) -> Y",
    "upstream cast": "%r = arith.extsi %y : Y to " + first("i64"),
}


def text(name: str, layout: str) -> str:
    definitions = [
        f'%x = "tile_gpu.iota"() : () -> {first("i32")}',
        f'%y = "tile_gpu.iota"() : () -> {layout}',
        f'%pointers = "tile_gpu.iota"() : () -> {first("i64")}',
        f'%m = "tile_gpu.iota"() : () -> {first("i1")}',
    ]
    return "\n".join([*definitions, OPERATIONS[name].replace("Y", layout), ""])


@pytest.mark.parametrize("name", OPERATIONS)
def test_equal_layouts_are_accepted(name):
    kernel(text(name, first("i32")))


@pytest.mark.parametrize("name", OPERATIONS)
def test_different_layouts_are_rejected(name):
    with context(), pytest.raises(ir.MLIRError) as caught:
        kernel(text(name, second("i32")))
    assert "the tiles must have one layout, but got" in str(caught.value)
    assert "convert one with tile_gpu.convert_layout" in str(caught.value)
