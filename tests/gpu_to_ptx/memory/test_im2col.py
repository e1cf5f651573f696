"""Loads of pixels by im2col, run in the simulator, read what the taps of a window read in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from im2col_kernels import (
    ELEMENTS,
    Window,
    padded_rows,
    row_order,
    rows_kernel,
    rows_of,
    store_kernel,
    taps_kernel,
)

import tilec
from tilec.runtime.simulate import Settings, simulate

WINDOWS = {
    "rank 3": Window(3, (13,), (3,), (1,), (1,), (1,), (1,)),
    "rank 3, a negative padding": Window(3, (13,), (2,), (-1,), (3,), (1,), (2,)),
    "rank 3, stride 8": Window(5, (70,), (4,), (2,), (5,), (8,), (3,)),
    "rank 4": Window(2, (7, 9), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
    "rank 4, different along H and W": Window(2, (6, 11), (2, 3), (1, 0), (2, 4), (1, 2), (3, 1)),
    "rank 4, one tap": Window(2, (8, 8), (1, 1), (0, 0), (0, 0), (2, 2), (1, 1)),
    "rank 5": Window(2, (3, 4, 5), (2, 2, 3), (1, 0, 2), (0, 1, 1), (1, 1, 1), (1, 1, 1)),
    "rank 5, strides and dilations": Window(2, (5, 6, 7), (2, 1, 2), (0, 1, 1), (1, 0, 2), (2, 1, 3), (1, 1, 2)),
}


def run(
    text: str,
    target: str,
    grid: tuple[int, ...],
    x: np.ndarray,
    y: np.ndarray,
    hints: Mapping[str, object] | None = None,
    **settings: bool,
) -> None:
    compiled = tilec.compile(text, target=target, hints=hints, stop="ptx")
    simulate(compiled.artifact, grid, (x, y), Settings(**settings))


def check_taps(
    window: Window, target: str, *, rows: int = 64, columns: int = 64, element: str = "f16", **hints: object
) -> None:
    x = window.array(ELEMENTS[element])
    expected = window.taps_of(x)
    taps, count, channels = expected.shape
    y = np.full((taps * padded_rows(window, rows), channels), 99, x.dtype)
    text = taps_kernel(window, target, rows=rows, columns=columns, element=element)
    run(text, target, (padded_rows(window, rows) // rows, -(-channels // columns)), x, y, hints)
    found = y.reshape(taps, -1, channels)
    assert np.array_equal(found[:, :count], expected)
    # The pixels after the last image are outside.
    assert not found[:, count:].any()


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", WINDOWS)
def test_each_tap_reads_its_pixels(name: str, target: str) -> None:
    check_taps(WINDOWS[name], target)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(
    ("element", "channels", "columns"),
    [("f16", 128, 128), ("f16", 72, 128), ("f32", 40, 64), ("i8", 144, 128)],
    ids=["two panels", "channels end in the second panel", "panels of 32 channels", "bytes"],
)
def test_channels_are_cut_into_panels(element: str, channels: int, columns: int, target: str) -> None:
    window = replace(WINDOWS["rank 4"], channels=channels)
    check_taps(window, target, columns=columns, element=element)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_one_role_issues_the_loads_and_reads_them(target: str) -> None:
    check_taps(WINDOWS["rank 5"], target, columns=128, roles=False)


@pytest.mark.parametrize("rows", [32, 128])
def test_columns_of_other_lengths(rows: int) -> None:
    check_taps(WINDOWS["rank 4, different along H and W"], "sm_90a", rows=rows)


# PTX ISA 9.7.9.27.1.2: the offset along W is below 32, and that of plain im2col at rank 4 below 256.
LINES = {
    "rank 3": Window(3, (13,), (3,), (1,), (1,), (1,), (1,)),
    "rank 4": Window(3, (5, 29), (2, 3), (1, 1), (0, 1), (1, 1), (1, 1)),
    "rank 4, strides and dilations": Window(2, (9, 40), (3, 3), (1, 2), (1, 5), (2, 3), (1, 4)),
    "rank 5": Window(2, (3, 4, 35), (1, 2, 2), (0, 1, 0), (0, 0, 1), (2, 1, 1), (1, 1, 31)),
}


@pytest.mark.parametrize(("kind", "rows", "halo"), [("im2col_w", 64, 0), ("im2col_w", 62, 2), ("im2col_w128", 128, 0)])
@pytest.mark.parametrize("name", LINES)
def test_lines_of_images(name: str, kind: str, rows: int, halo: int) -> None:
    check_lines(LINES[name], kind, rows, halo)


@pytest.mark.parametrize("halo", [1, 2, 31])
def test_halos_after_each_32_pixels(halo: int) -> None:
    """The order of the halos in shared memory is not documented."""
    check_lines(LINES["rank 4"], "im2col_w128", 128, halo, allow_unconfirmed=True)


def check_lines(window: Window, kind: str, rows: int, halo: int, **settings: bool) -> None:
    x, order = window.array(), row_order(kind, rows, halo)
    expected = rows_of(window, x, order, rows)
    y = np.full((expected.size // window.channels, window.channels), 99, x.dtype)
    _, lines, tiles = expected.shape[:3]
    run(rows_kernel(window, "sm_100a", kind, rows=rows, halo=halo), "sm_100a", (tiles, lines), x, y, **settings)
    assert np.array_equal(y.reshape(expected.shape), expected)


STORES = {
    "rank 3": Window(2, (70,), (1,), (0,), (0,), (1,), (1,)),
    "rank 4, inner pixels": Window(2, (7, 9), (1, 1), (-1, -2), (-2, -1), (1, 1), (1, 1)),
    "rank 5, every second pixel": Window(2, (4, 5, 6), (1, 1, 1), (0, -1, 0), (0, 0, -1), (2, 2, 1), (1, 1, 1)),
}


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("reduction", ["", " reduction add"])
@pytest.mark.parametrize("name", STORES)
def test_stores_change_the_pixels_of_the_box_alone(name: str, reduction: str, target: str) -> None:
    window = STORES[name]
    count = window.images * int(np.prod(window.outputs))
    x = window.array() % 11
    y = (np.arange(count * 64).reshape(count, 64) % 997).astype(np.float16)
    expected = x.copy()
    axes = [np.arange(p) * u - lo for p, u, lo in zip(window.outputs, window.stride, window.lower, strict=True)]
    inner = np.ix_(np.arange(window.images), *axes)
    expected[inner] = y.reshape(window.images, *window.outputs, 64) + (x[inner] if reduction else 0)
    run(store_kernel(window, target, reduction=reduction), target, (padded_rows(window, 64) // 64,), x, y)
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_loads_from_no_images_are_zero(target: str) -> None:
    """A tensor without elements cannot be encoded; the launcher encodes another one, which is outside everywhere."""
    window = replace(WINDOWS["rank 4"], images=0)
    y = np.full((9 * 64, 64), 99, np.float16)
    run(taps_kernel(window, target), target, (1, 1), window.array(), y)
    # Without pixels, the rows of each tap are those of the first.
    assert not y[:64].any() and (y[64:] == 99).all()
