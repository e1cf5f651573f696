"""The numpy reference of convolution equals PyTorch on the CPU, for random geometries.

Elements are small integers in float64, so every sum is exact in any order.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from direct_convolution import (
    average_pool,
    conv_filter_gradient,
    conv_forward,
    conv_input_gradient,
    conv_transposed,
    max_pool,
    output_extents,
)

pytestmark = pytest.mark.torch

CASES = 100
DIMENSIONS = (1, 2, 3)


@pytest.fixture
def peer() -> Any:
    """The module that calls PyTorch, which only the environment of these tests has."""
    return importlib.import_module("torch_convolution")


@dataclass(frozen=True)
class Case:
    """A convolution with a non-empty output."""

    x: np.ndarray
    f: np.ndarray
    stride: list[int]
    dilation: list[int]
    padding: list[tuple[int, int]]
    groups: int

    @property
    def window(self) -> tuple[int, ...]:
        return self.f.shape[1:-1]

    @property
    def geometry(self) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        return self.stride, self.dilation, self.padding


def integers(random: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    return random.integers(-8, 9, shape).astype(np.float64)


def leaves_elements(extents: Sequence[int], padding: list[tuple[int, int]]) -> bool:
    """Whether negative padding cuts less than the whole extent, as PyTorch requires."""
    return all(extent > -sum(min(end, 0) for end in ends) for extent, ends in zip(extents, padding, strict=True))


def case(dimensions: int, seed: int) -> Case:
    random = np.random.default_rng((dimensions, seed))
    groups, channels, filters = random.integers(1, 4, 3).tolist()
    while True:
        extents, window = random.integers(1, 9, dimensions).tolist(), random.integers(1, 5, dimensions).tolist()
        stride, dilation = random.integers(1, 4, dimensions).tolist(), random.integers(1, 4, dimensions).tolist()
        padding = [(lower, upper) for lower, upper in random.integers(-2, 5, (dimensions, 2)).tolist()]
        outputs = output_extents(extents, window, stride, dilation, padding)
        if leaves_elements(extents, padding) and min(outputs) > 0:
            x = integers(random, (2, *extents, groups * channels))
            f = integers(random, (groups * filters, *window, channels))
            return Case(x, f, stride, dilation, padding, groups)


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_convolution_and_gradients(dimensions: int, peer: Any) -> None:
    for seed in range(CASES):
        given = case(dimensions, seed)
        y = conv_forward(given.x, given.f, *given.geometry, given.groups)
        assert np.array_equal(y, peer.convolution(given.x, given.f, *given.geometry, given.groups))
        dy = integers(np.random.default_rng(seed), y.shape)
        dx = conv_input_gradient(dy, given.f, given.x.shape[1:-1], *given.geometry, given.groups)
        df = conv_filter_gradient(given.x, dy, given.window, *given.geometry, given.groups)
        expected = peer.gradients(given.x, given.f, dy, *given.geometry, given.groups)
        assert np.array_equal(dx, expected[0]) and np.array_equal(df, expected[1])


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_depthwise_convolution(dimensions: int, peer: Any) -> None:
    random = np.random.default_rng(dimensions)
    x, f = integers(random, (2, *[7] * dimensions, 6)), integers(random, (6, *[3] * dimensions, 1))
    y = peer.convolution(x, f, [2] * dimensions, [1] * dimensions, [(1, 1)] * dimensions, 6)
    assert np.array_equal(conv_forward(x, f, 2, 1, 1, groups=6), y)


@pytest.mark.parametrize("dilation", (1, 2))
def test_causal_convolution(dilation: int, peer: Any) -> None:
    random = np.random.default_rng(dilation)
    x, f = integers(random, (2, 12, 4)), integers(random, (4, 3, 1))
    y = conv_forward(x, f, 1, dilation, [(2 * dilation, 0)], groups=4)
    assert np.array_equal(y, peer.causal_convolution(x, f, dilation))


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_transposed_convolution(dimensions: int, peer: Any) -> None:
    random = np.random.default_rng(dimensions)
    x, f = integers(random, (2, *[5] * dimensions, 4)), integers(random, (4, *[3] * dimensions, 3))
    y = peer.transposed(x, f, stride=3, padding=1, output_padding=2, groups=2, dilation=2)
    assert np.array_equal(conv_transposed(x, f, 3, 2, 1, groups=2, output_padding=2), y)


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_transposed_convolution_with_unequal_padding(dimensions: int, peer: Any) -> None:
    """Padding drops elements at the ends of the unpadded result."""
    for seed in range(CASES):
        given = case(dimensions, seed)
        random = np.random.default_rng((dimensions, seed))
        x = integers(random, (2, *given.x.shape[1:-1], len(given.f)))
        output_padding = [int(random.integers(stride)) for stride in given.stride]
        whole = peer.transposed(x, given.f, stride=given.stride, groups=given.groups, dilation=given.dilation)
        pairs = zip(given.padding, output_padding, strict=True)
        ends = [(lower, upper - added) for (lower, upper), added in pairs]
        if leaves_elements(whole.shape[1:-1], [(-lower, -upper) for lower, upper in ends]):
            y = conv_transposed(x, given.f, *given.geometry, given.groups, output_padding)
            assert np.array_equal(y, peer.cut(whole, ends))


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_maximum_pooling(dimensions: int, peer: Any) -> None:
    for seed in range(CASES):
        given = case(dimensions, seed)
        expected = peer.max_pool(given.x, given.window, *given.geometry)
        assert np.array_equal(max_pool(given.x, given.window, *given.geometry), expected)


@pytest.mark.parametrize("count_padding", (True, False))
@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_average_pooling(dimensions: int, count_padding: bool, peer: Any) -> None:
    for seed in range(CASES):
        random = np.random.default_rng((dimensions, seed))
        # PyTorch pads by at most half of the window.
        x, window = integers(random, (2, *random.integers(4, 9, dimensions), 3)), random.integers(1, 5, dimensions)
        arguments = window.tolist(), random.integers(1, 4, dimensions).tolist(), (window // 2).tolist(), count_padding
        assert np.array_equal(average_pool(x, *arguments), peer.average_pool(x, *arguments))
