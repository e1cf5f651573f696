"""Convolutions whose images are loaded in runs, each pixel once for all taps along W, equal numpy's.

Integers are compared bit for bit: for a covering array of configurations, for loops in any order, and for views
without a multiply.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from compare import SEEDS, backends
from convolution_cases import (
    PARAMETERS,
    Case,
    Problem,
    assert_exact_everywhere,
    cases_of_other_modes,
    covering_cases,
    integer_problem,
    is_possible,
    kernel_of,
    on_targets,
    signature_of,
)
from direct_convolution import conv_forward

import tilec
import tilec as ct
from tilec.errors import UnsupportedError
from tilec.lowering.target import TARGETS
from tilec.runtime.simulate import Settings, simulate
from tilec.signature import Signature

# Of these configurations, MOST have runs that fit in shared memory; the others are refused.
COUNT, MOST = 150, 120
SHARED_BYTES = min(target.shared_bytes for target in TARGETS.values())
# PTX ISA 5.5.4.1: the pixels of a column.
MOST_PIXELS = 1024
OF_RUNS: dict[str, tuple[Any, ...]] = PARAMETERS | {
    "mode": ("run",),
    "outputs": (1, 5, 11, 23, 57),
    "channels": (8, 16, 24, 40, 72),
    "layout": ("contiguous", "padded", "gaps", "permuted"),
    "extents": ("static", "images"),
}


def pixels_of_run(case: Case) -> int:
    """The largest number of adjacent positions of the padded images, row after row, that a tile reads.

    Over all first pixels; a multiple of 8.
    """
    width, outputs = case.spatial_extents()[-1] + sum(case.padding), max(1, case.output_extents()[-1])
    taps = (case.window - 1) * case.dilation
    longest = 0
    for first in range(outputs):
        row, column = divmod(first + case.pixel_tile - 1, outputs)
        last = row * width + column * case.stride + taps
        longest = max(longest, last - first * case.stride + 1)
    return -(-longest // 8) * 8


def fits(case: Case) -> bool:
    row_bytes = case.channel_tile * np.dtype(case.dtype).itemsize
    return pixels_of_run(case) <= MOST_PIXELS and 2 * pixels_of_run(case) * row_bytes <= SHARED_BYTES


def is_run(row: dict[str, Any]) -> bool:
    return is_possible({"mode": "run", "kind": "f16", "layout": "contiguous"} | row)


CASES = covering_cases(COUNT, OF_RUNS, is_run)
RUNS = on_targets(CASES)


def compiled(problem: Problem, target: str) -> tilec.Compiled:
    return tilec.compile(
        kernel_of(problem.case), target=target, signature=signature_of(problem.case, problem.arguments())
    )


def check(case: Case, target: str, seeds: Any) -> None:
    problem = integer_problem(case)
    if not fits(case):
        with pytest.raises(UnsupportedError, match="mode=run cannot be followed: tile: "):
            compiled(problem, target)
        return
    kernel = compiled(problem, target)
    assert kernel.ptx.count(".im2col.") and "load through the im2col view" not in str(kernel.all_remarks)
    assert_exact_everywhere(problem, kernel, seeds)


def test_most_cases_fit() -> None:
    assert len(set(CASES)) == COUNT
    fitting = [case for case in CASES if fits(case)]
    assert len(fitting) >= MOST
    assert {(case.stride, case.dilation) for case in fitting} == set(product((1, 2, 3), (1, 2, 3)))
    assert {case.window for case in fitting} == {1, 2, 3, 4, 5, 6, 7} and {case.rank for case in fitting} == {1, 2, 3}
    assert {case.kind for case in fitting} == set(PARAMETERS["kind"])
    same = [case.spatial_extents()[-1] == case.output_extents()[-1] for case in fitting]
    assert {True, False} == set(same)
    # Tiles have pixels of several images.
    assert sum(case.images > 1 and math.prod(case.output_extents()) < case.pixel_tile for case in fitting) >= MOST // 3


@pytest.mark.parametrize(("case", "target"), RUNS)
def test_one_seed(case: Case, target: str) -> None:
    check(case, target, SEEDS[1:2])


@pytest.mark.parametrize(("case", "target"), RUNS)
def test_ten_seeds(case: Case, target: str) -> None:
    check(case, target, SEEDS[:10])


OTHERS = cases_of_other_modes("run", is_run)


def test_cases_of_other_modes_differ() -> None:
    assert sum(map(fits, OTHERS)) >= 80 and not set(OTHERS) & set(CASES)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", [pytest.param(case, id=str(number)) for number, case in enumerate(OTHERS)])
def test_ten_seeds_of_cases_of_other_modes(case: Case, target: str) -> None:
    check(case, target, SEEDS[:10])


ZERO = ct.PaddingMode.ZERO


@ct.kernel
def in_order(X, F, Y, order: ct.Constant[str]):
    """The loops over the window and the channels, from the outside in; "static" has taps that are written out."""
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(64, 16), mode="run")
    result = ct.im2col_view(Y, window=1, tile=(64, 16))
    i, total = ct.bid(0), ct.zeros((64, 16), ct.float32)
    if order == "rsc":
        for r in range(3):
            for s in range(3):
                for c in range(images.num_tiles(1)):
                    w = ct.load(F, (r, s, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), w, total)
    elif order == "src":
        for s in range(3):
            for r in range(3):
                for c in range(images.num_tiles(1)):
                    w = ct.load(F, (r, s, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), w, total)
    elif order == "crs":
        for c in range(images.num_tiles(1)):
            for r in range(3):
                for s in range(3):
                    w = ct.load(F, (r, s, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), w, total)
    elif order == "scr":
        for s in range(3):
            for c in range(images.num_tiles(1)):
                for r in range(3):
                    w = ct.load(F, (r, s, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), w, total)
    elif order == "backwards":
        for s in range(3):
            for r in range(3):
                for c in range(images.num_tiles(1)):
                    w = ct.load(F, (2 - r, 2 - s, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                    total = ct.mma(ct.load(images, (i, c), offset=(2 - r, 2 - s)), w, total)
    elif order == "one loop":
        for tap in range(9):
            for c in range(images.num_tiles(1)):
                w = ct.load(F, (tap // 3, tap % 3, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                total = ct.mma(ct.load(images, (i, c), offset=(tap // 3, tap % 3)), w, total)
    else:
        for r in range(3):
            for c in range(images.num_tiles(1)):
                for s in ct.static_iter(range(3)):
                    w = ct.load(F, (r, s, c, 0), (1, 1, 16, 16), padding_mode=ZERO).reshape((16, 16))
                    total = ct.mma(ct.load(images, (i, c), offset=(r, s)), w, total)
    ct.store(result, (i, 0), total.astype(Y.dtype))


def images_and_filters(width: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integers, and their convolution."""
    random = np.random.default_rng(width)
    x = random.integers(-3, 4, (2, 5, width, 40)).astype(np.float16)
    f = random.integers(-3, 4, (3, 3, 40, 16)).astype(np.float16)
    return x, f, conv_forward(x, f.transpose(3, 0, 1, 2), stride=1, dilation=1, padding=1)


