"""tile_gpu.assert stops at any false element of a tile, in every layout, and at a false scalar."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import kernel, load_tile, run, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.runtime.ptxsim import _native

LAYOUTS = [
    blocked((1,), 4),
    blocked((16,), 4),
    blocked((16, 32), 4, 1, 2),
    parse_layout("register=(3)(64) lane=(1)(4)(8)(16)(32) warp=(0)(0) shape=128"),
]


def assertion(layout: LinearLayout, target: str) -> str:
    body = f"""%zero = arith.constant dense<0> : {tile("i32", layout)}
%holds = arith.cmpi ne, %x, %zero : {tile("i32", layout)}
"tile_gpu.assert"(%holds) {{message = "no zeros"}} : ({tile("i1", layout)}) -> ()"""
    loaded = load_tile("%x", tile("i32", layout), "%a", layout.shape)
    return kernel("%a: i64", f"{loaded}\n{body}", target=target)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "x".join(map(str, layout.shape)))
def test_any_false_element_of_a_tile_fails(layout: LinearLayout, target: str) -> None:
    text = assertion(layout, target)
    x = np.ones(layout.shape, np.int32)
    run(text, [x])
    for index in {0, layout.size // 2, layout.size - 1}:
        x[:] = 1
        x.flat[index] = 0
        with pytest.raises(_native.Trap, match="^assertion failed: no zeros$"):
            run(text, [x])


def test_false_scalar_fails_in_the_first_thread() -> None:
    body = """%zero = arith.constant 0 : i32
%holds = arith.cmpi sgt, %n, %zero : i32
"tile_gpu.assert"(%holds) {message = "n is not positive"} : (i1) -> ()"""
    text = kernel("%n: i32", body)
    run(text, [1])
    with pytest.raises(_native.Trap, match="n is not positive") as caught:
        run(text, [0], seed=7)
    assert caught.value.thread == (0, 0, 0)


@pytest.mark.parametrize("each_warp", [False, True])
def test_no_warp_passes_an_assertion_of_each_warp(each_warp: bool) -> None:
    """The store after the assertion is outside of memory, and other warps than the first can execute it first."""
    flag = ", each_warp" if each_warp else ""
    layout = blocked((512,), 4)
    values, addresses = tile("i32", layout), tile("i64", layout)
    body = f"""%zero = arith.constant 0 : i32
%holds = arith.cmpi sgt, %n, %zero : i32
"tile_gpu.assert"(%holds) {{message = "n is not positive"{flag}}} : (i1) -> ()
%y = arith.constant dense<0> : {values}
%at = arith.constant dense<8> : {addresses}
"tile_gpu.store_global"(%at, %y) {{vector = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>}} \
  : ({addresses}, {values}) -> ()"""
    text = kernel("%n: i32", body)
    messages = set()
    for seed in range(8):
        with pytest.raises(_native.Trap) as caught:
            run(text, [0], seed=seed)
        messages.add("n is not positive" in str(caught.value))
    assert messages == ({True} if each_warp else {True, False})
