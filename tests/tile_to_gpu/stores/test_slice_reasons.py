"""Why TMA does not store into a tensor that a kernel slices out of an array: each reason in a remark."""

from __future__ import annotations

import pytest

import tilec
import tilec as ct

ENTRY = """
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>, %w: tile<i64>) {{
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume div_by<16>, %q : tile<ptr<f32>>
  %i = constant <i32: 0> : tile<i32>
  %rows = constant <i64: 1024> : tile<i64>
  %extent = assume bounded<0, ?>, %n : tile<i32>
  %bounded = assume bounded<0, ?>, %s : tile<i32>
  %stride = assume div_by<16>, %bounded : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %wide = exti %x signed : tile<i32> -> tile<i64>
  %step = muli %wide, %rows : tile<i64>
  %v = make_tensor_view %a, shape = [1024, 1024], strides = [1024, 1] : tensor_view<1024x1024xf32, strides=[1024,1]>
  %from = make_partition_view %v : partition_view<tile=(64x64), tensor_view<1024x1024xf32, strides=[1024,1]>>
  %tile, %t1 = load_view_tko weak %from[%i, %i]
      : partition_view<tile=(64x64), tensor_view<1024x1024xf32, strides=[1024,1]>>, tile<i32> -> tile<64x64xf32>, token
{lines}
  %to = make_partition_view %d : partition_view<tile=(64x64), {type}>
  %turned = permute %tile [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
  store_view_tko weak %turned, %to[%x, %i]
      : tile<64x64xf32>, partition_view<tile=(64x64), {type}>, tile<i32> -> token
  return
}}
"""
MOVE = "  %c = offset %b, %step : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>\n"
ROWS = "tensor_view<?x1024xf32, strides=[1024,1]>"
WHOLE = "tensor_view<1024x1024xf32, strides=[1024,1]>"


def _view(base: str, shape: str, strides: str, type: str, operand: str = "i32") -> str:
    return f"  %d = make_tensor_view {base}, shape = [{shape}], strides = [{strides}] : tile<{operand}> -> {type}"


# The reason -> the lines that make the tensor, and its type.
REASONS = {
    "extents 0 and 1 are computed in the kernel, and TMA has a map for one of them": (
        _view("%b", "%x, %y", "1024, 1", "tensor_view<?x?xf32, strides=[1024,1]>"),
        "tensor_view<?x?xf32, strides=[1024,1]>",
    ),
    "the base address is computed in the kernel, but not as an offset from an argument": (
        "  %at = ptr_to_int %b : tile<ptr<f32>> -> tile<i64>\n  %moved = addi %at, %step : tile<i64>\n"
        "  %e = int_to_ptr %moved : tile<i64> -> tile<ptr<f32>>\n  %c = assume div_by<16>, %e : tile<ptr<f32>>\n"
        f"  %d = make_tensor_view %c, shape = [1024, 1024], strides = [1024, 1] : {WHOLE}",
        WHOLE,
    ),
    "the start of a slice is not known to be from 0 to 2**31 - 1: add 'assume bounded<0, ?>' for it, or the hint "
    "slices_in_bounds": (
        "  %o = muli %w, %rows : tile<i64>\n  %c = offset %b, %o : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>\n"
        + _view("%c", "%x, 1024", "1024, 1", ROWS),
        ROWS,
    ),
    "the base address has two offsets along one dimension: add the starts of the slices": (
        f"{MOVE}  %e = offset %c, %step : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>\n"
        + _view("%e", "%x, 1024", "1024, 1", ROWS),
        ROWS,
    ),
    "an offset of the base address is not known to be a multiple of a stride and of 16 bytes": (
        "  %o = muli %wide, %wide : tile<i64>\n  %f = assume div_by<4>, %o : tile<i64>\n"
        "  %g = exti %bounded signed : tile<i32> -> tile<i64>\n  %h = muli %f, %g : tile<i64>\n"
        "  %e = muli %h, %wide : tile<i64>\n  %c = offset %b, %e : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>\n"
        f"  %d = make_tensor_view %c, shape = [1024, 1024], strides = [1024, 1] : {WHOLE}",
        WHOLE,
    ),
    "extent 1, along which elements are adjacent, is computed in the kernel, and not known to be a multiple of 16 "
    "bytes: state ct.assume_divisible_by(.., 4) for start and stop": (
        _view("%b", "1024, %x", "1024, 1", "tensor_view<1024x?xf32, strides=[1024,1]>"),
        "tensor_view<1024x?xf32, strides=[1024,1]>",
    ),
    "extent 1, along which elements are adjacent, is computed in the kernel": (
        "  %f = assume div_by<4>, %x : tile<i32>\n"
        + _view("%b", "1024, %f", "1024, 1", "tensor_view<1024x?xf32, strides=[1024,1]>"),
        "tensor_view<1024x?xf32, strides=[1024,1]>",
    ),
    "stride 0 is not known to be less than 2**31": (
        "  %f = assume div_by<16>, %w : tile<i64>\n  %e = assume bounded<0, 4294967296>, %f : tile<i64>\n"
        "  %g = exti %x signed : tile<i32> -> tile<i64>\n"
        + _view("%b", "%g, 1024", "%e, 1", "tensor_view<?x1024xf32, strides=[?,1]>", "i64"),
        "tensor_view<?x1024xf32, strides=[?,1]>",
    ),
    "base or extents are computed in the kernel, for an array with a stride of 0": (
        "  %zero = constant <i32: 0> : tile<i32>\n"
        + _view("%b", "%x, 1024", "%zero, 1", "tensor_view<?x1024xf32, strides=[?,1]>"),
        "tensor_view<?x1024xf32, strides=[?,1]>",
    ),
}


