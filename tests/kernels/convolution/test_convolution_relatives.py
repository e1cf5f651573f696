"""Gradients, transposed, grouped and depthwise convolutions, and pooling agree with numpy on both targets.

Operands are small integers in float16, so that sums in float32 are exact, and no extent is a multiple of its tile.
"""

from __future__ import annotations

import convolution_relatives
import direct_convolution as reference
import matrix_kernels
import ml_dtypes
import numpy as np
import pytest
from compare import ROUNDINGS, assert_within, run_everywhere

import tilec as ct

SEEDS = range(4)
TILE = (64, 32, 32)


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(np.float16)


def pixel_tiles(extents: tuple[int, ...], pixels: int = TILE[0]) -> int:
    """The number of tiles along the pixels of images [N, spatial.., C]."""
    return ct.cdiv(int(np.prod(extents[:-1])), pixels)


def assert_everywhere(kernel, grid, args, output, exact, target, tolerance=0.0, seeds=SEEDS) -> None:
    for (found,) in run_everywhere(kernel, grid, args, (output,), target=target, hints={}, seeds=seeds):
        assert_within(found, exact, tolerance)


@pytest.mark.parametrize(
    ("window", "dilation", "padding"), [((3, 3), 1, 1), ((3, 2), 2, 0), ((2, 3), 1, 2), ((1, 1), 1, 0)], ids=str
)
def test_input_gradient(target, random, window, dilation, padding):
    x, f = (2, 9, 11, 40), integers(random, 56, *window, 40)
    dy = integers(random, 2, *reference.output_extents(x[1:3], window, 1, dilation, padding), 56)
    exact = reference.conv_input_gradient(dy, f, x[1:3], 1, dilation, padding)
    args = (dy, f, np.zeros(x, np.float32), *window, dilation, padding, *TILE)
    grid = (pixel_tiles(x), 2)
    assert_everywhere(convolution_relatives.input_gradient, grid, args, 2, exact, target)


# Images, rows, columns, channels and filters: rows that are not aligned to 16 bytes, one element, no images, windows
# that are mostly padding.
EXTENTS = [(2, 7, 9, 3, 5), (1, 1, 1, 1, 1), (0, 7, 9, 8, 8), (2, 2, 2, 8, 8), (1, 3, 40, 17, 9)]


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_gradients_of_small_extents(target, random, extents):
    *images, channels, filters = extents
    x, dy = integers(random, *images, channels), integers(random, *images, filters)
    f = integers(random, filters, 3, 3, channels)
    exact = reference.conv_input_gradient(dy, f, images[1:], 1, 1, 1)
    args, grid = (dy, f, np.zeros(x.shape, np.float32), 3, 3, 1, 1, *TILE), (max(1, pixel_tiles(x.shape)), 1)
    assert_everywhere(convolution_relatives.input_gradient, grid, args, 2, exact, target, seeds=(0,))
    exact = reference.conv_filter_gradient(x, dy, (3, 3), 1, 1, 1)
    args, grid = (x, dy, np.full(f.shape, np.nan, np.float32), 3, 3, 1, 1, 1, *TILE), (1, 1, 9)
    assert_everywhere(convolution_relatives.filter_gradient, grid, args, 2, exact, target, seeds=(0,))


def phase_tiles(extents: tuple[int, ...], window: int, stride: int, padding: int) -> int:
    """The number of tiles along the pixels of one phase: as many per image as there are in the longest phase."""
    outputs = reference.output_extents(extents[1:3], (window, window), stride, 1, padding)
    further = ct.cdiv(window - 1 - padding, stride) - padding // stride
    return pixel_tiles((extents[0], *(extent + further for extent in outputs), 1))


# Windows smaller and larger than the stride, of equal size, and paddings beyond the stride and the window.
STRIDED = [(3, 2, 1), (7, 2, 3), (4, 3, 2), (2, 3, 0), (3, 3, 4), (5, 1, 2)]


