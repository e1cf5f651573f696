"""Convolutions whose geometry differs along each dimension, as inputs for the kernels of peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from direct_convolution import output_extents


@dataclass(frozen=True)
class Convolution:
    """The tuples have an entry per spatial dimension, outermost first; padding is (lower, upper)."""

    extents: tuple[int, ...]
    window: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    images: int = 3
    # More than one block of 64 channels, the last of which is in part outside of the tensor.
    channels: int = 72
    filters: int = 40

    @property
    def geometry(self) -> tuple[Sequence[int], Sequence[int], Sequence[tuple[int, int]]]:
        return self.stride, self.dilation, self.padding

    @property
    def outputs(self) -> tuple[int, ...]:
        return output_extents(self.extents, self.window, *self.geometry)

    @property
    def lower_corner(self) -> tuple[int, ...]:
        return tuple(-lower for lower, _ in self.padding)

    @property
    def upper_corner(self) -> tuple[int, ...]:
        dimensions = zip(self.padding, self.window, self.dilation, strict=True)
        return tuple(upper - (window - 1) * dilation for (_, upper), window, dilation in dimensions)


# A tile of 128 pixels spans images.
FORWARD = [
    Convolution((50,), (3,), ((1, 2),), (1,), (2,)),
    Convolution((90,), (4,), ((2, 0),), (3,), (1,)),
    Convolution((9, 7), (3, 2), ((1, 0), (2, 1)), (1, 1), (1, 1)),
    Convolution((11, 14), (2, 3), ((0, 1), (1, 1)), (1, 2), (1, 1)),
    Convolution((12, 9), (3, 3), ((2, 1), (1, 3)), (1, 1), (2, 1)),
    Convolution((13, 16), (3, 2), ((3, 0), (1, 2)), (2, 3), (2, 3)),
    Convolution((5, 6, 7), (2, 3, 2), ((1, 0), (0, 2), (1, 1)), (1, 2, 1), (1, 1, 3)),
]
# Clusters of two by two tiles: pixels by filters.
MULTICAST = [
    Convolution((11, 14), (2, 3), ((0, 1), (1, 1)), (1, 2), (1, 1), images=5, filters=104),
    Convolution((13, 16), (3, 2), ((3, 0), (1, 2)), (2, 3), (2, 3), images=8, filters=40),
]
# CUTLASS requires stride 1 of the gradient of the input.
INPUT_GRADIENT = [
    Convolution((9, 7), (3, 2), ((1, 0), (2, 1)), (1, 1), (1, 1)),
    Convolution((12, 10), (2, 3), ((1, 2), (3, 0)), (1, 1), (3, 2)),
]
FILTER_GRADIENT = [
    Convolution((9, 7), (3, 2), ((1, 0), (2, 1)), (1, 1), (1, 1)),
    Convolution((13, 16), (3, 2), ((3, 0), (1, 2)), (2, 3), (2, 3)),
]


def random_convolution(dimensions: int, seed: int, least_padding: int = -2) -> Convolution:
    """A convolution with a non-empty output, within the ranges of corners and offsets of its rank."""
    random = np.random.default_rng((dimensions, seed))

    def entries(low: int, ends: tuple[int, int, int]) -> tuple[int, ...]:
        """An integer per dimension from low up to the end for this number of dimensions, exclusive."""
        return tuple(random.integers(low, ends[dimensions - 1], dimensions).tolist())

    while True:
        lower, upper = (entries(least_padding, (8, 6, 4)) for _ in range(2))
        given = Convolution(
            extents=entries(1, (60, 14, 8)),
            window=entries(1, (8, 5, 4)),
            padding=tuple(zip(lower, upper, strict=True)),
            stride=entries(1, (9, 5, 4)),
            dilation=entries(1, (5, 4, 4)),
            images=int(random.integers(1, 6)),
            channels=8 * int(random.integers(1, 13)),
        )
        if min(given.outputs) > 0:
            return given
