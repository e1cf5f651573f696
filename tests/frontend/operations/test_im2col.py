"""Im2col views: what loads and stores through them access, compared with direct convolution in numpy, and their types.

Messages of errors are in `mistakes/`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as ct

sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))

from direct_convolution import Geometry, at_tap, conv_forward

Interpret = Callable[..., None]
Text = Callable[[Any, str], str]


@dataclass(frozen=True)
class Case:
    """Images [N, spatial.., C] and the parameters of a window over them, as a kernel writes them."""

    extents: tuple[int, ...]
    window: Any
    stride: Any = 1
    dilation: Any = 1
    padding: Any = 0

    @property
    def geometry(self) -> tuple[Sequence[int], Any, Any, Any]:
        """Window, stride, dilation and padding as `direct_convolution` takes them."""
        rank = len(self.extents) - 2
        window = (self.window,) * rank if isinstance(self.window, int) else self.window
        return window, self.stride, self.dilation, self.padding

    @property
    def outputs(self) -> tuple[int, ...]:
        return Geometry.make(*self.geometry).output_extents(self.extents[1:-1])

    def images(self) -> np.ndarray:
        """Distinct positive elements, so that each element of a tile shows where it was read."""
        return np.arange(1, math.prod(self.extents) + 1, dtype=np.float32).reshape(self.extents)


CASES = {
    "one tap": Case((2, 5, 3, 4), 1),
    "same extents": Case((2, 5, 6, 4), 3, padding=1),
    "strides": Case((1, 9, 8, 4), (3, 2), stride=(2, 3)),
    "dilations": Case((2, 9, 8, 4), 3, dilation=(2, 3), padding=(2, 1)),
    "asymmetric padding": Case((1, 6, 5, 4), (2, 4), padding=((0, 1), (2, 1))),
    "negative padding": Case((1, 8, 8, 4), 3, padding=((-1, -2), (1, -1))),
    "partial channels": Case((1, 4, 4, 7), 2, stride=2),
    "one dimension": Case((3, 11, 4), 3, stride=2, dilation=2, padding=((3, 1),)),
    "three dimensions": Case((2, 4, 5, 3, 2), (2, 3, 1), stride=(1, 2, 1), padding=(1, 0, (0, 1))),
    "window larger than the images": Case((1, 2, 2, 4), 5, padding=1),
}
EACH_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def in_tiles(matrix: np.ndarray, tile: tuple[int, int]) -> np.ndarray:
    """A matrix with rows and columns of zeros up to whole tiles."""
    return np.pad(matrix, [(0, -extent % step) for extent, step in zip(matrix.shape, tile, strict=True)])


def expected_matrix(case: Case, tap: tuple[int, ...], tile: tuple[int, int], mode: str | None) -> np.ndarray:
    """The matrix of pixels by channels at a tap, in whole tiles."""
    read = at_tap(case.images(), tap, *case.geometry)
    if mode in (None, "im2col"):
        return in_tiles(read.reshape(-1, read.shape[-1]), tile)
    # Each position of the spatial dimensions but the last has tiles of its own, which run over all images.
    rows = [read[:, *position].reshape(-1, read.shape[-1]) for position in np.ndindex(read.shape[1:-2])]
    return np.concatenate([in_tiles(row, tile) for row in [np.empty((0, read.shape[-1]), read.dtype), *rows]])


def load_matrix(interpret: Interpret, case: Case, tap: tuple[int, ...], tile: tuple[int, int], mode: str | None) -> Any:
    """The matrix of a view at a tap, loaded tile by tile."""
    window, stride, dilation, padding = case.window, case.stride, case.dilation, case.padding

    @ct.kernel
    def kernel(x, y):
        view = ct.im2col_view(x, window=window, stride=stride, dilation=dilation, padding=padding, tile=tile, mode=mode)
        for i in range(view.num_tiles(0)):
            for j in range(view.num_tiles(1)):
                ct.store(y, (i, j), ct.load(view, index=(i, j), offset=tap))

    found = np.full(expected_matrix(case, tap, tile, mode).shape, -1, np.float32)
    interpret(kernel, 1, case.images(), found)
    return found


@EACH_CASE
def test_load_at_each_tap(interpret: Interpret, case: Case) -> None:
    for tap in Geometry.make(*case.geometry).taps():
        found = load_matrix(interpret, case, tap, (8, 4), None)
        np.testing.assert_array_equal(found, expected_matrix(case, tap, (8, 4), None))


def random_case(random: np.random.Generator) -> Case:
    rank = int(random.integers(1, 4))
    window, stride, dilation = (tuple(map(int, random.integers(1, high, rank))) for high in (4, 4, 3))
    padding = tuple((int(lower), int(upper)) for lower, upper in random.integers(-1, 4, (rank, 2)))
    extents = tuple(map(int, random.integers(1, 8, rank)))
    return Case((int(random.integers(1, 4)), *extents, int(random.integers(1, 6))), window, stride, dilation, padding)


@pytest.mark.parametrize("seed", range(20))
def test_load_of_a_random_case(interpret: Interpret, seed: int) -> None:
    random = np.random.default_rng(seed)
    case, mode = random_case(random), [None, "im2col", "w"][random.integers(3)]
    tap = tuple(int(random.integers(taps)) for taps in case.window)
    found = load_matrix(interpret, case, tap, (4, 4), mode)
    np.testing.assert_array_equal(found, expected_matrix(case, tap, (4, 4), mode))


@pytest.mark.parametrize("name", ["strides", "dilations", "one dimension", "three dimensions"])
@pytest.mark.parametrize(("mode", "pixels"), [("im2col", 8), ("w", 4), ("w128", 128), ("stationary", 128)])
def test_order_of_pixels_in_each_mode(interpret: Interpret, name: str, mode: str, pixels: int) -> None:
    case = CASES[name]
    tap = tuple(taps - 1 for taps in case.geometry[0])
    found = load_matrix(interpret, case, tap, (pixels, 4), mode)
    np.testing.assert_array_equal(found, expected_matrix(case, tap, (pixels, 4), mode))


@EACH_CASE
def test_store_at_a_tap(interpret: Interpret, case: Case) -> None:
    """Each element that some pixel reads at the tap is written; all others keep their value."""
    window, stride, dilation, padding = case.window, case.stride, case.dilation, case.padding
    tap = tuple(taps - 1 for taps in case.geometry[0])

    @ct.kernel
    def kernel(x):
        view = ct.im2col_view(x, window, stride=stride, dilation=dilation, padding=padding, tile=(8, 4))
        for i in range(view.num_tiles(0)):
            for j in range(view.num_tiles(1)):
                ct.store(view, index=(i, j), tile=-ct.load(view, index=(i, j), offset=tap), offset=tap)

    x = case.images()
    read = at_tap(x, tap, *case.geometry)
    interpret(kernel, 1, x)
    np.testing.assert_array_equal(x, np.where(np.isin(case.images(), read), -case.images(), case.images()))


@EACH_CASE
def test_sum_over_taps_and_channels_is_the_convolution(interpret: Interpret, case: Case) -> None:
    window, stride, dilation, padding = case.window, case.stride, case.dilation, case.padding
    taps = list(enumerate(Geometry.make(*case.geometry).taps()))

    @ct.kernel
    def kernel(x, filters, y):
        view = ct.im2col_view(x, window, stride=stride, dilation=dilation, padding=padding, tile=(8, 4))
        total = ct.zeros((8, 8), ct.float32)
        for c in range(view.num_tiles(1)):
            for number, tap in ct.static_iter(taps):
                weights = ct.load(filters, (number, c, 0), (1, 4, 8), padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(view.load((ct.bid(0), c), offset=tap), weights.reshape((4, 8)), total)
        ct.store(y, (ct.bid(0), 0), total)

    random = np.random.default_rng(2)
    x = random.integers(-4, 5, case.extents).astype(np.float32)
    filters = random.integers(-4, 5, (len(taps), case.extents[-1], 8)).astype(np.float32)
    exact = conv_forward(x, np.moveaxis(filters, -1, 0).reshape(8, *case.geometry[0], -1), *case.geometry[1:])
    pixels = math.prod(exact.shape[:-1])
    y = np.zeros((pixels, 8), np.float32)
    interpret(kernel, ct.cdiv(pixels, 8), x, filters, y)
    np.testing.assert_array_equal(y, exact.reshape(pixels, 8))


@EACH_CASE
@pytest.mark.parametrize("static", [False, True], ids=["extents at run time", "constant extents"])
def test_output_shape_and_number_of_tiles(case: Case, static: bool, interpret: Interpret) -> None:
    window, stride, dilation, padding = case.window, case.stride, case.dilation, case.padding
    rank = len(case.extents) - 2
    sliced = list(enumerate(case.extents)) if static else []

    @ct.kernel
    def kernel(x, y):
        for axis, extent in ct.static_iter(sliced):
            x = x.slice(axis, 0, extent)
        for mode, first in ct.static_iter(((None, 0), ("w", 5))):
            view = ct.im2col_view(x, window, stride=stride, dilation=dilation, padding=padding, tile=(8, 4), mode=mode)
            for axis in ct.static_iter(range(rank)):
                ct.store(y, first + axis, view.output_shape[axis])
            ct.store(y, first + 3, view.num_tiles(0))
            ct.store(y, first + 4, view.num_tiles(1))
        again = ct.im2col_output_shape(x.shape[1:-1], window, stride=stride, dilation=dilation, padding=padding)
        for axis in ct.static_iter(range(rank)):
            ct.store(y, 10 + axis, again[axis])

    y = np.zeros(13, np.int32)
    interpret(kernel, 1, case.images(), y)
    outputs = list(case.outputs) + [0] * (3 - rank)
    first_tap = (0,) * rank
    tiles = [len(expected_matrix(case, first_tap, (8, 4), mode)) // 8 for mode in (None, "w")]
    channels = -(-case.extents[-1] // 4)
    assert y.tolist() == [*outputs, tiles[0], channels, *outputs, tiles[1], channels, *outputs]


def test_channels_need_not_be_contiguous(interpret: Interpret) -> None:
    """A view of images stored as [N, C, H, W]."""

    @ct.kernel
    def kernel(x, y):
        ct.store(y, (0, 0), ct.load(ct.im2col_view(x, 2, tile=(16, 4)), (0, 0), offset=(1, 0)))

    x = np.arange(2 * 3 * 4 * 3, dtype=np.int16).reshape(2, 3, 4, 3).transpose(0, 2, 3, 1)
    y = np.full((12, 3), -1, np.int16)
    interpret(kernel, 1, x, y)
    np.testing.assert_array_equal(y, x[:, 1:, :-1].reshape(12, 3))


DTYPES = [bool, np.int8, np.uint16, np.int64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types(interpret: Interpret, dtype: type) -> None:
    @ct.kernel
    def kernel(x, y):
        ct.store(y, (0, 0), ct.load(ct.im2col_view(x, 3, padding=1, tile=(4, 2)), (0, 0), offset=2))

    x, y = np.arange(1, 9).reshape(1, 4, 2).astype(dtype), np.ones((4, 2), dtype)
    interpret(kernel, 1, x, y)
    np.testing.assert_array_equal(y, np.concatenate([x[0, 1:], np.zeros((1, 2), dtype)]))


def test_elements_without_a_zero_are_refused(error_message: Text) -> None:
    def kernel(x):
        ct.im2col_view(x, 3, tile=(16, 16))

    assert "expected elements of at least 8 bits that can be zero" in error_message(kernel, "x: f8E8M0FNU[?,?,?,16]")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"order": "F"}, "its tiles have the axes pixels and channels"),
        ({"check_bounds": False}, "every access is checked"),
    ],
)
def test_options_of_loads_that_do_not_apply(error_message: Text, options: dict[str, Any], reason: str) -> None:
    def kernel(x):
        ct.load(ct.im2col_view(x, 3, tile=(16, 16)), (0, 0), offset=(0, 0), **options)

    found = f"'ct.load', argument '{next(iter(options))}': expected no such argument for an im2col view: {reason}\n"
    assert found in error_message(kernel, "x: f16[?,?,?,16]")


@pytest.mark.parametrize(
    ("dtype", "extent", "padding"),
    [("int32", 2**31 - 1, 3), ("int32", 5, ((-9, 0),)), ("int64", 2**32 + 9, (-(2**30),)), ("int16", 9, 1)],
)
def test_output_shape_near_the_limits(interpret: Interpret, dtype: str, extent: int, padding: Any) -> None:
    """No intermediate sum wraps around: of extents up to 2^31 - 1 with positive padding, or of wide extents."""
    kind = getattr(ct, dtype)

    @ct.kernel
    def kernel(n: ct.ScalarInt64, y):
        (count,) = ct.im2col_output_shape(n.astype(kind), 3, stride=2, padding=padding)
        ct.store(y, 0, count)

    y = np.zeros(1, np.int32)
    interpret(kernel, 1, extent, y)
    assert (int(y[0]),) == ct.im2col_output_shape(extent, 3, stride=2, padding=padding)


@EACH_CASE
def test_output_shape_on_the_host(case: Case) -> None:
    parameters = {"stride": case.stride, "dilation": case.dilation, "padding": case.padding}
    assert ct.im2col_output_shape(case.extents[1:-1], case.window, **parameters) == case.outputs


def test_output_shape_of_one_dimension_on_the_host() -> None:
    assert ct.im2col_output_shape(11, window=3, stride=np.int64(2)) == (5,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"window": (3, 3, 3)}, "argument 'window': expected an integer, or one entry per spatial dimension, 2 in all"),
        ({"window": 0}, "argument 'window': expected 1 to 2^31 - 1, got 0"),
        ({"window": 3, "stride": 1.5}, "argument 'stride': expected integers, got 1.5"),
        ({"window": 3, "padding": ((1, 2, 3), 0)}, "argument 'padding': expected an integer or a pair (lower, upper)"),
    ],
)
def test_parameters_on_the_host_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ct.TileTypeError, match=re.escape(f"'ct.im2col_output_shape', {message}")):
        ct.im2col_output_shape((8, 8), **parameters)


class TestText:
    """The Tile IR of im2col views."""

    def test_view_is_made_once_with_its_parameters(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x, n):
            for i in range(n):
                view = ct.im2col_view(x, 3, stride=(2, 1), padding=(1, (0, 1)), tile=(64, 32), mode="im2col")
                ct.load(view, (i, 0), offset=(1, i), latency=3, allow_tma=False)
                view.load((i, 0), offset=(0, 0))

        text = tile_text(kernel, "x: f16[?,?,?,64], n: i32")
        assert text.count("make_im2col_view") == 1
        parameters = "window=[3, 3], dilation=[1, 1], stride=[2, 1], lower=[1, 0], upper=[1, 1], mode=im2col"
        assert f"tile=(64x32), {parameters}, tensor_view<?x?x?x64xf16" in text
        assert "optimization_hints = <default = {allow_tma = false, latency = 3}>" in text

    @pytest.mark.parametrize("channels", [4, 8])
    def test_slices_of_tfloat32_count_its_bytes_in_memory(self, tile_text: Text, channels: int) -> None:
        @ct.kernel
        def kernel(x):
            ct.im2col_view(x, 1, tile=(8, 8), interleave=channels).store((0, 0), 1.0)

        assert f"interleave={channels}, " in tile_text(kernel, "x: tf32[?,?,?,?]")

    def test_constant_extents_are_constants(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x):
            view = ct.im2col_view(x, 3, tile=(64, 32))
            tiles = view.num_tiles(0), view.num_tiles(1)
            ct.static_assert(view.output_shape == (6, 4) and tiles == (1, 2))
            ct.static_assert(view.dtype is ct.float16 and view.tile_shape == (64, 32) and view.window == (3, 3))
            shape = ct.im2col_output_shape(x.shape[1:3], 3)
            ct.static_assert(shape == view.output_shape)

        assert "tilex" not in tile_text(kernel, "x: f16[2,8,6,64]")

    def test_only_extents_at_run_time_are_scalars(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x, y):
            view = ct.im2col_view(x, 3, tile=(64, 32))
            ct.static_assert(view.output_shape[1] == 4)
            ct.store(y, 0, view.output_shape[0])

        assert tile_text(kernel, "x: f16[?,?,6,64], y: i32[?]").count("get_im2col_output_shape") >= 1

    def test_indices_and_offsets_have_one_type(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x, n: ct.ScalarInt64):
            ct.im2col_view(x, 3, tile=(64, 32)).load((n, 0), offset=(1, 2))

        assert re.search(r"load_im2col_tko .*>, tile<i64>", tile_text(kernel, "x: f16[?,?,?,64], n: i64"))


class TestTokenOrder:
    """Accesses through im2col views and through other views of an array are ordered."""

    def lines(self, text: str) -> list[str]:
        kept = [line.strip() for line in text.splitlines() if re.search(r"_tko|join_tokens", line)]
        return [re.split(r" : |\[", line)[0] + (re.search(r" token = \S+", line) or [""])[0] for line in kept]

    def test_load_waits_for_the_store_of_a_tiled_view(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x):
            ct.store(x, (0, 0, 0), ct.zeros((1, 4, 4), ct.float32))
            view = ct.im2col_view(x, 1, tile=(4, 4))
            ct.store(view, (1, 0), ct.load(view, (0, 0)))

        assert self.lines(tile_text(kernel, "x: f32[?,?,?]")) == [
            "%0 = store_view_tko weak %cst_0_f32, %pview",
            "%tile, %result_token = tilex.load_im2col_tko weak %im2colview token = %0",
            "%1 = join_tokens %0, %result_token",
            "%2 = tilex.store_im2col_tko weak %tile, %im2colview token = %1",
        ]

    def test_arrays_that_are_only_loaded_have_no_tokens(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x, y):
            ct.store(y, (0, 0), ct.im2col_view(x, 1, tile=(4, 4)).load((0, 0)))

        assert not any(" token = " in line for line in self.lines(tile_text(kernel, "x: f32[?,?,?], y: f32[?,?]")))

    def test_slices_share_the_array(self, tile_text: Text) -> None:
        @ct.kernel
        def kernel(x):
            ct.im2col_view(x.slice(0, 0, 1), 1, tile=(4, 4)).store((0, 0), 1)
            print(ct.im2col_view(x, 3, tile=(4, 4)).load((0, 0), offset=2))

        store, load = self.lines(tile_text(kernel, "x: f32[?,?,?]"))[:2]
        token = store.partition(" ")[0]
        assert "tilex.store_im2col_tko" in store and "tilex.load_im2col_tko" in load
        assert load.endswith(f" token = {token}")
