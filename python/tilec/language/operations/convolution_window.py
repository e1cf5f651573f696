"""The geometry of a convolution window, and the checks of its parameters."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

_LIMIT = 1 << 31


class WindowProblem(Exception):
    """An invalid parameter of a window; the caller adds the source location of the argument."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.message = message


@dataclass(frozen=True)
class ConvolutionWindow:
    """A window over spatial dimensions; each field has one entry per dimension, outermost first.

    Output pixel p reads, at tap o, the element p * stride + o * dilation - lower of each dimension.
    """

    taps: tuple[int, ...]
    dilation: tuple[int, ...]
    stride: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    def margin(self, axis: int) -> int:
        """The padding of a dimension less the elements that the window spans; extent + margin is the last start."""
        return self.lower[axis] + self.upper[axis] - ((self.taps[axis] - 1) * self.dilation[axis] + 1)

    def output_extent(self, axis: int, extent: int) -> int:
        """The number of output pixels along a dimension of an extent."""
        return max(0, (extent + self.margin(axis)) // self.stride[axis] + 1)


def convolution_window(
    window: object, dilation: object, stride: object, padding: object, rank: int
) -> ConvolutionWindow:
    """The window with the parameters of `ct.im2col_view` for a number of spatial dimensions.

    Raises:
        WindowProblem: a parameter is not an integer or one entry per dimension, or an entry is out of range.
    """
    return ConvolutionWindow(
        _positive(window, "window", rank),
        _positive(dilation, "dilation", rank),
        _positive(stride, "stride", rank),
        *zip(*_pairs(padding, rank), strict=True),
    )


def _positive(value: object, parameter: str, rank: int) -> tuple[int, ...]:
    entries = _per_dimension(value, parameter, rank)
    integers = tuple(integer(entry, parameter) for entry in entries)
    for entry in integers:
        if not 1 <= entry < _LIMIT:
            raise WindowProblem(parameter, f"expected 1 to 2^31 - 1, got {entry}")
    return integers


def _pairs(value: object, rank: int) -> list[tuple[int, int]]:
    """The padding as a pair (lower, upper) per dimension."""
    return [_pair(entry) for entry in _per_dimension(value, "padding", rank)]


def _pair(entry: object) -> tuple[int, int]:
    ends = entry if isinstance(entry, tuple | list) else (entry, entry)
    if len(ends) != 2:
        raise WindowProblem("padding", f"expected an integer or a pair (lower, upper) per dimension, got {entry}")
    lower, upper = (integer(end, "padding") for end in ends)
    for end in (lower, upper):
        if not -_LIMIT <= end < _LIMIT:
            raise WindowProblem("padding", f"expected -2^31 to 2^31 - 1, got {end}")
    return lower, upper


def _per_dimension(value: object, parameter: str, rank: int) -> tuple[object, ...]:
    """One entry per spatial dimension; a single integer stands for all."""
    if not isinstance(value, tuple | list):
        return (value,) * rank
    if len(value) != rank:
        expected = f"expected an integer, or one entry per spatial dimension, {rank} in all, got {value}"
        raise WindowProblem(parameter, expected + (_remedy(value, rank) if parameter == "padding" else ""))
    return tuple(value)


def _remedy(padding: Sequence[object], rank: int) -> str:
    if rank == 1 and len(padding) == 2:
        return f": write ({tuple(padding)},) for a pair (lower, upper)"
    return ": an entry is an integer or a pair (lower, upper)"


def integer(value: object, parameter: str) -> int:
    """The value as an integer; raises WindowProblem for any other number and for True and False."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise WindowProblem(parameter, f"expected integers, got {value!r}")
    return operator.index(value)
