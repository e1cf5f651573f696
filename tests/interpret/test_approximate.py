"""The approximate forms of f32 operations have the correctly rounded result."""

from __future__ import annotations

import numpy as np
import pytest

LOADED = """
  %t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %v = make_partition_view %t : VIEW
  %o = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %o : VIEW
  %zero = constant <i32: 0> : tile<i32>
  %x, %k = load_view_tko weak %v[%zero] : VIEW, tile<i32> -> tile<64xf32>, token
  %three = constant <f32: 3.0> : tile<64xf32>
  %r = OPERATION : tile<64xf32>
  %e = store_view_tko weak %r, %w[%zero] : tile<64xf32>, VIEW, tile<i32> -> token
""".replace("VIEW", "partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>")

CASES = [
    ("divf %three, %x rounding<approx>", lambda x: 3 / x),
    ("divf %x, %three rounding<full>", lambda x: x / 3),
    ("sqrt %x rounding<approx>", np.sqrt),
    ("exp %x rounding<approx>", np.exp),
    ("exp %x rounding<full>", np.exp),
    ("tanh %x rounding<approx>", np.tanh),
]


@pytest.mark.parametrize(("operation", "exact"), CASES)
def test_result_is_the_nearest_value(execute, operation, exact):
    source = np.linspace(0.01, 10, 64).astype(np.float32)
    result = np.zeros(64, np.float32)
    body = LOADED.replace("OPERATION", operation)
    execute("%p: tile<ptr<f32>>, %q: tile<ptr<f32>>", body, source, result)
    assert np.array_equal(result, exact(source.astype(np.float64)).astype(np.float32))