def static(argument: Any, array: np.ndarray) -> Any:
    """An argument of a signature with the extents of an array."""
    return replace(argument, shape=array.shape)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ["rsc", "src", "crs", "scr", "static", "backwards", "one loop"])
def test_loops_in_any_order(order: str, target: str) -> None:
    """One copy has the pixels of three taps, whatever loop is around which. One loop over all taps is unrolled."""
    x, f, exact = images_and_filters()
    arguments = (x, f, np.zeros(exact.shape, np.float32), order)
    given = Signature.from_arguments(in_order, arguments).arguments
    signature = Signature((static(given[0], x), *given[1:]))
    kernel = tilec.compile(in_order, target=target, signature=signature, stop="ptx")
    assert kernel.ptx.count(".im2col.") == (3 if order == "one loop" else 1)
    for backend, settings in backends([2]):
        result = np.full(exact.shape, 99, np.float32)
        tilec.run(kernel, (2,), (x, f, result, order), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "hints",
    [{"roles": False}, {"pipeline": False}, {"roles": False, "pipeline": False}, {"stages": 1}, {"num_ctas": 2}],
    ids=str,
)
def test_options(hints: dict[str, Any], target: str) -> None:
    """Without roles or rings of many slots, too: a multiply is issued before the one before it is complete."""
    x, f, exact = images_and_filters()
    result = np.full(exact.shape, 99, np.float32)
    given = Signature.from_arguments(in_order, (x, f, result, "rsc")).arguments
    signature = Signature((static(given[0], x), *given[1:]))
    kernel = tilec.compile(in_order, target=target, signature=signature, stop="ptx", hints=hints)
    tilec.run(kernel, (2,), (x, f, result, "rsc"), backend="simulate", seed=1)
    np.testing.assert_array_equal(result, exact)