@pytest.mark.parametrize(("window", "stride", "padding"), STRIDED, ids=str)
def test_strided_input_gradient(target, random, window, stride, padding):
    x, f = (2, 10, 13, 40), integers(random, 56, window, window, 40)
    dy = integers(random, 2, *reference.output_extents(x[1:3], (window, window), stride, 1, padding), 56)
    exact = reference.conv_input_gradient(dy, f, x[1:3], stride, 1, padding)
    args = (dy, f, np.full(x, np.nan, np.float32), window, stride, padding, *TILE)
    grid = (phase_tiles(x, window, stride, padding), 2, stride * stride)
    assert_everywhere(convolution_relatives.strided_input_gradient, grid, args, 2, exact, target)


@pytest.mark.parametrize("output_padding", [0, 1])
def test_transposed_convolution(target, random, output_padding):
    x, f = integers(random, 2, 5, 6, 56), integers(random, 56, 4, 4, 40)
    exact = reference.conv_transposed(x, f, 3, 1, 1, output_padding=output_padding)
    args = (x, f, np.full(exact.shape, np.nan, np.float32), 4, 3, 1, *TILE)
    grid = (phase_tiles(exact.shape, 4, 3, 1), 2, 9)
    assert_everywhere(convolution_relatives.strided_input_gradient, grid, args, 2, exact, target)


# Windows, strides, dilations and paddings of gradients of the filters.
FILTERS = [((3, 3), 1, 1, 1), ((3, 2), 2, 1, 1), ((2, 3), 1, 2, 0), ((1, 1), 2, 1, 0)]


@pytest.mark.parametrize(("window", "stride", "dilation", "padding"), FILTERS, ids=str)
def test_filter_gradient(target, random, window, stride, dilation, padding):
    x = integers(random, 2, 9, 12, 40)
    dy = integers(random, 2, *reference.output_extents((9, 12), window, stride, dilation, padding), 72)
    exact = reference.conv_filter_gradient(x, dy, window, stride, dilation, padding)
    args = (x, dy, np.zeros(exact.shape, np.float32), *window, stride, dilation, padding, *TILE)
    grid = (2, 2, window[0] * window[1])
    assert_everywhere(convolution_relatives.filter_gradient, grid, args, 2, exact, target)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float32])
def test_gradients_of_other_types(target, random, dtype):
    """Pixels are the depth of the multiply and not adjacent in memory, which wgmma reads of 16-bit elements alone."""
    x, dy = (integers(random, 2, 7, 9, channels).astype(dtype) for channels in (48, 80))
    exact = reference.conv_filter_gradient(x.astype(np.float64), dy.astype(np.float64), (3, 3), 1, 1, 1)
    args = (x, dy, np.zeros(exact.shape, np.float32), 3, 3, 1, 1, 1, *TILE)
    assert_everywhere(convolution_relatives.filter_gradient, (2, 2, 9), args, 2, exact, target, seeds=(0, 1))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("window", "stride", "padding"), [((3, 3), 1, 1), ((3, 2), 2, 0)], ids=str)
def test_filter_gradient_in_parts(target, random, window, stride, padding, parts):
    """The parts are added to what the array has."""
    x = integers(random, 2, 9, 12, 72)
    dy = integers(random, 2, *reference.output_extents((9, 12), window, stride, 1, padding), 40)
    exact = reference.conv_filter_gradient(x, dy, window, stride, 1, padding).transpose(1, 2, 3, 0) + 1
    args = (x, dy, np.ones(exact.shape, np.float32), *window, stride, padding, parts, *TILE)
    grid = (2, 2, window[0] * window[1] * parts)
    assert_everywhere(convolution_relatives.filter_gradient_in_parts, grid, args, 2, exact, target)


