"""Loads, stores, gathers, scatters, and views of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilec as ct

Interpret = Callable[..., None]


@pytest.mark.parametrize(
    ("mode", "value"),
    [
        (ct.PaddingMode.ZERO, 0.0),
        (ct.PaddingMode.NEG_ZERO, -0.0),
        (ct.PaddingMode.NAN, np.nan),
        (ct.PaddingMode.POS_INF, np.inf),
        (ct.PaddingMode.NEG_INF, -np.inf),
    ],
)
def test_padding_modes(interpret: Interpret, mode: ct.PaddingMode, value: float) -> None:
    @ct.kernel
    def kernel(x, y):
        ct.store(y, (0,), ct.load(x, (1,), (8,), padding_mode=mode))

    x, y = np.arange(11, dtype=np.float32), np.ones(8, np.float32)
    interpret(kernel, 1, x, y)
    np.testing.assert_array_equal(y, [8, 9, 10, *[value] * 5])
    assert (np.signbit(y[3:]) == np.signbit(np.float32(value))).all()


@ct.kernel
def grid(out):
    x, y, z = ct.bid(0), ct.bid(1), ct.bid(2)
    flat = (z * ct.num_blocks(1) + y) * ct.num_blocks(0) + x
    ct.store(out, (z, y, x), flat)


def test_block_ids_and_block_counts(interpret: Interpret) -> None:
    out = np.full((2, 3, 4), -1, np.int32)
    interpret(grid, (4, 3, 2), out)
    np.testing.assert_array_equal(out, np.arange(24).reshape(2, 3, 4))


@ct.kernel
def ragged(x, y):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), ct.load(x, (i, j), (4, 8), padding_mode=ct.PaddingMode.ZERO) * 2)


def test_out_of_bounds_elements_are_not_written(interpret: Interpret) -> None:
    x = np.arange(70, dtype=np.float32).reshape(7, 10)
    whole = np.full((9, 12), 5, np.float32)
    interpret(ragged, (2, 2), x, whole[:7, :10])
    np.testing.assert_array_equal(whole[:7, :10], x * 2)
    assert (whole[7:] == 5).all() and (whole[:, 10:] == 5).all()


@ct.kernel
def transposed(x, y):
    ct.store(y, (0, 0), ct.load(x, (1, 0), (4, 2), order="F"))
    ct.store(y, (0, 1), ct.load(x, (1, 0), (4, 2), order=(1, 0)))


def test_order_permutes_the_axes_of_the_array(interpret: Interpret) -> None:
    x, y = np.arange(16, dtype=np.int32).reshape(2, 8), np.zeros((4, 4), np.int32)
    interpret(transposed, 1, x, y)
    np.testing.assert_array_equal(y, np.hstack((x.T[4:], x.T[4:])))


@ct.kernel
def single(x, y):
    ct.store(y, (1, 1), ct.load(x, (3,), shape=()) + ct.load(x, 1, 1).item())


def test_empty_shape_loads_a_scalar(interpret: Interpret) -> None:
    y = np.zeros((2, 2), np.float32)
    interpret(single, 1, np.array([1, 2, 4, 8], np.float32), y)
    np.testing.assert_array_equal(y, [[0, 0], [0, 10]])


@ct.kernel
def counted(x, out):
    ct.store(out, (0,), ct.num_tiles(x, 0, shape=(4, 8)))
    ct.store(out, (1,), ct.num_tiles(x, axis=1, shape=(4, 8)))
    ct.store(out, (2,), ct.num_tiles(x, 0, shape=(4, 8), order="F"))
    ct.store(out, (3,), x.tiled_view((4, 8), traversal_steps=(1, 16)).num_tiles(1))
    ct.store(out, (4,), x.shape[0] * 1000 + x.shape[1] + x.ndim)


def test_num_tiles(interpret: Interpret) -> None:
    out = np.zeros(5, np.int32)
    interpret(counted, 1, np.zeros((42, 65), np.float32), out)
    # With order="F" the first axis of the tile is the last axis of the array: 65 / 4.
    np.testing.assert_array_equal(out, [11, 9, 17, 5, 42067])


@ct.kernel
def windows(x, y):
    view = x.tiled_view(4, traversal_steps=3, padding_mode=ct.PaddingMode.ZERO)
    ct.static_assert(view.tile_shape == (4,) and view.traversal_steps == (3,) and view.dtype == ct.int32)
    for i in range(view.num_tiles(0)):
        ct.store(y, (i, 0), view.load(i)[None, :])


def test_view_with_overlapping_tiles(interpret: Interpret) -> None:
    x, y = np.arange(1, 9, dtype=np.int32), np.zeros((3, 4), np.int32)
    interpret(windows, 1, x, y)
    np.testing.assert_array_equal(y, [[1, 2, 3, 4], [4, 5, 6, 7], [7, 8, 0, 0]])


@ct.kernel
def gaps(x):
    x.tiled_view((2, 2), traversal_steps=(3, 2)).store((1, 1), 7)


def test_view_with_gaps_between_tiles(interpret: Interpret) -> None:
    x = np.zeros((6, 6), np.int32)
    interpret(gaps, 1, x)
    expected = np.zeros((6, 6), np.int32)
    expected[3:5, 2:4] = 7
    np.testing.assert_array_equal(x, expected)


@ct.kernel
def sliced(x, y, start, stop):
    part = x.slice(axis=-1, start=start, stop=stop)
    ct.store(y, (0, 0), ct.load(part, (0, 0), (2, 4), padding_mode=ct.PaddingMode.ZERO) + part.shape[1])


def test_slice_has_its_own_bounds(interpret: Interpret) -> None:
    x, y = np.arange(20, dtype=np.int32).reshape(2, 10), np.zeros((2, 4), np.int32)
    interpret(sliced, 1, x, y, 5, 8)
    np.testing.assert_array_equal(y, [[8, 9, 10, 3], [18, 19, 20, 3]])


@ct.kernel
def written_to_a_slice(x, start, stop):
    ct.store(x.slice(axis=0, start=start, stop=stop), (0,), ct.ones((4,), ct.float32))


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
@pytest.mark.parametrize(("start", "stop"), [(5, 3), (5, 5), (5, 6), (0, 16), (16, 16), (16, 0), (14, 16)])
def test_elements_outside_a_slice_are_not_written(backend: str, start: int, stop: int) -> None:
    x = np.zeros(16, np.float32)
    ct.launch(None, 1, written_to_a_slice, (x, start, stop), backend=backend)
    expected = np.zeros(16, np.float32)
    expected[start : min(stop, start + 4)] = 1
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.int16])
def test_bounds_of_a_slice_may_have_any_signed_type(interpret: Interpret, kind: type) -> None:
    x = np.zeros(16, np.float32)
    interpret(written_to_a_slice, 1, x, kind(5), kind(7))
    assert x.nonzero()[0].tolist() == [5, 6]


@ct.kernel
def constant_slice(x, y):
    part = x.slice(axis=0, start=4, stop=12)
    ct.static_assert(part.shape[0] == 8)
    extents = part.slice(0, 2, 8).shape + part.slice(0, 8, 8).shape
    ct.static_assert(extents == (6, 0))
    ct.store(y, (0,), ct.load(part.slice(0, 2, 8), (0,), (8,), padding_mode=ct.PaddingMode.ZERO))


def test_slice_with_constant_bounds_has_a_static_extent(interpret: Interpret) -> None:
    x, y = np.arange(16, dtype=np.int32), np.zeros(8, np.int32)
    interpret(constant_slice, 1, x, y)
    assert y.tolist() == [6, 7, 8, 9, 10, 11, 0, 0]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float64])
def test_default_padding_of_a_gather_has_the_element_type(interpret: Interpret, dtype: type) -> None:
    @ct.kernel
    def moved(x, y):
        ct.scatter(y, ct.arange(4, dtype=ct.int32), ct.gather(x, ct.arange(4, dtype=ct.int32)))

    x, y = np.array([1, 0, 1], dtype), np.ones(4, dtype)
    interpret(moved, 1, x, y)
    assert y.tolist() == [1, 0, 1, 0]


@ct.kernel
def gathered(x, rows, y):
    row = ct.load(rows, (0,), (4,))
    column = ct.arange(4, dtype=ct.int32)
    ct.store(y, (0, 0), ct.gather(x, (row[:, None], column), mask=column != 2, padding_value=-1))


def test_gather_pads_masked_and_out_of_bounds_elements(interpret: Interpret) -> None:
    x = np.arange(15, dtype=np.int32).reshape(5, 3)
    rows, y = np.array([4, 0, 5, -1], np.int32), np.zeros((4, 4), np.int32)
    interpret(gathered, 1, x, rows, y)
    np.testing.assert_array_equal(y, [[12, 13, -1, -1], [0, 1, -1, -1], [-1] * 4, [-1] * 4])


@ct.kernel
def moved_rows(x, rows, y, start):
    chosen = ct.load(rows, (0,), (4,))
    part = ct.load_advanced_indexing(x, (chosen, ct.Slice(start, 2)), padding_mode=ct.PaddingMode.ZERO)
    ct.store_advanced_indexing(y, (ct.arange(4, dtype=ct.int64) * 2, ct.Slice(1, 2)), part)


def test_slices_are_loaded_and_stored_by_index(interpret: Interpret) -> None:
    x = np.arange(1, 16, dtype=np.int32).reshape(5, 3)
    rows, y = np.array([4, 0, 5, -1], np.int32), np.zeros((5, 3), np.int32)
    interpret(moved_rows, 1, x, rows, y, 2)
    np.testing.assert_array_equal(y, [[0, 15, 0], [0, 0, 0], [0, 3, 0], [0, 0, 0], [0, 0, 0]])


@ct.kernel
def scattered(y, indices):
    ct.scatter(y, ct.load(indices, (0,), (4,)), ct.arange(4, dtype=ct.int32) + 1)


def test_scatter_drops_out_of_bounds_elements(interpret: Interpret) -> None:
    y = np.zeros(6, np.int32)
    interpret(scattered, 1, y, np.array([5, 0, 9, -2], np.int32))
    np.testing.assert_array_equal(y, [2, 0, 0, 0, 0, 1])


@ct.kernel
def hinted(x, y):
    tile = ct.load(x, (0,), (8,), latency=3, allow_tma=False, check_bounds=False)
    flag = ct.load(x, (1,), (8,), memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=ct.MemoryScope.DEVICE)
    ct.store(y, (0,), tile + flag)


def test_hints_orders_and_bounds_become_attributes(tile_text: Callable[[Any, str], str]) -> None:
    text = tile_text(hinted, "x: f32[?], y: f32[?]")
    assert "optimization_hints = <default = {allow_tma = false, latency = 3}> inbounds = [true]" in text
    assert "load_view_tko acquire device" in text


def test_view_is_created_once_at_the_entry(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(x, y, n):
        for i in range(n):
            ct.store(y, (i,), ct.load(x, (i,), (8,)) + ct.load(x, (i + 1,), (8,)))

    text = tile_text(kernel, "x: f32[?], y: f32[?], n: i32")
    assert text.count("make_partition_view") == 2
    assert text.index("make_partition_view") < text.index(" = for ")


def test_alignment_and_divisors_of_an_array_become_assumptions(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(x):
        ct.store(x, (0, 0, 0), 1.0)

    text = tile_text(kernel, "x: f32[4,?%24,?] strides (?%8,100,1) align 8")
    assert "assume div_by<8>, %arg0 : tile<ptr<f32>>" in text
    assert text.count("bounded<0, ?>") == 3
    # 24 is 3 * 8, and div_by has only powers of two.
    assert text.count("assume div_by<8>") == 3
    assert "tensor_view<4x?x?xf32, strides=[?,100,1]>" in text
