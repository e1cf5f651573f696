"""The configurations of tests of convolution kernels: their geometry, arrays, launch, and how images are loaded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product, starmap
from typing import Any

import convolution_kernels
import ml_dtypes
import numpy as np
import pytest
from compare import backends
from direct_convolution import conv_forward, output_extents
from pairwise import covering_rows

import tilec
from tilec import Compiled
from tilec.language.kernel import Kernel
from tilec.lowering.target import TARGETS
from tilec.runtime.arguments.arguments import ArrayArgument
from tilec.signature import Signature

# By name: the elements of images and filters. float32 is multiplied in tf32.
KINDS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
BY_ROW = ("w", "w128", "stationary", "weights")
# The geometry is that of W, and with "outer_" that of H and D; padding is (before, after).
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "rank": (1, 2, 3),
    "kind": tuple(KINDS),
    "mode": (None, "im2col", "w", "w128"),
    "window": (1, 2, 3, 4, 5, 6, 7),
    "outer_window": (1, 2, 3),
    "stride": (1, 2, 3),
    "outer_stride": (1, 2, 3),
    "dilation": (1, 2, 3),
    "outer_dilation": (1, 2, 3),
    "padding": ((0, 0), (1, 1), (1, 2), (3, 0), (-1, 1), (2, -2), (9, 8), (-2, -1)),
    "outer_padding": ((0, 0), (1, 0), (0, 2), (-1, 1), (4, -1)),
    "outputs": (1, 5, 11),
    "outer_outputs": (1, 2, 4),
    "images": (1, 2, 3),
    "channels": (1, 5, 8, 16, 20, 24, 40, 72),
    "filters": (8, 16, 24, 33, 72),
    "pixel_tile": (64, 128, 256),
    "filter_tile": (16, 32, 64),
    "channel_tile": (16, 32, 64, 128),
    "layout": ("contiguous", "padded", "gaps", "permuted", "apart"),
    "result": ("f32", "f16"),
    "result_layout": ("contiguous", "gaps", "apart"),
    "extents": ("dynamic", "static", "images"),
    "by_filter": (False, True),
    "persistent": (False, True),
}
RUN_PADDING = ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (2, 0), (1, 2), (3, 0), (2, 2), (0, 4), (2, 3), (3, 3), (-1, 2))
# Of cases in which one copy has the pixels of all taps along W.
RUN_PARAMETERS: dict[str, tuple[Any, ...]] = PARAMETERS | {
    "padding": RUN_PADDING,
    "outer_outputs": (1, 2),
    "images": (1, 3, 9),
    "channels": (8, 16, 24, 40, 72),
    "layout": ("contiguous", "padded", "gaps", "permuted"),
    "extents": ("static", "images"),
}


@dataclass(frozen=True)
class Case:
    """One configuration; the fields are the PARAMETERS."""

    rank: int = 2
    kind: str = "f16"
    mode: str | None = None
    window: int = 3
    outer_window: int = 3
    stride: int = 1
    outer_stride: int = 1
    dilation: int = 1
    outer_dilation: int = 1
    padding: tuple[int, int] = (1, 1)
    outer_padding: tuple[int, int] = (1, 1)
    outputs: int = 5
    outer_outputs: int = 4
    images: int = 2
    channels: int = 32
    filters: int = 32
    pixel_tile: int = 64
    filter_tile: int = 32
    channel_tile: int = 32
    layout: str = "contiguous"
    result: str = "f32"
    result_layout: str = "contiguous"
    extents: str = "dynamic"
    by_filter: bool = False
    persistent: bool = False

    def __str__(self) -> str:
        return "-".join(str(getattr(self, field.name)).replace(" ", "") for field in fields(self))

    def _each(self, name: str) -> tuple[Any, ...]:
        """The entries of a parameter, outermost dimension first; the window of D is at most 2."""
        inner, outer = getattr(self, name), getattr(self, f"outer_{name}")
        outermost = min(outer, 2) if name == "window" else outer
        return (outermost, outer, inner)[3 - self.rank :]

    @property
    def dtype(self) -> Any:
        return KINDS[self.kind]

    @property
    def taps(self) -> tuple[int, ...]:
        return self._each("window")

    @property
    def geometry(self) -> dict[str, Any]:
        """The arguments of direct_convolution."""
        return {name: self._each(name) for name in ("stride", "dilation", "padding")}

    def spatial_extents(self) -> tuple[int, ...]:
        """The smallest extents with the demanded number of output pixels, but at least 1; one more for a larger stride.

        Then the last elements are in no window.
        """
        dimensions = zip(self._each("outputs"), self.taps, *self.geometry.values(), strict=True)
        return tuple(
            max(1, (count - 1) * stride + (taps - 1) * dilation + 1 - sum(padding) + (stride > 1))
            for count, taps, stride, dilation, padding in dimensions
        )

    def output_extents(self) -> tuple[int, ...]:
        return output_extents(self.spatial_extents(), self.taps, **self.geometry)

    def tiles(self) -> tuple[int, int]:
        """The tiles of the result along pixels and filters."""
        *rows, last = self.output_extents()
        pixels = self.images * (last if self.mode in BY_ROW else math.prod((*rows, last)))
        along_pixels = -(-pixels // self.pixel_tile) * (math.prod(rows) if self.mode in BY_ROW else 1)
        return along_pixels, -(-self.filters // self.filter_tile)

    def grid(self) -> tuple[int, ...]:
        # Fewer blocks than tiles, unless there is one tile.
        return (2,) if self.persistent else self.tiles()

    @property
    def is_aligned(self) -> bool:
        """Whether the layout makes every stride but that of the channels, which is 1, a multiple of 16 bytes."""
        whole = self.channels * np.dtype(self.dtype).itemsize % 16 == 0
        return self.layout == "padded" or (self.layout != "apart" and whole)

    @property
    def upper_corners_fit(self) -> bool:
        """Whether the last tap is close enough to the first one; three dimensions have 5 bits (PTX ISA 5.5.4.1)."""
        dimensions = zip(self.taps, self.geometry["dilation"], self.geometry["padding"], strict=True)
        return self.rank < 3 or all(upper - (taps - 1) * step >= -16 for taps, step, (_, upper) in dimensions)


def is_possible(row: Mapping[str, Any]) -> bool:
    """Whether a configuration of some parameters is possible: a mode demands TMA."""
    mode = row.get("mode")
    if mode is None:
        return True
    case = Case(**row)
    if {"layout", "channels", "kind"} <= row.keys() and not case.is_aligned or row.get("layout") == "apart":
        return False
    if mode in ("im2col", "run"):
        return not {"rank", "window", "dilation", "padding"} <= row.keys() or case.upper_corners_fit
    # Modes along W have no swizzle of 32 bytes (PTX ISA 5.5.5), and w128 has 128 pixels.
    row_bytes = row.get("channel_tile", 128) * np.dtype(KINDS[row.get("kind", "tf32")]).itemsize
    return row_bytes >= 64 and (mode == "w" or row.get("pixel_tile", 128) == 128)


def has_whole_rows(row: Mapping[str, Any], parameters: Mapping[str, Sequence[Any]]) -> bool:
    """Whether rows of images may have the stride times as many pixels as there are output pixels."""
    names = ("window", "padding", "stride", "dilation")
    return any(starmap(_is_whole, product(*([row[name]] if name in row else parameters[name] for name in names))))


def _is_whole(window: int, padding: tuple[int, int], stride: int, dilation: int) -> bool:
    """Whether `stride` divides the width of images. With a stride above 1, images have a pixel that no window reads."""
    return sum(padding) == (window - 1) * dilation + 1 - stride + (stride > 1)


def covering_cases(
    count: int,
    parameters: Mapping[str, Sequence[Any]] = PARAMETERS,
    allowed: Callable[[Mapping[str, Any]], bool] = is_possible,
) -> list[Case]:
    return [Case(**row) for row in covering_rows(parameters, allowed, count)]


# The configurations of the array of all modes.
COUNT = 320


def cases_of_other_modes(
    mode: str, allowed: Callable[[Mapping[str, Any]], bool], extents: Sequence[str] = ("static", "images"), **tile: int
) -> list[Case]:
    """The configurations of the array of all modes in another one, with the extents of a tile that it needs."""
    cases = [replace(case, mode=mode, **tile) for case in covering_cases(COUNT)]
    possible = [case for case in cases if case.extents in extents and case.is_aligned and allowed(vars(case))]
    return list(dict.fromkeys(possible))


def on_targets(cases: Iterable[Case]) -> list[Any]:
    """The parameters (case, target) of a test, on both targets; sm_90a has no modes along W."""
    return [
        pytest.param(case, target, id=f"{number}-{target}")
        for number, case in enumerate(cases)
        for target in (("sm_100a",) if case.mode in BY_ROW else TARGETS)
    ]


def kernel_of(case: Case) -> Kernel:
    return getattr(convolution_kernels, f"convolution_{case.rank}d")


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values [N, spatial.., C] in another layout in memory."""
    if layout == "padded":
        lanes = 16 // values.itemsize
        memory = np.zeros((*values.shape[:-1], -(-values.shape[-1] // lanes) * lanes), values.dtype)
        laid = memory[..., : values.shape[-1]]
    elif layout == "gaps":
        memory = np.zeros((*values.shape[:-2], 2 * values.shape[-2], values.shape[-1]), values.dtype)
        laid = memory[..., ::2, :]
    elif layout == "permuted":
        laid = np.moveaxis(np.zeros((*values.shape[1:-1], values.shape[0], values.shape[-1]), values.dtype), -2, 0)
    elif layout == "apart":
        laid = np.moveaxis(np.zeros((values.shape[-1], *values.shape[:-1]), values.dtype), 0, -1)
    else:
        return np.ascontiguousarray(values)
    laid[...] = values
    return laid


@dataclass(frozen=True)
class Problem:
    """Images [N, spatial.., C] and filters [K, window.., C] of a case, and their exact convolution."""

    case: Case
    x: np.ndarray
    f: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        return conv_forward(self.x, self.f, **self.case.geometry)

    @property
    def magnitude(self) -> np.ndarray:
        """The sum of the magnitudes of the products of each element."""
        return conv_forward(np.abs(self.x), np.abs(self.f), **self.case.geometry)

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the kernel, whose third one is the result."""
        case = self.case
        filters = self.f.reshape(case.filters, -1, case.channels)
        memory = filters.transpose((1, 0, 2) if case.by_filter else (1, 2, 0))
        result = np.zeros(self.exact.shape, np.float32 if case.result == "f32" else np.float16)
        lower, upper = zip(*case.geometry["padding"], strict=True)
        constants = (*case.taps, *case.geometry["dilation"], *case.geometry["stride"], *lower, *upper)
        tile = (case.pixel_tile, case.filter_tile, case.channel_tile)
        return (
            laid_out(self.x, case.layout), np.ascontiguousarray(memory), laid_out(result, case.result_layout),
            *constants, *tile, case.mode, case.by_filter, case.persistent,
        )  # fmt: skip


def results_everywhere(problem: Problem, kernel: Compiled, seeds: Iterable[int]) -> list[np.ndarray]:
    """The result of the simulator for each seed, then of the interpreter."""
    case, results = problem.case, []
    for backend, settings in backends(seeds):
        images, filters, result, *others = problem.arguments()
        stored = laid_out(np.full(result.shape, 99, result.dtype), case.result_layout)
        tilec.run(kernel, case.grid(), (images, filters, stored, *others), backend=backend, **settings)
        results.append(stored)
    return results


def assert_exact_everywhere(problem: Problem, kernel: Compiled, seeds: Iterable[int]) -> None:
    """Compares bit for bit; a float16 result is the sum in float32, rounded once."""
    exact = problem.exact.astype(np.float32)
    for result in results_everywhere(problem, kernel, seeds):
        np.testing.assert_array_equal(result, exact.astype(result.dtype), str(problem.case))


def integer_problem(case: Case) -> Problem:
    """Integers whose sums are exact in float32."""
    random = np.random.default_rng(case.channels)
    x, f = (random.integers(-3, 4, shape).astype(case.dtype) for shape in _shapes(case))
    return Problem(case, x, f)


def normal_problem(case: Case) -> Problem:
    """Normally distributed numbers."""
    random = np.random.default_rng(case.channels)
    x, f = (random.standard_normal(shape, np.float32).astype(case.dtype) for shape in _shapes(case))
    return Problem(case, x, f)


def _shapes(case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (case.images, *case.spatial_extents(), case.channels), (case.filters, *case.taps, case.channels)


def signature_of(case: Case, arguments: tuple[Any, ...]) -> Signature:
    """The signature of the launch, with the extents and strides of images and result that are constants in the case."""
    images, filters, result, *constants = Signature.from_arguments(kernel_of(case), arguments).arguments
    if case.extents != "dynamic":
        images, result = _known(images, arguments[0], case), _known(result, arguments[2], case)
    return Signature((images, filters, result, *constants))


def _known(argument: Any, array: np.ndarray, case: Case) -> ArrayArgument:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    shape = array.shape if case.extents == "static" else (None, *array.shape[1:])
    return replace(argument, shape=shape, strides=strides)


def path_of(case: Case, images: np.ndarray) -> str:
    """How images are loaded: by TMA in a mode, or by a gather where TMA cannot read them."""
    if case.mode is not None:
        return case.mode
    *strides, step = zip(images.shape, images.strides, strict=True)
    # The stride of a single element does not matter, if that is known.
    known = {"dynamic": [False] * len(strides), "static": [True] * len(strides)}.get(case.extents)
    known = known or [False] + [True] * (len(strides) - 1)
    walked = [stride for (extent, stride), constant in zip(strides, known, strict=True) if extent != 1 or not constant]
    is_aligned = step[1] == images.itemsize and all(stride % 16 == 0 for stride in walked)
    return "im2col" if is_aligned and case.upper_corners_fit else "gather"
