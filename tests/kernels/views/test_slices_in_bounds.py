"""Slices whose Tile IR does not bound their start, as cuTile's front end writes them, are copied by TMA with a hint."""

from __future__ import annotations

import numpy as np
import pytest

import tilec
from tilec.errors import TilecError

# Turns tiles of 64 rows of the slice from start to stop of an array with rows of 64 elements, after which rows are 0.
TEXT = """
cuda_tile.module @m {{
  entry @turn(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %start: tile<i32>, %stop: tile<i32>, %s: tile<i32>) {{
    %from = assume div_by<16>, %a : tile<ptr<f32>>
    %to = assume div_by<16>, %b : tile<ptr<f32>>
    %multiple = assume div_by<4>, %s : tile<i32>
    %stride = assume bounded<0, ?>, %multiple : tile<i32>
    %difference = subi %stop, %start : tile<i32>
    %rows = assume bounded<0, ?>, %difference : tile<i32>
{offset}
    %source = offset %from, %offset : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>
    %target = offset %to, %offset : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>
    %x = make_tensor_view %source, shape = [%rows, 64], strides = [%stride, 1]
        : tile<i32> -> tensor_view<?x64xf32, strides=[?,1]>
    %y = make_tensor_view %target, shape = [%rows, 64], strides = [%stride, 1]
        : tile<i32> -> tensor_view<?x64xf32, strides=[?,1]>
    %xs = make_partition_view %x
        : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf32, strides=[?,1]>>
    %ys = make_partition_view %y : partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[?,1]>>
    %i, %j, %k = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %tile, %t = load_view_tko weak %xs[%i, %zero]
        : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf32, strides=[?,1]>>, tile<i32>
        -> tile<64x64xf32>, token
    %turned = permute %tile [1, 0] : tile<64x64xf32> -> tile<64x64xf32>
    %u = store_view_tko weak %turned, %ys[%i, %zero]
        : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[?,1]>>, tile<i32> -> token
    return
  }}
}}
"""
# Offsets of the slice in elements.
OFFSETS = {
    "product of 32 bits": """
    %steps = muli %start, %stride : tile<i32>
    %offset = exti %steps signed : tile<i32> -> tile<i64>""",
    "product of 64 bits, of a start without a bound": """
    %wide = exti %start signed : tile<i32> -> tile<i64>
    %step = exti %stride signed : tile<i32> -> tile<i64>
    %offset = muli %wide, %step : tile<i64>""",
}
STORE = "cp.async.bulk.tensor.4d.global.shared::cta"


def module(offset: str = "product of 32 bits") -> tilec.Module:
    return tilec.Module.parse(TEXT.format(offset=OFFSETS[offset]))


def arguments(start: int, stop: int) -> tuple[object, ...]:
    """An array of 100 rows, another one for the result, the slice, and the stride."""
    array = np.arange(6400, dtype=np.float32).reshape(100, 64)
    return array, np.full_like(array, -1), np.int32(start), np.int32(stop), np.int32(64)


def turned(array: np.ndarray, start: int, stop: int) -> np.ndarray:
    """The array of the result, whose rows beside the slice are not written."""
    result = np.full_like(array, -1)
    for first in range(start, stop, 64):
        tile = np.zeros((64, 64), np.float32)
        rows = array[first : min(first + 64, stop)]
        tile[: len(rows)] = rows
        result[first : first + len(rows)] = tile.T[: len(rows)]
    return result


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(("start", "stop"), [(0, 100), (0, 0), (1, 2), (5, 37), (33, 98), (99, 100)])
def test_tma_stores_into_a_slice(target: str, offset: str, start: int, stop: int) -> None:
    compiled = tilec.compile(module(offset), target=target, stop="ptx", hints={"slices_in_bounds": True})
    assert STORE in compiled.ptx
    array, result, *scalars = arguments(start, stop)
    tilec.run(compiled, (2,), (array, result, *scalars), backend="simulate")
    np.testing.assert_array_equal(result, turned(array, start, stop))


@pytest.mark.parametrize("offset", OFFSETS)
def test_threads_store_into_a_slice_without_the_hint(target: str, offset: str) -> None:
    compiled = tilec.compile(module(offset), target=target, stop="ptx")
    assert STORE not in compiled.ptx
    assert any("hint slices_in_bounds" in remark.message for remark in compiled.all_remarks)


def test_checks_stop_a_kernel_that_breaks_the_promise(target: str) -> None:
    hints = {"slices_in_bounds": True, "checks": True}
    compiled = tilec.compile(module(), target=target, stop="ptx", hints=hints)
    with pytest.raises(TilecError, match="bounded<0, "):
        tilec.run(compiled, (1,), arguments(-1, 3), backend="simulate")


def test_a_product_of_32_bits_wraps_without_the_hint(target: str) -> None:
    """Tile IR defines the product modulo 2**32: row 2**26 + 3 of rows of 64 elements is row 3."""
    compiled = tilec.compile(module(), target=target, stop="ptx")
    array, result, *_, stride = arguments(0, 0)
    start = np.int32((1 << 26) + 3)
    tilec.run(compiled, (1,), (array, result, start, start + np.int32(2), stride), backend="simulate")
    np.testing.assert_array_equal(result, turned(array, 3, 5))
