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
# The last instruction of the code that stores the elements beyond the last multiple of 16 bytes.
ROW_ENDS = "fence.proxy.async.global;\n    bar.warp.sync 0xffffffff;"
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
    assert STORE in compiled.ptx
    assert (ROW_ENDS in compiled.ptx) == (columns * whole.itemsize % 16 != 0)
    ct.run(compiled, (2, 2), given, backend="simulate")
    expected = np.full((ROWS, STRIDE), 9, DTYPES[dtype])
    expected[:, :columns] = (a.astype(np.float32) @ b.astype(np.float32))[:, :columns]
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def transpose(X, Y, ROWS: ct.Constant[int], COLUMNS: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(X, (j, i), (COLUMNS, ROWS), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, (i, j), ct.transpose(tile))


# Rows of the tile: fewer than a warp has lanes, as many, and more. Columns: each swizzle, and several boxes.
TRANSPOSED = {
    np.int8: [(16, 128), (32, 256), (64, 64)],
    np.float16: [(16, 64), (64, 32), (32, 16), (64, 128)],
    np.float32: [(64, 8), (32, 32), (128, 64)],
    np.float64: [(64, 16), (16, 32)],
}


@pytest.mark.parametrize("dtype, tile", [(dtype, tile) for dtype, tiles in TRANSPOSED.items() for tile in tiles])
@pytest.mark.parametrize("left", [1, 3, 7])
def test_ends_of_rows_of_any_element(dtype: type, tile: tuple[int, int], left: int, target: str, random) -> None:
    rows, columns = 2 * tile[0] - 5, tile[1] + left
    x = random.integers(-99, 99, (columns, rows)).astype(dtype)
    stride = -(-(columns + 8) * x.itemsize // 16) * 16 // x.itemsize
    whole = np.full((rows, stride), 9, dtype)
    given = (x, whole[:, :columns], *tile)
    compiled = ct.compile(transpose, target=target, signature=Signature.from_arguments(transpose, given), stop="ptx")
    assert STORE in compiled.ptx
    assert (ROW_ENDS in compiled.ptx) == (columns * x.itemsize % 16 != 0)
    ct.run(compiled, (2, 2), given, backend="simulate")
    expected = np.full((rows, stride), 9, dtype)
    expected[:, :columns] = x.T
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def planes(A, B, C):
    total = ct.zeros((128, 64), ct.float32)
    total = ct.mma(ct.load(A, (0, 0), (128, 64)), ct.load(B, (0, 0), (64, 64)), total)
    ct.store(C, (ct.bid(0), 0, ct.bid(1)), ct.reshape(total, (8, 16, 64)).astype(C.dtype))


@pytest.mark.parametrize("shape", [(7, 15, 61), (9, 16, 65), (16, 3, 127)])
def test_ends_of_rows_of_three_dimensions(shape: tuple[int, ...], target: str, random) -> None:
    a, b = (random.integers(-3, 4, extents).astype(np.float16) for extents in ((128, 64), (64, 64)))
    whole = np.full((shape[0], 20, 136), 9, np.float16)
    given = (a, b, whole[:, : shape[1], : shape[2]])
    compiled = ct.compile(planes, target=target, signature="A: f16[?,?], B: f16[?,?], C: f16[?,?,?]", stop="ptx")
    assert "cp.async.bulk.tensor.3d.global" in compiled.ptx
    ct.run(compiled, (2, 2), given, backend="simulate")
    product = (a.astype(np.float32) @ b.astype(np.float32)).reshape(8, 16, 64)
    expected = np.full((shape[0], 20, 136), 9, np.float16)
    expected[:, : shape[1], : shape[2]] = np.tile(product, (2, 1, 2))[: shape[0], : shape[1], : shape[2]]
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def columns(A, B, C):
    total = ct.mma(ct.load(A, (0, 0), (64, 64)), ct.load(B, (0, 0), (64, 64)), ct.zeros((64, 64), ct.float32))
    ct.store(C, (ct.bid(0), ct.bid(1)), ct.transpose(total).astype(C.dtype))


@pytest.mark.parametrize("rows", [128, 123, 65, 61, 5, 1])
def test_ends_of_columns(rows: int, target: str, random) -> None:
    """Elements are adjacent along the first dimension of the tensor; five of them are less than 16 bytes."""
    a, b = (random.integers(-3, 4, extents).astype(np.float16) for extents in ((64, 64), (64, 64)))
    whole = np.full((70, 136), 9, np.float16)
    given = (a, b, whole[:, :rows].T)
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?] strides (1,?)"
    compiled = ct.compile(columns, target=target, signature=signature, stop="ptx")
    assert ROW_ENDS in compiled.ptx
    ct.run(compiled, (2, 2), given, backend="simulate")
    product = a.astype(np.float32) @ b.astype(np.float32)
    expected = np.full((70, 136), 9, np.float16)
    expected[:, :rows] = np.tile(product, (2, 2))[:70, :rows]
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def rows_of_panels(X, Y, COLUMNS: ct.Constant[int]):
    tile = ct.load(X, (ct.bid(0), ct.bid(1)), (2, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, (ct.bid(0), ct.bid(1)), tile + 1)


@pytest.mark.parametrize("extent", [2041, 1537, 1023, 258, 3])
def test_ends_of_long_rows(extent: int, target: str, random) -> None:
    """Boxes of 256 elements without swizzle are panels of the staging buffer."""
    x = random.integers(-99, 99, (3, extent)).astype(np.float32)
    whole = np.full((3, 2056), 9, np.float32)
    given = (x, whole[:, :extent], 1024)
    signature = "X: f32[?,?] align 4, Y: f32[?,?], COLUMNS=1024"
    compiled = ct.compile(rows_of_panels, target=target, signature=signature, stop="ptx")
    assert ROW_ENDS in compiled.ptx
    ct.run(compiled, (2, 2), given, backend="simulate")
    expected = np.full((3, 2056), 9, np.float32)
    expected[:, :extent] = x + 1
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def volumes(A, B, C):
    total = ct.mma(ct.load(A, (0, 0), (64, 64)), ct.load(B, (0, 0), (64, 64)), ct.zeros((64, 64), ct.float32))
    ct.store(C, (ct.bid(0), 0, ct.bid(1), 0, ct.bid(2)), ct.reshape(total, (2, 4, 2, 8, 32)).astype(C.dtype))


@pytest.mark.parametrize("extents", [(3, 3, 4, 7, 61), (4, 4, 3, 8, 33)])
@pytest.mark.parametrize("index", ["", " index i64"])
def test_ends_of_rows_of_five_dimensions(extents: tuple[int, ...], index: str, target: str, random) -> None:
    a, b = (random.integers(-3, 4, (64, 64)).astype(np.float16) for _ in range(2))
    whole = np.full((*extents[:4], 72), 9, np.float16)
    given = (a, b, whole[..., : extents[4]])
    signature = f"A: f16[?,?], B: f16[?,?], C: f16[?,?,?,?,?]{index}"
    compiled = ct.compile(volumes, target=target, signature=signature, stop="ptx")
    assert (ROW_ENDS in compiled.ptx) == (not index)
    ct.run(compiled, (2, 2, 2), given, backend="simulate")
    product = np.tile((a.astype(np.float32) @ b.astype(np.float32)).reshape(2, 4, 2, 8, 32), (2, 1, 2, 1, 2))
    expected = np.full((*extents[:4], 72), 9, np.float16)
    expected[..., : extents[4]] = product[tuple(slice(extent) for extent in extents)]
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def pairs(A, B, C):
    total = ct.zeros((256, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (256, 64))):
        a = ct.load(A, (0, k), (256, 64), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, ct.load(B, (k, 0), (64, 128), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(C, (0, 0), total.astype(C.dtype))


@pytest.mark.parametrize("columns", [128, 121, 62])
def test_ends_of_rows_of_clusters(columns: int, target: str, random) -> None:
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((250, 128), (128, 128)))
    whole = np.full((250, STRIDE), 9, np.float16)
    given = (a, b, whole[:, :columns])
    signature, hints = "A: f16[?,?], B: f16[?,?], C: f16[?,?]", {"num_ctas": 2}
    compiled = ct.compile(pairs, target=target, signature=signature, hints=hints, stop="ptx")
    assert ROW_ENDS in compiled.ptx
    ct.run(compiled, (1, 1), given, backend="simulate")
    expected = np.full((250, STRIDE), 9, np.float16)
    expected[:, :columns] = (a.astype(np.float32) @ b.astype(np.float32))[:, :columns]
    np.testing.assert_array_equal(whole, expected)


@ct.kernel
def add_twice(A, B, C):
    total = ct.zeros((64, 64), ct.float32)
    for step in range(3):
        total = ct.mma(ct.load(A, (step, 0), (64, 64)), ct.load(B, (0, 0), (64, 64)), total)
        ct.store(C, (0, 0), total.astype(C.dtype))
        total = ct.load(C, (0, 0), (64, 64), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32) + 1


def test_ends_of_rows_are_stored_in_the_order_of_the_program(target: str, random) -> None:
    a, b = (random.integers(-2, 3, extents).astype(np.float16) for extents in ((192, 64), (64, 64)))
    whole = np.full((64, 72), 9, np.float16)
    compiled = ct.compile(add_twice, target=target, signature="A: f16[?,?], B: f16[?,?], C: f16[?,?]", stop="ptx")
    ct.run(compiled, (1,), (a, b, whole[:, :61]), backend="simulate")
    total = np.zeros((64, 64), np.float32)
    for step in range(3):
        total = total + a[64 * step :][:64].astype(np.float32) @ b.astype(np.float32)
        stored, total = total, np.where(np.arange(64) < 61, total, 0) + 1
    np.testing.assert_array_equal(whole[:, :61], stored[:, :61])
    np.testing.assert_array_equal(whole[:, 61:], 9)


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


def test_a_remark_names_the_missing_assumption(target: str) -> None:
    remarks = ct.compile(ct.Module.parse(SUM.format(columns=75)), target=target).all_remarks
    assert [str(each.message) for each in remarks if "reduction" in each.message] == [
        "the reduction does not use TMA: extent 1 is not known to be a multiple of 16 bytes, which TMA writes as a "
        "whole: pass arrays with such rows, or state '?%4' in the signature"
    ]


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