@ct.kernel
def largest(X, Y):
    """The maximum of three pixels along W, of which the padding is zero."""
    images = ct.im2col_view(X, window=(1, 3), padding=((0, 0), (1, 1)), tile=(64, 16), mode="run")
    result = ct.im2col_view(Y, window=1, tile=(64, 16))
    for i in range(ct.bid(0), images.num_tiles(0), ct.num_blocks(0)):
        found = ct.load(images, (i, 0), offset=(0, 0))
        for s in range(1, 3):
            found = ct.maximum(found, ct.load(images, (i, 0), offset=(0, s)))
        ct.store(result, (i, 0), found)


@pytest.mark.parametrize("target", TARGETS)
def test_run_without_multiplies(target: str) -> None:
    x = np.random.default_rng(1).integers(-9, 10, (2, 3, 13, 16)).astype(np.float16)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    exact = np.max([padded[:, :, s : s + 13] for s in range(3)], axis=0)
    given = Signature.from_arguments(largest, (x, x)).arguments
    signature = Signature(tuple(static(argument, x) for argument in given))
    kernel = tilec.compile(largest, target=target, signature=signature, stop="ptx")
    for backend, settings in backends([0]):
        result = np.zeros_like(x)
        tilec.run(kernel, (1,), (x, result), backend=backend, **settings)
        np.testing.assert_array_equal(result, exact)


@ct.kernel
def of_layer(X, F, Y, mode: ct.Constant[str]):
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(128, 64), mode=mode)
    result = ct.im2col_view(Y, window=1, tile=(128, 64))
    total = ct.zeros((128, 64), ct.float32)
    for r in range(3):
        for s in range(3):
            w = ct.load(F, (r, s, 0, 0), (1, 1, 64, 64), padding_mode=ZERO).reshape((64, 64))
            total = ct.mma(ct.load(images, (ct.bid(0), 0), offset=(r, s)), w, total)
    ct.store(result, (ct.bid(0), 0), total.astype(Y.dtype))


# Tiles of 128 pixels: an odd number, so that no two blocks share filters as a cluster.
TILES = 3


def pixels_of_taps(width: int) -> int:
    """The pixels that the taps of all tiles read, each once for a row of the window. Padding is not read."""
    count = 0
    for tile, r in product(range(TILES), (-1, 0, 1)):
        output = np.arange(128 * tile, 128 * (tile + 1))
        image, h, w = output // width**2, output // width % width + r, output % width
        inside = {(n, y, x + s) for n, y, x in zip(image, h, w, strict=True) for s in (-1, 0, 1)}
        count += sum(0 <= y < width and 0 <= x < width for _, y, x in inside)
    return count


def images_of(width: int) -> int:
    """The images that have the pixels of all tiles."""
    return -(-TILES * 128 // width**2)


@pytest.mark.parametrize("hints", [{}, {"convolution": "run", "allow_unconfirmed": True}], ids=["threads", "in place"])
@pytest.mark.parametrize("width", [7, 14, 28, 57])
@pytest.mark.parametrize("target", TARGETS)
def test_run_loads_each_pixel_once(target: str, width: int, hints: dict[str, Any]) -> None:
    """A window of 3 x 3 with stride 1 reads the pixels of each of its rows once, and at most a tenth more.

    That is a third of the bytes of im2col, and at most a tenth more, unless many of the pixels of im2col are padding,
    which is not read: of seven pixels of a row its taps read 6, 7 and 6.
    """
    images = images_of(width)
    x = np.ones((images, width, width, 64), np.float16)
    f = np.ones((3, 3, 64, 64), np.float16)
    loaded = {}
    for mode in ("im2col", "run"):
        shape = f"f16[{images},{width},{width},64]"
        chosen = hints if mode == "run" else {}
        signature = f"X: {shape}, F: f16[3,3,64,64], Y: {shape}, mode={mode!r}"
        kernel = tilec.compile(of_layer, target=target, signature=signature, hints=chosen, stop="ptx")
        y = np.zeros(x.shape, np.float16)
        counters = simulate(kernel.artifact, (TILES, 1, 1), (x, f, y, mode), Settings(0, checks=False))
        loaded[mode] = counters["bulk_load_l2_bytes"] - TILES * f.nbytes
    assert loaded["run"] <= 1.1 * 128 * pixels_of_taps(width)
    if width >= 28:
        assert loaded["run"] <= 1.1 * loaded["im2col"] / 3


def test_unknown_width_is_refused() -> None:
    signature = "X: f16[2,5,?,64], F: f16[3,3,64,64], Y: f16[2,5,?,64], mode='run'"
    with pytest.raises(UnsupportedError, match="mode=run cannot be followed: array: the width of the images is not"):
        tilec.compile(of_layer, target="sm_90a", signature=signature)


@ct.kernel
def of_narrow_images(X, F, Y):
    """A row has one output pixel, for which it has all positions of the window."""
    images = ct.im2col_view(X, window=(1, 9), padding=((0, 0), (4, 4)), tile=(128, 64), mode="run")
    w = ct.load(F, (0, 0), (64, 64))
    total = ct.mma(ct.load(images, (0, 0), offset=(0, 0)), w, ct.zeros((128, 64), ct.float32))
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64)), (0, 0), total.astype(Y.dtype))


