"""Stores of tiles beside data that is not theirs: TMA writes 16 bytes as a whole, and begins at multiples of 16 bytes.

Measured on H200 (docs/hardware.md). Each array is a part of a larger one, whose other columns must keep their values.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct
from tilec.signature import Signature

STORE, REDUCTION = "cp.async.bulk.tensor.2d.global.shared::cta", "cp.reduce.async.bulk.tensor.2d.global.shared::cta"
LOAD = "cp.async.bulk.tensor.2d.shared::"
ROWS, DEPTH, STRIDE = 70, 64, 144
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


@ct.kernel
def multiply(A, B, C):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.num_tiles(A, 1, (64, 32))):
        a = ct.load(A, (i, k), (64, 32), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, ct.load(B, (k, j), (32, 64), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(C, (i, j), total.astype(C.dtype))


@pytest.mark.parametrize("columns", [128, 120, 121, 122, 124, 90, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_beside_a_stored_part_keep_their_values(dtype: str, columns: int, target: str, random) -> None:
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((ROWS, DEPTH), (DEPTH, 128)))
    whole = np.full((ROWS, STRIDE), 9, DTYPES[dtype])
    given = (a, b, whole[:, :columns])
    signature = Signature.from_arguments(multiply, given)
    compiled = ct.compile(multiply, target=target, signature=signature, stop="ptx")
    assert (STORE in compiled.ptx) == (columns * whole.itemsize % 16 == 0)
    ct.run(compiled, (2, 2), given, backend="simulate")
    expected = np.full((ROWS, STRIDE), 9, DTYPES[dtype])
    expected[:, :columns] = (a.astype(np.float32) @ b.astype(np.float32))[:, :columns]
    np.testing.assert_array_equal(whole, expected)


def test_a_remark_names_the_missing_assumption(target: str) -> None:
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?]"
    remarks = [str(each.message) for each in ct.compile(multiply, target=target, signature=signature).remarks]
    assert [each for each in remarks if "store" in each] == [
        "the store does not use TMA: extent 1 is not known to be a multiple of 16 bytes, which TMA writes as a whole: "
        "pass arrays with such rows, or state '?%8' in the signature"
    ]


SUM = """cuda_tile.module @m {{
entry @main(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {{
  %pa = assume div_by<16>, %p : tile<ptr<f32>>
  %qa = assume div_by<16>, %q : tile<ptr<f32>>
  %i, %j, %k = get_tile_block_id : tile<i32>
  %tp = make_tensor_view %pa, shape = [32, {columns}], strides = [80, 1] : tensor_view<32x{columns}xf32, strides=[80,1]>
  %tq = make_tensor_view %qa, shape = [32, 80], strides = [80, 1] : tensor_view<32x80xf32, strides=[80,1]>
  %vp = make_partition_view %tp : partition_view<tile=(32x64), tensor_view<32x{columns}xf32, strides=[80,1]>>
  %vq = make_partition_view %tq : partition_view<tile=(32x64), tensor_view<32x80xf32, strides=[80,1]>>
  %x, %t = load_view_tko weak %vq[%i, %j] : partition_view<tile=(32x64), tensor_view<32x80xf32, strides=[80,1]>>, \
tile<i32> -> tile<32x64xf32>, token
  atomic_red_view_tko relaxed device %vp[%i, %j], addf, %x : tile<32x64xf32>, \
partition_view<tile=(32x64), tensor_view<32x{columns}xf32, strides=[80,1]>>, tile<i32>, tile<i32> -> token
  return
}} }}"""


@pytest.mark.parametrize("columns", [80, 76, 75, 66])
def test_columns_beside_a_reduced_part_keep_their_values(columns: int, target: str, random) -> None:
    module = ct.Module.parse(SUM.format(columns=columns))
    compiled = ct.compile(module, target=target, stop="ptx")
    assert (REDUCTION in compiled.ptx) == (columns % 4 == 0)
    x, whole = random.integers(1, 9, (32, 80)).astype(np.float32), np.full((32, 80), 9, np.float32)
    ct.run(compiled, (1, 2), (whole, x), backend="simulate")
    expected = np.full((32, 80), 9, np.float32)
    expected[:, :columns] += x[:, :columns]
    np.testing.assert_array_equal(whole, expected)


STEPS = """cuda_tile.module @m {{
entry @main(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {{
  %pa = assume div_by<16>, %p : tile<ptr<f16>>
  %qa = assume div_by<16>, %q : tile<ptr<f32>>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %tp = make_tensor_view %pa, shape = [64, 128], strides = [128, 1] : tensor_view<64x128xf16, strides=[128,1]>
  %tq = make_tensor_view %qa, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %vp = make_strided_view %tp : strided_view<tile=(64x64), traversal_strides=[64,{step}], \
tensor_view<64x128xf16, strides=[128,1]>>
  %vq = make_partition_view %tq : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %sum = for %k in (%zero to %four, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<64x64xf32>) {{
    %x, %t = load_view_tko weak %vp[%zero, %k] : strided_view<tile=(64x64), traversal_strides=[64,{step}], \
tensor_view<64x128xf16, strides=[128,1]>>, tile<i32> -> tile<64x64xf16>, token
    %y = permute %x [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
    %next = mmaf %x, %y, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %next : tile<64x64xf32>
  }}
  %s = store_view_tko weak %sum, %vq[%zero, %zero] : tile<64x64xf32>, \
partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}} }}"""


@pytest.mark.parametrize("step", [16, 8, 4, 3])
def test_tiles_that_begin_between_16_bytes_are_loaded_by_threads(step: int, target: str, random) -> None:
    compiled = ct.compile(ct.Module.parse(STEPS.format(step=step)), target=target, stop="ptx")
    assert (LOAD in compiled.ptx) == (step % 8 == 0)
    x, found = random.integers(-3, 4, (64, 128)).astype(np.float16), np.zeros((64, 64), np.float32)
    ct.run(compiled, (1,), (x, found), backend="simulate")
    parts: list[Any] = [x[:, step * k : step * k + 64].astype(np.float32) for k in range(4)]
    np.testing.assert_array_equal(found, sum(part @ part.T for part in parts))
