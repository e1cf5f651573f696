"""A product that waits for the preceding grid and lets dependent grids start agrees with numpy on both targets."""

from __future__ import annotations

import numpy as np
import pytest
from compare import backends

import tilec
import tilec as ct
from tilec.signature import Signature

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


@ct.kernel
def between_grids(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    ct.grid_dependency_control_wait()
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), acc)
    ct.grid_dependency_control_launch_dependents()


def test_product_between_grids_from_python(target):
    a, b = (np.random.default_rng(3).integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    arguments = (a, b, np.zeros((128, 128), np.float32), 128, 128, 64)
    compiled = ct.compile(between_grids, target=target, signature=Signature.from_arguments(between_grids, arguments))
    # Each role waits, and the loads are those of a kernel without dependencies.
    roles = 3 if target == "sm_100a" else 2
    assert compiled.ptx.count("griddepcontrol.wait;") == roles and "cp.async.bulk.tensor" in compiled.ptx
    assert compiled.ptx.count("griddepcontrol.launch_dependents;") == 1
    for backend, settings in backends(range(3)):
        c = np.zeros((128, 128), np.float32)
        ct.run(compiled, (1,), (a, b, c, 128, 128, 64), backend=backend, **settings)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@ct.kernel
def ordered(X, Y):
    before = ct.load(X, 0, 4)
    ct.grid_dependency_control_wait()
    after = ct.load(X, 0, 4)
    ct.grid_dependency_control_launch_dependents()
    ct.store(Y, 0, before + after)


def test_accesses_after_the_wait_are_ordered_after_it():
    arguments = (np.zeros(4, np.float32), np.zeros(4, np.float32))
    lines = str(ordered.to_tile(Signature.from_arguments(ordered, arguments))).splitlines()
    before, wait, after, launch, store = (line for line in lines if "_tko" in line)
    token = wait.partition("=")[0].strip()
    assert "gdc_wait_tko" in wait and "gdc_launch_dependents_tko" in launch
    assert f"token = {token}" in after and f"token = {token}" in store and f"token = {token}" in launch
    # The wait orders no earlier access, and the launch of dependents no later one.
    assert "] token =" not in before and "tko token =" not in wait
    assert launch.partition("=")[0].strip() not in store


@ct.kernel
def produce(X, Y):
    ct.grid_dependency_control_launch_dependents()
    ct.store(Y, 0, ct.load(X, 0, 4) + 1)


@ct.kernel
def consume(Y, Z):
    ct.grid_dependency_control_wait()
    ct.store(Z, 0, ct.load(Y, 0, 4) * 2)


@pytest.mark.parametrize("backend", ["interpret", "simulate", "python"])
def test_dependent_launches_run_in_order_without_a_gpu(backend: str) -> None:
    x, y, z = (np.full(4, value, np.float32) for value in (3, 0, 0))
    ct.launch(None, 1, produce, (x, y), backend=backend)
    ct.launch(None, 1, consume, (y, z), backend=backend, programmatic_dependent_launch=True)
    assert z.tolist() == [8.0] * 4
