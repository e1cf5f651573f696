"""Loads, stores, views and atomic updates of globals: interpreter and simulator agree with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from compare import backends

import tilec
from tilec.errors import SimulationError

KERNEL = """cuda_tile.module @m {
global private constant @weights <f32: [1.0, 2.0, 4.0, 8.0]> : tile<4xf32>
global @scratch alignment = 64 <i32: 5> : tile<64xi32>
global @count <i32: 100> : tile<1xi32>
entry @k(%y: tile<ptr<f32>>, %z: tile<ptr<i32>>, %n: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %w = get_global @weights : tile<ptr<f32>>
  %wt = make_tensor_view %w, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
  %wv = make_partition_view %wt : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
  %x, %t0 = load_view_tko weak %wv[%zero]
    : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
  %double = addf %x, %x rounding<nearest_even> : tile<4xf32>
  %yt = make_tensor_view %y, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
  %yv = make_partition_view %yt : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
  %t1 = store_view_tko weak %double, %yv[%zero]
    : tile<4xf32>, partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, tile<i32> -> token
  %s = get_global @scratch : tile<ptr<i32>>
  %i = iota : tile<64xi32>
  %s1 = reshape %s : tile<ptr<i32>> -> tile<1xptr<i32>>
  %sb = broadcast %s1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %sp = offset %sb, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %old, %t2 = load_ptr_tko weak %sp : tile<64xptr<i32>> -> tile<64xi32>, token
  %new = muli %old, %i : tile<64xi32>
  %t3 = store_ptr_tko weak %sp, %new token=%t2 : tile<64xptr<i32>>, tile<64xi32> -> token
  %last = constant <i32: 63> : tile<64xi32>
  %back = subi %last, %i : tile<64xi32>
  %rp = offset %sb, %back : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %reversed, %t4 = load_ptr_tko weak %rp token=%t3 : tile<64xptr<i32>> -> tile<64xi32>, token
  %z1 = reshape %z : tile<ptr<i32>> -> tile<1xptr<i32>>
  %zb = broadcast %z1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %zp = offset %zb, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %t5 = store_ptr_tko weak %zp, %reversed : tile<64xptr<i32>>, tile<64xi32> -> token
  %c = get_global @count : tile<ptr<i32>>
  %one = constant <i32: 1> : tile<i32>
  %before, %t6 = atomic_rmw_tko relaxed device %c, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %t7 = store_ptr_tko weak %n, %before : tile<ptr<i32>>, tile<i32> -> token
  return
}
}"""
BEYOND = """cuda_tile.module @m {
global @g <i32: [1, 2]> : tile<2xi32>
entry @k(%p: tile<ptr<i32>>) {
  %g = get_global @g : tile<ptr<i32>>
  %far = constant <i32: 4096> : tile<i32>
  %q = offset %g, %far : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %x, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %s = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}
}"""


def test_globals_are_read_written_and_updated(target: str) -> None:
    compiled = tilec.compile(tilec.Module.parse(KERNEL), target=target, stop="ptx")
    for backend, settings in backends():
        y, z, n = np.zeros(4, np.float32), np.zeros(64, np.int32), np.zeros(1, np.int32)
        tilec.run(compiled, 1, (y, z, n), backend=backend, **settings)
        assert y.tolist() == [2, 4, 8, 16]
        assert np.array_equal(z, 5 * np.arange(64)[::-1])
        assert n[0] == 100


@pytest.mark.parametrize("backend", ["simulate", "interpret"])
def test_load_beyond_a_global_is_an_error(target: str, backend: str) -> None:
    compiled = tilec.compile(tilec.Module.parse(BEYOND), target=target, stop="ptx")
    with pytest.raises(SimulationError) as raised:
        tilec.run(compiled, 1, (np.zeros(1, np.int32),), backend=backend)
    assert raised.value.location is not None and raised.value.location.line == 7
