"""The stride of a dimension of extent 1 has no effect in the compiler, at launch and in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilec
from tilec.errors import TilecError

COLUMN = "tensor_view<60x1xf32, strides=[1,1]>"
COLUMN_VIEW = f"partition_view<tile=(1x64), {COLUMN}, dim_map=[1, 0]>"
# Both strides are 1; the tile covers the dimension of extent 60. Reductions use TMA wherever it can.
TWO_STRIDES_OF_ONE = f"""
    %x = constant <f32: 5.0> : tile<1x64xf32>
    %t = make_tensor_view %p, shape = [60, 1], strides = [1, 1] : {COLUMN}
    %v = make_partition_view %t : {COLUMN_VIEW}
    %k = atomic_red_view_tko relaxed device %v[%z, %z], addf, %x
      : tile<1x64xf32>, {COLUMN_VIEW}, tile<i32>, tile<i32> -> token"""

ROWS = "tensor_view<?x60xf32, strides=[?,1]>"
ROWS_VIEW = f"partition_view<tile=(1x64), {ROWS}>"
# cuTile 1.7 assumes div_by of the stride of an extent of 1 as of all others.
ASSUMED_STRIDE = f"""
    %x = constant <f32: 5.0> : tile<1x64xf32>
    %one = constant <i32: 1> : tile<i32>
    %n1 = assume bounded<0, ?>, %n : tile<i32>
    %s = assume bounded<0, ?>, %one : tile<i32>
    %s1 = assume div_by<4>, %s : tile<i32>
    %t = make_tensor_view %p, shape = [%n1, 60], strides = [%s1, 1] : tile<i32> -> {ROWS}
    %v = make_partition_view %t : {ROWS_VIEW}
    %k = atomic_red_view_tko relaxed device %v[%z, %z], addf, %x
      : tile<1x64xf32>, {ROWS_VIEW}, tile<i32>, tile<i32> -> token"""

BODIES = {"two strides of 1": TWO_STRIDES_OF_ONE, "assumed stride": ASSUMED_STRIDE}


def module(body: str) -> tilec.Module:
    return tilec.Module.parse(f"""cuda_tile.module @m {{ entry @k(%o: tile<ptr<f32>>, %n: tile<i32>) {{
    %p = assume div_by<16>, %o : tile<ptr<f32>>
    %z = constant <i32: 0> : tile<i32>
    {body}
    return }} }}""")


def aligned(count: int) -> np.ndarray:
    raw = np.zeros(4 * count + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + 4 * count].view(np.float32)


@pytest.mark.parametrize("body", BODIES)
def test_tile_is_added_by_tma(body, target):
    compiled = tilec.compile(module(BODIES[body]), target=target, stop="ptx")
    assert "cp.reduce.async.bulk.tensor" in compiled.ptx
    out = aligned(60)
    tilec.run(compiled, (1,), [out, 1], backend="simulate")
    assert np.all(out == 5)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("body", BODIES)
def test_interpreter_adds_the_tile(body, check):
    out = aligned(60)
    tilec.run(module(BODIES[body]), (1,), [out, 1], backend="interpret", check=check)
    assert np.all(out == 5)


def test_false_assumption_is_an_error_if_the_extent_is_two(target):
    out = aligned(120)
    with pytest.raises(TilecError, match="a multiple of 16 bytes"):
        tilec.run(tilec.compile(module(ASSUMED_STRIDE), target=target), (1,), [out, 2], backend="simulate")
    with pytest.raises(TilecError, match="the assumption div_by<4> does not hold: the value is 1"):
        tilec.run(module(ASSUMED_STRIDE), (1,), [out, 2], backend="interpret", check=True)


def test_assumption_with_another_use_is_checked():
    body = f"{ASSUMED_STRIDE}\n%k2 = store_ptr_tko weak %p, %c : tile<ptr<f32>>, tile<f32> -> token"
    used = body.replace("%t = make", "%c = itof %s1 signed : tile<i32> -> tile<f32>\n%t = make")
    with pytest.raises(TilecError, match="the assumption div_by<4> does not hold: the value is 1"):
        tilec.run(module(used), (1,), [aligned(64), 1], backend="interpret", check=True)


@pytest.mark.parametrize("extents", ["?x64", "64x?"])
def test_two_strides_of_one_and_a_dynamic_extent_do_not_use_tma(extents, target):
    """Rows of a tensor map are contiguous, and here the stride of the other dimension is not a multiple of 16 bytes."""
    tensor = f"tensor_view<{extents}xf32, strides=[1,1]>"
    view = f"partition_view<tile=(16x64), {tensor}>"
    shape = extents.replace("?", "%n1").replace("x", ", ")
    body = f"""
    %x = constant <f32: 5.0> : tile<16x64xf32>
    %n1 = assume bounded<0, ?>, %n : tile<i32>
    %t = make_tensor_view %p, shape = [{shape}], strides = [1, 1] : tile<i32> -> {tensor}
    %v = make_partition_view %t : {view}
    %k = store_view_tko weak %x, %v[%z, %z] : tile<16x64xf32>, {view}, tile<i32> -> token"""
    compiled = tilec.compile(module(body), target=target, stop="ptx")
    assert "cp.async.bulk.tensor" not in compiled.ptx


LAST_OF_ONE = "tensor_view<64x30x1xf32, strides=[30,1,1]>"
LAST_OF_ONE_VIEW = f"partition_view<tile=(64x32x2), {LAST_OF_ONE}>"
# The last dimension has one element and also a stride of 1.
VECTORS_BESIDE_ONE_ELEMENT = f"""
    %t = make_tensor_view %p, shape = [64, 30, 1], strides = [30, 1, 1] : {LAST_OF_ONE}
    %v = make_partition_view %t : {LAST_OF_ONE_VIEW}
    %x, %k0 = load_view_tko weak %v[%z, %z, %z] : {LAST_OF_ONE_VIEW}, tile<i32> -> tile<64x32x2xf32>, token
    %y = addf %x, %x rounding<nearest_even> : tile<64x32x2xf32>
    %k = store_view_tko weak %y, %v[%z, %z, %z] : tile<64x32x2xf32>, {LAST_OF_ONE_VIEW}, tile<i32> -> token"""

NO_TMA = "optimization_hints = <sm_100 = {allow_tma = false}, sm_90 = {allow_tma = false}>"
COLUMNS = "tensor_view<?x512xf32, strides=[?,1]>"
COLUMNS_VIEW = f"partition_view<tile=(512x2), {COLUMNS}, dim_map=[1, 0]>"
# The stride of the rows is the constant 1; rows are the last dimension of the tile.
VECTORS_BESIDE_AN_ASSUMED_STRIDE = f"""
    %one = constant <i32: 1> : tile<i32>
    %n1 = assume bounded<0, ?>, %n : tile<i32>
    %s1 = assume div_by<4>, %one : tile<i32>
    %t = make_tensor_view %p, shape = [%n1, 512], strides = [%s1, 1] : tile<i32> -> {COLUMNS}
    %v = make_partition_view %t : {COLUMNS_VIEW}
    %x, %k0 = load_view_tko weak %v[%z, %z] : {COLUMNS_VIEW}, tile<i32> -> tile<512x2xf32>, token
    %y = addf %x, %x rounding<nearest_even> : tile<512x2xf32>
    %k = store_view_tko weak %y, %v[%z, %z] {NO_TMA} : tile<512x2xf32>, {COLUMNS_VIEW}, tile<i32> -> token"""

VECTORS = {
    "the last dimension has one element": (VECTORS_BESIDE_ONE_ELEMENT, 64 * 30, "v2.f32"),
    "assumed stride": (VECTORS_BESIDE_AN_ASSUMED_STRIDE, 512, "v4.f32"),
}


@pytest.mark.parametrize("case", VECTORS)
def test_vector_accesses_use_the_dimension_with_more_than_one_element(case, target):
    body, count, vector = VECTORS[case]
    compiled = tilec.compile(module(body), target=target, stop="ptx")
    assert f"ld.global.{vector}" in compiled.ptx
    assert f"st.global.{vector}" in compiled.ptx
    array = aligned(count + 64)
    array[:] = np.arange(count + 64)
    expected = array * np.where(np.arange(count + 64) < count, 2, 1)
    tilec.run(compiled, (1,), [array, 1], backend="simulate")
    assert np.array_equal(array, expected)
