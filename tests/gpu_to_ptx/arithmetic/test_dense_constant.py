"""Constant tiles of different elements: immediates where all threads hold the same elements, else vector loads."""

from __future__ import annotations

import re

import numpy as np
import pytest
from simulated import elementwise, ptx_of, run, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout

# Every thread holds both elements.
COPIED = parse_layout("register=(1) lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=2")
DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}


def text_of(values: np.ndarray, element: str, layout: LinearLayout) -> str:
    literal = str(values.tolist()).lower()
    return elementwise(f"%y = arith.constant dense<{literal}> : {tile(element, layout)}", [], (element, layout))


@pytest.mark.parametrize(("element", "dtype"), DTYPES.items())
@pytest.mark.parametrize(
    "layout",
    [
        COPIED,
        blocked((8,), 4),
        blocked((256,), 4, 0, 4),
        blocked((16, 32), 4, 1, 8),
        blocked((16, 32), 4, 0, 2),
        parse_layout("register=(3)(64) lane=(1)(4)(8)(16)(32) warp=(0)(0) shape=128"),
        parse_layout("register=(1)(0)(2) lane=(4)(8)(16)(32)(0) warp=(64)(0) shape=128"),
    ],
    ids=str,
)
def test_elements_of_a_constant(element: str, dtype: type, layout: LinearLayout) -> None:
    values = np.random.default_rng(1).integers(-100, 100, layout.shape).astype(dtype)
    found = np.zeros(layout.shape, dtype)
    run(text_of(values, element, layout), [found])
    assert np.array_equal(found, values)


def test_predicates_are_bytes() -> None:
    layout, found = blocked((64,), 4), np.zeros(64, bool)
    values = np.random.default_rng(2).integers(0, 2, 64).astype(bool)
    run(text_of(values, "i1", layout), [found])
    assert np.array_equal(found, values)


def test_elements_that_all_threads_hold_are_immediates() -> None:
    ptx = ptx_of(text_of(np.array([1.5, -0.0], np.float32), "f32", COPIED))
    assert "tilec_constant" not in ptx and "0f3FC00000" in ptx and "0f80000000" in ptx


def test_successive_elements_are_loaded_together() -> None:
    ptx = ptx_of(text_of(np.arange(1024, dtype=np.float32), "f32", blocked((1024,), 4, 0, 4)))
    assert re.findall(r"ld\.global\.nc\S*", ptx) == ["ld.global.nc.v4.f32"] * 2
    assert ".global .align 16 .b8 tilec_constant_0[4096]" in ptx


def test_equal_constants_share_an_array() -> None:
    layout = blocked((256,), 4)
    dense = f"arith.constant dense<{list(range(256))}> : {tile('i32', layout)}"
    body = f"%a = {dense}\n%b = {dense}\n%y = arith.muli %a, %b : {tile('i32', layout)}"
    text, found = elementwise(body, [], ("i32", layout)), np.zeros(256, np.int32)
    run(text, [found])
    assert np.array_equal(found, np.arange(256) ** 2)
    assert ptx_of(text).count(".b8 tilec_constant") == 1
