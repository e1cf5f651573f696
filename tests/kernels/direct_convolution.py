"""Convolution and pooling in numpy, one tap at a time: the reference of the kernels that compute them as products.

Tensors are [N, spatial.., C] and filters [K, window.., C / groups], with one to three spatial dimensions, outermost
first. Output pixel p reads, at tap o, the input coordinate `p * stride + o * dilation - lower` of each spatial
dimension (cross-correlation). `stride` and `dilation` are an integer or one per spatial dimension, `padding` also a
pair (lower, upper) per spatial dimension, of either sign. Sums are exact for integers below 2^53: integers are summed
in int64, other types in float64, and the results have these types.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

PerDimension = int | Sequence[int]
Padding = int | Sequence[int | tuple[int, int]]


@dataclass(frozen=True)
class Geometry:
    """The window of one convolution: an entry per spatial dimension."""

    window: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    @staticmethod
    def make(window: Sequence[int], stride: PerDimension, dilation: PerDimension, padding: Padding) -> Geometry:
        rank = len(window)
        each = [padding] * rank if isinstance(padding, int) else padding
        pairs = [(entry, entry) if isinstance(entry, int) else entry for entry in each]
        lower, upper = zip(*pairs, strict=True)
        geometry = Geometry(tuple(window), _repeated(stride, rank), _repeated(dilation, rank), lower, upper)
        assert {len(entries) for entries in vars(geometry).values()} == {rank}, geometry
        return geometry

    def taps(self) -> Iterator[tuple[int, ...]]:
        """The offset of each tap in row-major order."""
        return itertools.product(*map(range, self.window))

    def output_extents(self, extents: Sequence[int]) -> tuple[int, ...]:
        """The number of output pixels along each spatial dimension of an input of these extents."""
        dimensions = zip(extents, *vars(self).values(), strict=True)
        return tuple(
            max(0, (extent + lower + upper - ((window - 1) * dilation + 1)) // stride + 1)
            for extent, window, stride, dilation, lower, upper in dimensions
        )

    def coordinates(self, outputs: Sequence[int], tap: Sequence[int]) -> list[np.ndarray]:
        """The input coordinates that the output pixels read at a tap, an array per spatial dimension."""
        dimensions = zip(outputs, tap, self.stride, self.dilation, self.lower, strict=True)
        return [np.arange(count) * stride + o * dilation - lower for count, o, stride, dilation, lower in dimensions]


def _repeated(entry: PerDimension, rank: int) -> tuple[int, ...]:
    return (entry,) * rank if isinstance(entry, int) else tuple(entry)


def _exact(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64 if np.issubdtype(values.dtype, np.integer) else np.float64)


def _inside(coordinates: Sequence[np.ndarray], extents: Sequence[int]) -> list[np.ndarray]:
    return [(0 <= along) & (along < extent) for along, extent in zip(coordinates, extents, strict=True)]


def _read(x: np.ndarray, coordinates: Sequence[np.ndarray], outside: float) -> np.ndarray:
    """The elements [N, P.., C] of x [N, spatial.., C] at every combination of the coordinates; `outside` outside x."""
    inside = _inside(coordinates, x.shape[1:-1])
    result = np.full((len(x), *map(len, coordinates), x.shape[-1]), outside, x.dtype)
    images, channels = np.arange(len(x)), np.arange(x.shape[-1])
    result[np.ix_(images, *inside, channels)] = x[
        np.ix_(images, *(along[kept] for along, kept in zip(coordinates, inside, strict=True)), channels)
    ]
    return result


def _add(x: np.ndarray, coordinates: Sequence[np.ndarray], values: np.ndarray) -> None:
    """Adds values [N, P.., C] to x at every combination of distinct coordinates; drops those outside x."""
    inside = _inside(coordinates, x.shape[1:-1])
    images, channels = np.arange(len(x)), np.arange(x.shape[-1])
    kept = np.ix_(images, *inside, channels)
    x[np.ix_(images, *(along[mask] for along, mask in zip(coordinates, inside, strict=True)), channels)] += values[kept]


def output_extents(
    extents: Sequence[int], window: Sequence[int], stride: PerDimension = 1, dilation: PerDimension = 1,
    padding: Padding = 0,
) -> tuple[int, ...]:  # fmt: skip
    """The spatial extents of the output for an input of the spatial extents `extents`."""
    return Geometry.make(window, stride, dilation, padding).output_extents(extents)


def at_tap(
    x: np.ndarray, tap: Sequence[int], window: Sequence[int], stride: PerDimension = 1, dilation: PerDimension = 1,
    padding: Padding = 0, outside: float = 0,
) -> np.ndarray:  # fmt: skip
    """The elements [N, P.., C] of x that the output pixels read at one tap; `outside` where x has none."""
    geometry = Geometry.make(window, stride, dilation, padding)
    return _read(x, geometry.coordinates(geometry.output_extents(x.shape[1:-1]), tap), outside)


def _in_groups(channels: np.ndarray, groups: int) -> np.ndarray:
    """[.., C] as [.., groups, C / groups]."""
    return channels.reshape(*channels.shape[:-1], groups, channels.shape[-1] // groups)


def conv_forward(
    x: np.ndarray, f: np.ndarray, stride: PerDimension = 1, dilation: PerDimension = 1, padding: Padding = 0,
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """y[n, p.., k] = sum over taps and channels of x[n, p * stride + o * dilation - lower .., c] * f[k, o.., c].

    Group g of the output channels reads group g of the input channels.

    Args:
        x: [N, spatial.., C].
        f: [K, window.., C / groups].

    Returns:
        [N, P.., K].
    """
    geometry = Geometry.make(f.shape[1:-1], stride, dilation, padding)
    x, f = _exact(x), _exact(f)
    outputs = geometry.output_extents(x.shape[1:-1])
    y = np.zeros((len(x), *outputs, groups, len(f) // groups), np.result_type(x, f))
    for tap in geometry.taps():
        read = _in_groups(_read(x, geometry.coordinates(outputs, tap), 0), groups)
        y += np.einsum("...gc,gkc->...gk", read, f[:, *tap].reshape(groups, -1, f.shape[-1]))
    return y.reshape(len(x), *outputs, len(f))


def conv_input_gradient(
    dy: np.ndarray, f: np.ndarray, extents: Sequence[int], stride: PerDimension = 1, dilation: PerDimension = 1,
    padding: Padding = 0, groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """The gradient [N, spatial.., C] of sum(dy * conv_forward(x, f)) with respect to x of the spatial extents.

    Args:
        dy: [N, P.., K].
        f: [K, window.., C / groups].
        extents: the spatial extents of x.
    """
    geometry = Geometry.make(f.shape[1:-1], stride, dilation, padding)
    dy, f = _exact(dy), _exact(f)
    assert dy.shape[1:-1] == geometry.output_extents(extents), (dy.shape, extents, geometry)
    dx = np.zeros((len(dy), *extents, groups * f.shape[-1]), np.result_type(dy, f))
    for tap in geometry.taps():
        products = np.einsum(
            "...gk,gkc->...gc", _in_groups(dy, groups), f[:, *tap].reshape(groups, -1, f.shape[-1])
        ).reshape(*dy.shape[:-1], dx.shape[-1])
        _add(dx, geometry.coordinates(dy.shape[1:-1], tap), products)
    return dx


def conv_filter_gradient(
    x: np.ndarray, dy: np.ndarray, window: Sequence[int], stride: PerDimension = 1, dilation: PerDimension = 1,
    padding: Padding = 0, groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """The gradient [K, window.., C / groups] of sum(dy * conv_forward(x, f)) with respect to f.

    Args:
        x: [N, spatial.., C].
        dy: [N, P.., K].
        window: the spatial extents of f.
    """
    geometry = Geometry.make(window, stride, dilation, padding)
    x, dy = _exact(x), _exact(dy)
    assert dy.shape[1:-1] == geometry.output_extents(x.shape[1:-1]), (dy.shape, x.shape, geometry)
    df = np.zeros((dy.shape[-1], *window, x.shape[-1] // groups), np.result_type(x, dy))
    for tap in geometry.taps():
        read = _in_groups(_read(x, geometry.coordinates(dy.shape[1:-1], tap), 0), groups)
        products = np.einsum("ngk,ngc->gkc", _pixels(_in_groups(dy, groups)), _pixels(read))
        df[:, *tap] = products.reshape(len(df), -1)
    return df


def _pixels(grouped: np.ndarray) -> np.ndarray:
    """[N, P.., groups, channels] as [pixels, groups, channels]."""
    return grouped.reshape(np.prod(grouped.shape[:-2], dtype=int), *grouped.shape[-2:])


def conv_transposed(
    x: np.ndarray, f: np.ndarray, stride: PerDimension = 1, dilation: PerDimension = 1, padding: Padding = 0,
    groups: int = 1, output_padding: PerDimension = 0,
) -> np.ndarray:  # fmt: skip
    """The transposed convolution: the input gradient of the convolution with f at the output gradient x.

    Args:
        x: [N, spatial.., K].
        f: [K, window.., C / groups].
        output_padding: further output elements at the upper end of each spatial dimension, less than the stride.

    Returns:
        [N, (spatial - 1) * stride + (window - 1) * dilation + 1 - lower - upper + output_padding .., C].
    """
    geometry = Geometry.make(f.shape[1:-1], stride, dilation, padding)
    further = _repeated(output_padding, len(geometry.window))
    dimensions = zip(x.shape[1:-1], further, *vars(geometry).values(), strict=True)
    extents = tuple(
        (extent - 1) * stride + (window - 1) * dilation + 1 - lower - upper + more
        for extent, more, window, stride, dilation, lower, upper in dimensions
    )
    return conv_input_gradient(x, f, extents, stride, dilation, padding, groups)


def max_pool(
    x: np.ndarray, window: Sequence[int], stride: PerDimension = 1, dilation: PerDimension = 1, padding: Padding = 0
) -> np.ndarray:
    """The largest element [N, P.., C] in each window; elements outside x are less than all others."""
    x = _exact(x)
    least = np.iinfo(np.int64).min if x.dtype == np.int64 else -np.inf
    taps = Geometry.make(window, stride, dilation, padding).taps()
    return np.max([at_tap(x, tap, window, stride, dilation, padding, least) for tap in taps], axis=0)


def average_pool(
    x: np.ndarray, window: Sequence[int], stride: PerDimension = 1, padding: Padding = 0, count_padding: bool = True
) -> np.ndarray:
    """The mean [N, P.., C] of each window in float64; elements outside x are zero.

    Args:
        count_padding: whether elements outside x count; otherwise the divisor is the number of elements inside.
    """
    taps = list(Geometry.make(window, stride, 1, padding).taps())
    total = sum(at_tap(x.astype(np.float64), tap, window, stride, 1, padding) for tap in taps)
    if count_padding:
        return total / len(taps)
    return total / sum(at_tap(np.ones(x.shape), tap, window, stride, 1, padding) for tap in taps)
