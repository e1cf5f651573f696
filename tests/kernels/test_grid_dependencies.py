"""A product that waits for the preceding grid and lets dependent grids start agrees with numpy on both targets."""

from __future__ import annotations

import numpy as np
from compare import backends

import tilec

PRODUCT = """
entry @product(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %c = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %va = make_tensor_view %a, shape = [64, 256], strides = [256, 1] : tensor_view<64x256xf16, strides=[256,1]>
  %vc = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %ta = make_partition_view %va : partition_view<tile=(64x64), tensor_view<64x256xf16, strides=[256,1]>>
  %tc = make_partition_view %vc : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %w = gdc_wait_tko -> token
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %r = for %k in (%i to %n, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<64x64xf32>) {
    %l, %t0 = load_view_tko weak %ta[%i, %k] token = %w
      : partition_view<tile=(64x64), tensor_view<64x256xf16, strides=[256,1]>>, tile<i32> -> tile<64x64xf16>, token
    %m = permute %l [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %s = mmaf %l, %m, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %s : tile<64x64xf32>
  }
  %t = store_view_tko weak %r, %tc[%i, %i] token = %w
    : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  %d = gdc_launch_dependents_tko token = %t -> token
  return
}
"""


def test_product_between_grids(target):
    compiled = tilec.compile(tilec.Module.parse(PRODUCT), target=target, stop="ptx")
    roles = 3 if target == "sm_100a" else 2
    assert compiled.ptx.count("griddepcontrol.wait;") == roles and "cp.async.bulk.tensor" in compiled.ptx
    assert compiled.ptx.count("griddepcontrol.launch_dependents;") == 1
    # Small integers: products and sums are exact.
    a = np.random.default_rng(3).integers(-4, 5, (64, 256)).astype(np.float16)
    for backend, settings in backends():
        c = np.zeros((64, 64), np.float32)
        tilec.run(compiled, (1,), [a, c, 4], backend=backend, **settings)
        assert np.array_equal(c, a.astype(np.float32) @ a.astype(np.float32).T)