@pytest.mark.parametrize("reason", REASONS)
def test_stores_into_slices(reason: str, target: str) -> None:
    lines, type = REASONS[reason]
    text = ENTRY.format(lines=lines, type=type)
    compiled = tilec.compile(tilec.Module.parse(text), target=target, stop="ptx")
    assert "cp.async.bulk.tensor" not in compiled.ptx
    assert f"the store does not use TMA: {reason}" in [remark.message for remark in compiled.all_remarks]


@ct.kernel
def four_dimensions(A, B, C, S):
    start, stop = ct.load(S, 0, 1).item(), ct.load(S, 1, 1).item()
    a, total = A.slice(0, start, stop), ct.zeros((64, 64), ct.float32)
    for k in range(2):
        left = ct.load(a, (0, 0, ct.bid(0), k), (1, 1, 64, 64), padding_mode=ct.PaddingMode.ZERO).reshape((64, 64))
        total = ct.mma(left, ct.load(B, (k, 0), (64, 64)), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def gathered_rows(A, B, C, S):
    start, stop = ct.load(S, 0, 1).item(), ct.load(S, 1, 1).item()
    a, total = A.slice(0, start, stop), ct.zeros((64, 64), ct.float32)
    rows = ct.load(S, 0, 64)
    for k in range(2):
        left = ct.load_advanced_indexing(a, (rows, ct.Slice(k * 64, 64)))
        total = ct.mma(left, ct.load(B, (k, 0), (64, 64)), total)
    ct.store(C, (0, 0), total)


@ct.kernel
def images_of_list(A, B, C, S):
    images = ct.im2col_view(A[ct.bid(0)], window=(1, 1), tile=(64, 64))
    total = ct.zeros((64, 64), ct.float32)
    for k in range(2):
        total = ct.mma(ct.load(images, (0, k), offset=(0, 0)), ct.load(B, (k, 0), (64, 64)), total)
    ct.store(C, (0, 0), total)


LOADS = {
    "a tile of 4 dimensions of this slice needs a tensor map of 6, and TMA has 5": (four_dimensions, 4),
    "base or extents are computed in the kernel": (gathered_rows, 2),
    "array: base or extents are computed in the kernel": (images_of_list, 4),
}


@pytest.mark.parametrize("reason", LOADS)
def test_loads_of_slices(reason: str) -> None:
    kernel, rank = LOADS[reason]
    extents = ",".join("?" * rank) + "%8" * (kernel is images_of_list)
    given = "list " * (kernel is images_of_list)
    signature = f"A: {given}f16[{extents}], B: f16[?,?], C: f32[?,?], S: i32[?]"
    compiled = ct.compile(kernel, target="sm_100a", signature=signature, stop="ptx")
    assert any(remark.message.endswith(f": {reason}") for remark in compiled.all_remarks), compiled.all_remarks
