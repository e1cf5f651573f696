"""The numpy reference of convolution: values worked by hand, and gradients as adjoints of the convolution."""

from __future__ import annotations

import numpy as np
import pytest
from direct_convolution import (
    at_tap,
    average_pool,
    conv_filter_gradient,
    conv_forward,
    conv_input_gradient,
    conv_transposed,
    max_pool,
    output_extents,
)

# One image of 1, 2, .. along W with one channel; padding, stride and dilation of a window of three taps, and the
# element that each output reads at each tap.
ROWS = [
    (5, {"padding": [(1, 1)]}, [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 3, 4, 5, 0]]),
    (8, {"padding": [(1, 1)], "stride": 2}, [[0, 2, 4, 6], [1, 3, 5, 7], [2, 4, 6, 8]]),
    (6, {"padding": [(1, 2)], "dilation": 2}, [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [4, 5, 6, 0, 0]]),
    (5, {"padding": [(-1, 0)]}, [[2, 3], [3, 4], [4, 5]]),
    (2, {}, [[], [], []]),
]


@pytest.mark.parametrize(("extent", "geometry", "taps"), ROWS)
def test_elements_at_taps(extent: int, geometry: dict, taps: list[list[int]]) -> None:
    x = np.arange(1, extent + 1).reshape(1, extent, 1)
    assert output_extents((extent,), (3,), **geometry) == (len(taps[0]),)
    for tap, elements in enumerate(taps):
        assert at_tap(x, (tap,), (3,), **geometry).ravel().tolist() == elements
    f = np.array([1, 10, 100]).reshape(1, 3, 1)
    assert np.array_equal(conv_forward(x, f, **geometry).ravel(), np.array([1, 10, 100]) @ np.array(taps))


def test_a_window_in_two_dimensions() -> None:
    x = np.arange(1, 7).reshape(1, 2, 3, 1)
    f = np.array([[1, 10], [100, 1000]]).reshape(1, 2, 2, 1)
    # Rows of the input under the window: nothing and (1, 2, 3), then (1, 2, 3) and (4, 5, 6).
    assert conv_forward(x, f, padding=[(1, 0), (0, 0)])[0, :, :, 0].tolist() == [[2100, 3200], [5421, 6532]]


def test_groups_read_their_own_channels() -> None:
    x = np.array([1, 2, 3, 4]).reshape(1, 1, 4)
    f = np.array([[1, 10], [100, 1000]]).reshape(2, 1, 2)
    assert conv_forward(x, f, groups=2).ravel().tolist() == [1 + 20, 300 + 4000]


def test_pooling() -> None:
    x = np.array([-4, -2, -6]).reshape(1, 3, 1)
    assert max_pool(x, (2,), padding=1).ravel().tolist() == [-4, -2, -2, -6]
    assert average_pool(x, (2,), padding=1).ravel().tolist() == [-2, -3, -4, -3]
    assert average_pool(x, (2,), padding=1, count_padding=False).ravel().tolist() == [-4, -3, -4, -6]


def test_transposed() -> None:
    x, f = np.array([1, 2]).reshape(1, 2, 1), np.array([1, 10, 100]).reshape(1, 3, 1)
    assert conv_transposed(x, f, stride=2).ravel().tolist() == [1, 10, 102, 20, 200]
    assert conv_transposed(x, f, stride=2, padding=[(1, 2)], output_padding=1).ravel().tolist() == [10, 102, 20]


GEOMETRIES = [
    ((7,), {"stride": 2, "dilation": 2, "padding": [(1, 3)]}),
    ((5, 6), {"stride": (1, 2), "dilation": (2, 1), "padding": [(2, 1), (0, -1)]}),
    ((4, 5, 3), {"stride": (2, 1, 1), "dilation": 1, "padding": [(1, 0), (1, 1), (2, 2)]}),
]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("extents", "geometry"), GEOMETRIES)
def test_gradients_are_adjoints(extents: tuple, geometry: dict, groups: int, random: np.random.Generator) -> None:
    """The sum of dy * y is linear in x and in f: it equals the sum of dx * x and that of df * f."""
    x = random.integers(-4, 5, (2, *extents, 4))
    f = random.integers(-4, 5, (6, *(3, 2, 2)[: len(extents)], 4 // groups))
    y = conv_forward(x, f, **geometry, groups=groups)
    dy = random.integers(-4, 5, y.shape)
    assert np.sum(dy * y) == np.sum(conv_input_gradient(dy, f, extents, **geometry, groups=groups) * x)
    assert np.sum(dy * y) == np.sum(conv_filter_gradient(x, dy, f.shape[1:-1], **geometry, groups=groups) * f)
