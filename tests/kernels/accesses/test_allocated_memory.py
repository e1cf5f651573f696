"""Memory of alloca belongs to one tile block and one iteration: interpreter and simulator agree with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from compare import backends

import tilec
from tilec.errors import SimulationError

# Each iteration reverses the numbers of its tile block through memory of its own, and stores them at a distance.
KERNEL = """cuda_tile.module @m {
entry @k(%y: tile<ptr<i32>>, %times: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %size = constant <i32: 512> : tile<i32>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %i = iota : tile<512xi32>
  %last = constant <i32: 511> : tile<512xi32>
  %back = subi %last, %i : tile<512xi32>
  %y1 = reshape %y : tile<ptr<i32>> -> tile<1xptr<i32>>
  %yb = broadcast %y1 : tile<1xptr<i32>> -> tile<512xptr<i32>>
  for %k in (%zero to %times, step %one) : tile<i32> {
    %m = alloca num_elem = 512, alignment = 128 global : tile<ptr<i32>>
    %m1 = reshape %m : tile<ptr<i32>> -> tile<1xptr<i32>>
    %mb = broadcast %m1 : tile<1xptr<i32>> -> tile<512xptr<i32>>
    %mp = offset %mb, %i : tile<512xptr<i32>>, tile<512xi32> -> tile<512xptr<i32>>
    %row = muli %k, %gx : tile<i32>
    %at = addi %row, %bx : tile<i32>
    %first = muli %at, %size : tile<i32>
    %f1 = reshape %first : tile<i32> -> tile<1xi32>
    %fb = broadcast %f1 : tile<1xi32> -> tile<512xi32>
    %number = addi %fb, %i : tile<512xi32>
    %t0 = store_ptr_tko weak %mp, %number : tile<512xptr<i32>>, tile<512xi32> -> token
    %rp = offset %mb, %back : tile<512xptr<i32>>, tile<512xi32> -> tile<512xptr<i32>>
    %x, %t1 = load_ptr_tko weak %rp token=%t0 : tile<512xptr<i32>> -> tile<512xi32>, token
    %yp = offset %yb, %number : tile<512xptr<i32>>, tile<512xi32> -> tile<512xptr<i32>>
    %t2 = store_ptr_tko weak %yp, %x : tile<512xptr<i32>>, tile<512xi32> -> token
    continue
  }
  return
}
}"""
LARGE = """cuda_tile.module @m {
entry @k(%y: tile<ptr<i8>>) {
  %zero = constant <i8: 0> : tile<i8>
  %m = alloca num_elem = 16777216, alignment = 1 : tile<ptr<i8>>
  %t = store_ptr_tko weak %m, %zero : tile<ptr<i8>>, tile<i8> -> token
  return
}
}"""


def test_memory_of_blocks_and_iterations(target: str) -> None:
    compiled = tilec.compile(tilec.Module.parse(KERNEL), target=target, stop="ptx")
    grid, times = 3, 4
    expected = np.arange(grid * times * 512).reshape(-1, 512)[:, ::-1].reshape(-1)
    for backend, settings in backends():
        y = np.zeros(grid * times * 512, np.int32)
        tilec.run(compiled, grid, (y, times), backend=backend, **settings)
        assert np.array_equal(y, expected)


def test_full_heap_is_reported_at_the_line_of_the_allocation(target: str) -> None:
    compiled = tilec.compile(tilec.Module.parse(LARGE), target=target, stop="ptx")
    with pytest.raises(SimulationError, match="the heap of the device is full") as raised:
        tilec.run(compiled, 1, (np.zeros(1, np.int8),), backend="simulate")
    assert raised.value.location is not None and raised.value.location.line == 4
