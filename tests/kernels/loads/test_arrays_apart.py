"""Loads whose tokens follow atomics of other arrays, as cuTile's front end orders them, run ahead with a hint."""

from __future__ import annotations

import numpy as np
import pytest

import tilec

# Adds tile i of an array times B to tile i + 1 of X, in turn.
TEXT = """
cuda_tile.module @m {{
  entry @chain(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %x: tile<ptr<f16>>, %y: tile<ptr<f16>>) {{
    %start = make_token : token
{base}
    %from = assume div_by<16>, %base : tile<ptr<f16>>
    %right = assume div_by<16>, %b : tile<ptr<f16>>
    %to = assume div_by<16>, %x : tile<ptr<f16>>
    %as = make_tensor_view %from, shape = [256, 64], strides = [64, 1] : tensor_view<256x64xf16, strides=[64,1]>
    %ap = make_partition_view %as : partition_view<tile=(64x64), tensor_view<256x64xf16, strides=[64,1]>>
    %bs = make_tensor_view %right, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
    %bp = make_partition_view %bs : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %four = constant <i32: 4> : tile<i32>
    %size = constant <i32: 4096> : tile<i32>
    %none = constant <f32: 0.0> : tile<64x64xf32>
    %factor, %f = load_view_tko weak %bp[%zero, %zero]
        : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %numbers = iota : tile<4096xi32>
    %places = reshape %numbers : tile<4096xi32> -> tile<64x64xi32>
    %end = for %i in (%zero to %four, step %one) : tile<i32> iter_values(%t = %start) -> (token) {{
      %tile, %u = load_view_tko weak %ap[%i, %zero] token = %t
          : partition_view<tile=(64x64), tensor_view<256x64xf16, strides=[64,1]>>, tile<i32>
          -> tile<64x64xf16>, token
      %sums = mmaf %tile, %factor, %none : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      %product = ftof %sums : tile<64x64xf32> -> tile<64x64xf16>
      %next = addi %i, %one : tile<i32>
      %first = muli %next, %size : tile<i32>
      %target = offset %to, %first : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
      %row = reshape %target : tile<ptr<f16>> -> tile<1x1xptr<f16>>
      %all = broadcast %row : tile<1x1xptr<f16>> -> tile<64x64xptr<f16>>
      %each = offset %all, %places : tile<64x64xptr<f16>>, tile<64x64xi32> -> tile<64x64xptr<f16>>
      %old, %v = atomic_rmw_tko acq_rel device %each, addf, %product token=%u
          : tile<64x64xptr<f16>>, tile<64x64xf16> -> tile<64x64xf16>, token
{use}
      continue %v : token
    }}
    return
  }}
}}
"""
OTHER = "    %base = assume div_by<16>, %a : tile<ptr<f16>>"
SAME = "    %base = assume div_by<16>, %x : tile<ptr<f16>>"
COMPUTED = """
    %number = ptr_to_int %a : tile<ptr<f16>> -> tile<i64>
    %base = int_to_ptr %number : tile<i64> -> tile<ptr<f16>>"""
# Where the array Y starts with the old elements of tile 4.
USE = """
      %rowy = reshape %y : tile<ptr<f16>> -> tile<1x1xptr<f16>>
      %ally = broadcast %rowy : tile<1x1xptr<f16>> -> tile<64x64xptr<f16>>
      %eachy = offset %ally, %places : tile<64x64xptr<f16>>, tile<64x64xi32> -> tile<64x64xptr<f16>>
      %w = store_ptr_tko weak %eachy, %old token=%v : tile<64x64xptr<f16>>, tile<64x64xf16> -> token"""
HINTS = {"arrays_apart": True}
LOAD = "cp.async.bulk.tensor.2d.shared::"


def compiled(target: str, hints: dict[str, bool], base: str = OTHER, use: str = "") -> tilec.Compiled:
    module = tilec.Module.parse(TEXT.format(base=base, use=use))
    return tilec.compile(module, target=target, stop="ptx", hints=hints)


def is_ahead(kernel: tilec.Compiled) -> bool:
    """Whether TMA loads the tiles of the loop, and not only that before it."""
    return kernel.ptx.count(LOAD) > 1


@pytest.mark.parametrize("hints", [{}, HINTS], ids=str)
@pytest.mark.parametrize(("base", "use"), [(OTHER, ""), (SAME, ""), (OTHER, USE), (COMPUTED, "")])
def test_results(base: str, use: str, hints: dict[str, bool], target: str, random: np.random.Generator) -> None:
    a, x = random.integers(-3, 4, (256, 64)).astype(np.float16), random.integers(-3, 4, (320, 64)).astype(np.float16)
    b, y = np.eye(64, dtype=np.float16)[random.permutation(64)], np.zeros((64, 64), np.float16)
    expected = x.copy()
    for i in range(0, 256, 64):
        old = expected[i + 64 : i + 128].copy()
        expected[i + 64 : i + 128] += (expected if base == SAME else a)[i : i + 64] @ b.astype(np.float16)
    kernel = compiled(target, hints, base, use)
    for seed in range(3):
        found = x.copy()
        tilec.run(kernel, (1,), (a, b, found, y), backend="simulate", seed=seed)
        np.testing.assert_array_equal(found, expected)
        assert not use or np.array_equal(y, old)


def test_loads_of_other_arrays_run_ahead(target: str) -> None:
    assert is_ahead(compiled(target, HINTS))
    without = compiled(target, {})
    assert not is_ahead(without)
    assert any("nor does this acquire with the hint arrays_apart" in str(remark) for remark in without.all_remarks)


def test_loads_of_one_array_follow_its_atomics(target: str) -> None:
    assert not is_ahead(compiled(target, HINTS, SAME))


def test_loads_follow_an_acquire_whose_result_is_used(target: str) -> None:
    assert not is_ahead(compiled(target, HINTS, use=USE))


def test_an_array_that_is_not_known(target: str) -> None:
    kernel = compiled(target, HINTS, COMPUTED)
    message = "arrays_apart is not followed: the array of 'cuda_tile.load_view_tko' is not known"
    assert any(message in str(remark) for remark in kernel.all_remarks)
    assert not is_ahead(kernel)
