"""Comparisons of numbers of elements with bounds, as bits of words, choose the elements that numpy chooses."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import elementwise, ptx_of, run_ptx, tile

from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
BOUNDS = [
    *(INT_MIN, INT_MIN + 1, -129, -2, -1, 0, 1, 2, 7, 31, 32, 33, 63, 64, 100),
    *(126, 127, 128, 129, INT_MAX - 1, INT_MAX),
]
COMPARE = {"slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal}
ROWS, COLUMNS = 128, 128
# Threads with a row each, those of wgmma with pairs of columns of four rows, and threads with 32 columns of four rows.
LAYOUTS = {
    name: parse_layout(f"{text} shape={ROWS}x{COLUMNS}")
    for name, text in {
        "rows": "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0)",
        "pairs": "register=(0,1)(0,8)(0,16)(0,32)(0,64)(8,0)(64,0) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0)",
        "quarters": "register=(0,1)(0,2)(0,4)(0,8)(0,16)(1,0)(2,0) lane=(0,32)(0,64)(4,0)(8,0)(16,0) warp=(32,0)(64,0)",
    }.items()
}


def masked(layout: LinearLayout, first: str, second: str, function: str) -> str:
    """%y = %x0 where column `first` bound (and, or, xor) column `second` other bound, else -1."""
    numbers = layout.project(0)
    line = numbers.reshape((COLUMNS,))
    thin, wide, mask = layout.project(1), tile("i32", layout), tile("i1", layout)
    body = f"""%line = "tile_gpu.iota"() : () -> {tile("i32", line)}
        %row = "tile_gpu.reshape"(%line) : ({tile("i32", line)}) -> {tile("i32", numbers)}
        %column = "tile_gpu.broadcast"(%row) : ({tile("i32", numbers)}) -> {wide}
        %bound = "tile_gpu.broadcast"(%x1) : ({tile("i32", thin)}) -> {wide}
        %other = "tile_gpu.broadcast"(%x2) : ({tile("i32", thin)}) -> {wide}
        %one = arith.cmpi {first}, %column, %bound : {wide}
        %two = arith.cmpi {second}, %other, %column : {wide}
        %mask = arith.{function}i %one, %two : {mask}
        %no = arith.constant dense<-1> : {wide}
        %y = arith.select %mask, %x0, %no : {mask}, {wide}"""
    inputs = [("i32", layout), ("i32", thin), ("i32", thin)]
    return ptx_of(elementwise(body, inputs, ("i32", layout)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("first", "second", "function"), [
    ("slt", "sge", "and"), ("sle", "slt", "and"), ("sgt", "sle", "or"), ("sge", "sgt", "xor"),
])  # fmt: skip
def test_masks_of_extreme_bounds(layout: str, first: str, second: str, function: str) -> None:
    ptx = masked(LAYOUTS[layout], first, second, function)
    assert ", -1, " in ptx
    assert not any(f"setp.{each[1:]}.s32" in line for each in COMPARE for line in ptx.splitlines() if "cmpi" in line)
    x, column = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS), np.arange(COLUMNS)
    combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[function]
    for turn in range(4):
        bounds = np.resize(np.roll(BOUNDS, -turn), (ROWS, 1)).astype(np.int32)
        others = np.resize(np.roll(BOUNDS, 5 * turn + 3), (ROWS, 1)).astype(np.int32)
        result = np.empty_like(x)
        run_ptx(ptx, [x, bounds, others, result])
        mask = combine(COMPARE[first](column, bounds), COMPARE[second](others, column))
        assert np.array_equal(result, np.where(mask, x, -1))


def test_parts_that_a_mask_has_many_times() -> None:
    """Each mask has the one before twice, so that the last has the comparison 2**40 times."""
    layout = LAYOUTS["rows"]
    line, wide, mask = layout.project(0).reshape((COLUMNS,)), tile("i32", layout), tile("i1", layout)
    numbers = layout.project(0)
    levels = "\n".join(
        f"""%or{i} = arith.ori %m{i}, %one : {mask}
        %m{i + 1} = arith.andi %or{i}, %m{i} : {mask}"""
        for i in range(40)
    )
    body = f"""%line = "tile_gpu.iota"() : () -> {tile("i32", line)}
        %row = "tile_gpu.reshape"(%line) : ({tile("i32", line)}) -> {tile("i32", numbers)}
        %column = "tile_gpu.broadcast"(%row) : ({tile("i32", numbers)}) -> {wide}
        %one = arith.cmpi slt, %column, %x0 : {wide}
        %m0 = arith.cmpi slt, %column, %x0 : {wide}
        {levels}
        %no = arith.constant dense<-1> : {wide}
        %y = arith.select %m40, %x0, %no : {mask}, {wide}"""
    x = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS) % 200
    result = np.empty_like(x)
    run_ptx(ptx_of(elementwise(body, [("i32", layout)], ("i32", layout))), [x, result])
    assert np.array_equal(result, np.where(np.arange(COLUMNS) < x, x, -1))