def test_random_gradients(target):
    """The values of training, which are not integers, in float16 and summed in float32."""
    random = np.random.default_rng(3)
    x, dy = (random.standard_normal((2, 9, 12, channels)).astype(np.float16) for channels in (40, 72))
    exact = reference.conv_filter_gradient(x, dy, (3, 3), 1, 1, 1)
    magnitude = reference.conv_filter_gradient(abs(x), abs(dy), (3, 3), 1, 1, 1)
    # One rounding of the sum per product, to float32.
    lost = 2 * 9 * 12 * 2.0**-24 * magnitude
    tolerance = lost + ROUNDINGS["float16"] * (abs(exact) + lost)
    args = (x, dy, np.zeros(exact.shape, np.float16), 3, 3, 1, 1, 1, *TILE)
    assert_everywhere(convolution_relatives.filter_gradient, (2, 2, 9), args, 2, exact, target, tolerance)


@pytest.mark.parametrize(("groups", "channels", "filters"), [(2, 64, 32), (3, 32, 64), (1, 32, 32)], ids=str)
def test_groups_of_whole_tiles(target, random, groups, channels, filters):
    x, f = integers(random, 2, 7, 9, groups * channels), integers(random, groups * filters, 3, 2, channels)
    exact = reference.conv_forward(x, f, 2, 1, 1, groups)
    args = (x, f, np.zeros(exact.shape, np.float32), 3, 2, 2, 1, *TILE)
    grid = (pixel_tiles(exact.shape), groups * filters // 32)
    assert_everywhere(convolution_relatives.grouped, grid, args, 2, exact, target)


@pytest.mark.parametrize(("groups", "channels", "filters"), [(3, 24, 40), (5, 4, 3)], ids=str)
def test_groups_of_any_size(target, random, groups, channels, filters):
    """The channels of the next group do not enter, though they are in memory after the ones of a group."""
    x, f = integers(random, 2, 7, 9, groups * channels), integers(random, groups * filters, 3, 2, channels)
    x[..., channels : 2 * channels] = np.inf
    with np.errstate(invalid="ignore"):
        exact = reference.conv_forward(x, f, 2, 1, 1, groups)
    finite = [number for number in range(groups) if number != 1]
    args = (x, f, np.zeros(exact.shape, np.float32), 3, 2, 2, 1, *TILE)
    grid = (pixel_tiles(exact.shape), ct.cdiv(filters, 32), groups)
    for (found,) in run_everywhere(
        convolution_relatives.grouped_slices, grid, args, (2,), target=target, hints={}, seeds=SEEDS
    ):
        for group in finite:
            own = slice(group * filters, (group + 1) * filters)
            assert np.array_equal(found[..., own], exact[..., own])


@pytest.mark.parametrize(
    ("window", "stride", "dilation", "padding"), [((3, 3), 1, 1, 1), ((3, 2), 2, 1, 1), ((2, 3), 1, 3, 2)], ids=str
)
def test_depthwise(target, random, window, stride, dilation, padding):
    x, f = integers(random, 2, 9, 12, 40), integers(random, *window, 40)
    exact = reference.conv_forward(x, f.transpose(2, 0, 1)[..., None], stride, dilation, padding, 40)
    args = (x, f, np.zeros(exact.shape, np.float32), *window, stride, dilation, padding, 32, 32)
    grid = (pixel_tiles(exact.shape, 32), 2)
    assert_everywhere(convolution_relatives.depthwise, grid, args, 2, exact, target)


def test_window_of_one_tap_is_a_matrix_multiply(target, random):
    """The sums of `pointwise` have the order and so the bits of those of `matmul`."""
    x = random.standard_normal((2, 9, 12, 40)).astype(np.float16)
    f = random.standard_normal((40, 72)).astype(np.float16)
    y, grid = np.zeros((2, 9, 12, 72), np.float16), (pixel_tiles(x.shape), 3)
    images = run_everywhere(
        convolution_relatives.pointwise, grid, (x, f, y, 1, *TILE), (2,), target=target, hints={}, seeds=SEEDS
    )
    matrices = (x.reshape(-1, 40), f, y.reshape(-1, 72), *TILE)
    products = run_everywhere(matrix_kernels.matmul, grid, matrices, (2,), target=target, hints={}, seeds=SEEDS)
    for (found,), (expected,) in zip(images, products, strict=True):
        assert np.array_equal(found.reshape(expected.shape), expected)


def test_every_other_pixel(target, random):
    x, f = integers(random, 2, 9, 12, 40), integers(random, 40, 72)
    exact = x[:, ::2, ::2].astype(np.float64) @ f.astype(np.float64)
    args = (x, f, np.zeros(exact.shape, np.float32), 2, *TILE)
    assert_everywhere(convolution_relatives.pointwise, (pixel_tiles(exact.shape), 3), args, 2, exact, target)


# Windows, strides and paddings of pooling.
POOLS = [((3, 3), 2, 1), ((2, 3), 3, 0), ((5, 4), 1, 2)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("window", "stride", "padding"), POOLS, ids=str)
def test_max_pool(target, random, window, stride, padding, dtype):
    """All elements are negative, so zeros of the padding would be the largest ones."""
    x = -1 - abs(random.standard_normal((2, 9, 12, 40)).astype(dtype))
    exact = reference.max_pool(x, window, stride, 1, padding)
    args = (x, np.zeros(exact.shape, dtype), *window, stride, padding, 32, 32)
    grid = (pixel_tiles(exact.shape, 32), 2)
    assert_everywhere(convolution_relatives.max_pool, grid, args, 1, exact, target)


@pytest.mark.parametrize("count_padding", [True, False])
@pytest.mark.parametrize(("window", "stride", "padding"), POOLS, ids=str)
def test_average_pool(target, random, window, stride, padding, count_padding):
    x = integers(random, 2, 9, 12, 40)
    exact = reference.average_pool(x, window, stride, padding, count_padding)
    args = (x, np.zeros(exact.shape, np.float32), *window, stride, padding, 32, 32, count_padding)
    grid = (pixel_tiles(exact.shape, 32), 2)
    # The quotient alone is rounded.
    assert_everywhere(convolution_relatives.average_pool, grid, args, 1, exact, target, 2.0**-23 * abs(exact))


@pytest.mark.parametrize(("taps", "dilation"), [(4, 1), (3, 2), (1, 1)])
def test_causal(target, random, taps, dilation):
    x, f = integers(random, 3, 37, 40), integers(random, taps, 40, 72)
    exact = reference.conv_forward(x, f.transpose(2, 0, 1), 1, dilation, [((taps - 1) * dilation, 0)])
    args = (x, f, np.zeros(exact.shape, np.float32), taps, dilation, *TILE)
    assert_everywhere(convolution_relatives.causal, (pixel_tiles(x.shape), 3), args, 2, exact, target)


def test_causal_depthwise(target, random):
    x, f, bias = integers(random, 3, 37, 40), integers(random, 4, 40), integers(random, 40)
    total = reference.conv_forward(x, f.T[..., None], 1, 1, [(3, 0)], 40) + bias
    exact = total / (1 + np.exp(-total))
    args = (x, f, bias, np.zeros(exact.shape, np.float32), 4, 32, 32)
    grid = (pixel_tiles(x.shape, 32), 2)
    # The exponential has an error of two units in the last place (CUDA programming guide, single-precision functions).
    tolerance = (2 + abs(total)) * 2.0**-22 * abs(exact) + 2.0**-24
    assert_everywhere(convolution_relatives.causal_depthwise, grid, args, 3, exact, target, tolerance)


@pytest.mark.parametrize(("window", "stride", "padding"), [((3, 3, 3), 1, 1), ((2, 3, 1), 2, 0)], ids=str)
def test_volumes(target, random, window, stride, padding):
    x, f = integers(random, 2, 4, 5, 6, 40), integers(random, *window, 40, 48)
    exact = reference.conv_forward(x, f.transpose(4, 0, 1, 2, 3), stride, 1, padding)
    args = (x, f, np.zeros(exact.shape, np.float32), *window, stride, padding, *TILE)
    assert_everywhere(convolution_relatives.volumes, (pixel_tiles(exact.shape), 2), args, 2, exact, target)