def test_long_runs_are_refused() -> None:
    """128 rows of 9 positions are more than TMA copies at once; 57 of 128 bytes would not leave memory for a ring."""
    signature = "X: f16[200,1,1,64], F: f16[64,64], Y: f16[200,1,1,64]"
    with pytest.raises(UnsupportedError, match="mode=run cannot be followed: tile: TMA expects 1 to 1024 pixels"):
        tilec.compile(of_narrow_images, target="sm_90a", signature=signature)
    signature = "X: f16[200,1,9,64], F: f16[64,64], Y: f16[200,1,9,64]"
    assert tilec.compile(of_narrow_images, target="sm_90a", signature=signature, stop="ptx").ptx.count(".im2col.") == 1


@ct.kernel
def of_many_taps(X, F, Y):
    images = ct.im2col_view(X, window=33, padding=16, tile=(64, 16), mode="run")
    total = ct.zeros((64, 16), ct.float32)
    for s in range(33):
        w = ct.load(F, (s, 0, 0), (1, 16, 16)).reshape((16, 16))
        total = ct.mma(ct.load(images, (ct.bid(0), 0), offset=s), w, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(64, 16)), (ct.bid(0), 0), total.astype(Y.dtype))


@pytest.mark.parametrize("target", TARGETS)
def test_each_tap_of_a_wide_window_is_unrolled(target: str) -> None:
    random = np.random.default_rng(3)
    x, f = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((3, 37, 16), (33, 16, 16)))
    exact = conv_forward(x, f.transpose(2, 0, 1), stride=1, dilation=1, padding=16)
    signature = "X: f16[3,37,16], F: f16[33,16,16], Y: f32[3,37,16]"
    kernel = tilec.compile(of_many_taps, target=target, signature=signature, stop="ptx")
    assert kernel.ptx.count(".im2col.") == 1
    result = np.full(exact.shape, 99, np.float32)
    tilec.run(kernel, (2,), (x, f, result), backend="simulate", seed=2)
    np.testing.assert_array_equal(result, exact)


@ct.kernel
def at_run_time(X, F, Y, s: int):
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(128, 64), mode="run")
    w = ct.load(F, (0, 0, 0, 0), (1, 1, 64, 64)).reshape((64, 64))
    total = ct.mma(ct.load(images, (ct.bid(0), 0), offset=(0, s)), w, ct.zeros((128, 64), ct.float32))
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64)), (ct.bid(0), 0), total.astype(Y.dtype))


def test_tap_at_run_time_is_refused() -> None:
    signature = "X: f16[2,5,9,64], F: f16[3,3,64,64], Y: f16[2,5,9,64], s: i32"
    with pytest.raises(UnsupportedError, match="the tap along W is not a constant, also after the loop over it"):
        tilec.compile(at_run_time, target="sm_90a", signature=signature)


@ct.kernel
def as_rhs(X, F, Y):
    """The filters are on the left."""
    images = ct.im2col_view(X, window=(3, 3), padding=1, tile=(64, 64), mode="run")
    w = ct.load(F, (0, 0), (64, 64))
    total = ct.mma(w, ct.load(images, (0, 0), offset=(0, 1)).transpose(), ct.zeros((64, 64), ct.float32))
    ct.store(Y, (0, 0), total)


@pytest.mark.parametrize("target", TARGETS)
def test_run_on_the_right(target: str) -> None:
    """Threads transpose the tile of a run, and store it for the multiply."""
    x = np.random.default_rng(3).integers(-3, 4, (2, 5, 9, 64)).astype(np.float16)
    f = np.random.default_rng(4).integers(-3, 4, (64, 64)).astype(np.float16)
    kernel = tilec.compile(
        as_rhs, target=target, signature="X: f16[2,5,9,64], F: f16[64,64], Y: f32[64,64]", stop="ptx"
    )
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    pixels = padded[:, 0:5, 1:10].reshape(-1, 64)[:64].astype(np.float64)
    result = np.zeros((64, 64), np.float32)
    tilec.run(kernel, (1,), (x, f, result), backend="simulate")
    np.testing.assert_array_equal(result, f.astype(np.float64) @ pixels.T)
