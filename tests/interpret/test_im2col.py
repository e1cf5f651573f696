"""Im2col views: which element each pixel of a tile reads at each tap of the window.

The expected tiles come from a direct walk over images, rows and columns of the padded input.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tilec.errors import SimulationError


def output_extent(extent: int, taps: int, dilation: int, stride: int, lower: int, upper: int) -> int:
    """The number of positions of a window in a padded row, counted."""
    padded = extent + lower + upper
    return sum(1 for start in range(0, max(padded, 0), stride) if start + (taps - 1) * dilation < padded)


def view_text(shape, tile, window, dilation, stride, lower, upper, mode=None) -> tuple[str, str]:
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    tensor = f"tensor_view<{'x'.join(map(str, shape))}xf32, strides={strides}>".replace(" ", "")
    order = "" if mode is None else f"mode={mode}, "
    arrays = f"window={window}, dilation={dilation}, stride={stride}, lower={lower}, upper={upper}"
    return tensor, f"tilex.im2col_view<tile=({tile[0]}x{tile[1]}), {arrays}, {order}{tensor}>"


def run_load(execute, images, index, offset, tile, check=True, **parameters):
    """The tile of a view of `images` at an index and an offset."""
    shape = list(images.shape)
    tensor, view = view_text(shape, tile, **parameters)
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    out = f"tensor_view<{tile[0]}x{tile[1]}xf32, strides=[{tile[1]},1]>"
    result = np.full(tile, 99, np.float32)
    constants = "\n".join(f"%o{k} = constant <i32: {value}> : tile<i32>" for k, value in enumerate(offset))
    execute(
        "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i32>",
        f"""
        {constants}
        %t = make_tensor_view %p, shape = {shape}, strides = {strides} : {tensor}
        %v = tilex.make_im2col_view %t : {view}
        %x, %k = tilex.load_im2col_tko weak %v[%i, %j] offset [{", ".join(f"%o{k}" for k in range(len(offset)))}]
          : {view}, tile<i32> -> tile<{tile[0]}x{tile[1]}xf32>, token
        %o = make_tensor_view %q, shape = {list(tile)}, strides = [{tile[1]}, 1] : {out}
        %w = make_partition_view %o : partition_view<tile=({tile[0]}x{tile[1]}), {out}>
        %zero = constant <i32: 0> : tile<i32>
        %e = store_view_tko weak %x, %w[%zero, %zero]
          : tile<{tile[0]}x{tile[1]}xf32>, partition_view<tile=({tile[0]}x{tile[1]}), {out}>, tile<i32> -> token""",
        images,
        result,
        *index,
        check=check,
    )
    return result


def expected_rows(images, offset, window, dilation, stride, lower, upper, by_row):
    """For each run of tiles, the row of channels that each of its pixels reads."""
    extents = [
        output_extent(images.shape[1 + k], window[k], dilation[k], stride[k], lower[k], upper[k])
        for k in range(len(window))
    ]

    def pixel(image, position):
        at = [p * u + o * d - b for p, u, o, d, b in zip(position, stride, offset, dilation, lower, strict=True)]
        inside = all(0 <= a < extent for a, extent in zip(at, images.shape[1:-1], strict=True))
        return images[(image, *at)] if inside else np.zeros(images.shape[-1], np.float32)

    numbers = range(images.shape[0])
    if not by_row:
        return [[pixel(n, position) for n in numbers for position in itertools.product(*map(range, extents))]]
    rows = itertools.product(*map(range, extents[:-1]))
    return [[pixel(n, (*row, q)) for n in numbers for q in range(extents[-1])] for row in rows]


CASES = {
    "1d": ((3, 9, 4), (4, 4), [3], [1], [1], [1], [1]),
    "1d stride 2": ((2, 8, 4), (4, 4), [3], [1], [2], [1], [1]),
    "1d dilation 2, more padding above": ((2, 9, 4), (8, 4), [3], [2], [1], [1], [2]),
    "causal": ((2, 6, 4), (4, 2), [4], [1], [1], [3], [0]),
    "cropped": ((2, 9, 4), (4, 4), [3], [1], [1], [-1], [-2]),
    "2d": ((2, 5, 6, 4), (8, 4), [3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
    "2d unlike dimensions": ((3, 7, 5, 6), (16, 4), [3, 2], [2, 1], [1, 2], [2, 0], [1, 1]),
    "3d": ((2, 3, 4, 5, 2), (16, 2), [2, 3, 3], [1, 1, 2], [2, 1, 1], [0, 1, 2], [1, 1, 2]),
}


@pytest.mark.parametrize("mode", [None, "im2col", "w"])
@pytest.mark.parametrize("case", CASES)
def test_tiles(execute, case, mode):
    shape, tile, *parameters = CASES[case]
    names = ("window", "dilation", "stride", "lower", "upper")
    view = dict(zip(names, parameters, strict=True))
    images = np.arange(1, math.prod(shape) + 1, dtype=np.float32).reshape(shape)
    for offset in itertools.product(*map(range, view["window"])):
        runs = expected_rows(images, offset, **view, by_row=mode == "w")
        number = 0
        for rows in runs:
            for first in range(0, len(rows), tile[0]):
                for column in range(0, shape[-1], tile[1]):
                    wanted = np.zeros(tile, np.float32)
                    part = np.array(rows[first : first + tile[0]])[:, column : column + tile[1]]
                    wanted[: part.shape[0], : part.shape[1]] = part
                    got = run_load(execute, images, (number, column // tile[1]), offset, tile, **view, mode=mode)
                    np.testing.assert_array_equal(got, wanted, f"tile {number}, offset {offset}")
                number += 1
        with pytest.raises(SimulationError, match=rf"index 0 of the view must be at least 0 and below {number}, got"):
            run_load(execute, images, (number, 0), offset, tile, **view, mode=mode)


def test_offset_outside_of_the_window(execute):
    images = np.ones((1, 5, 4), np.float32)
    view = {"window": [3], "dilation": [1], "stride": [1], "lower": [1], "upper": [1]}
    with pytest.raises(SimulationError, match="offset 0 of the view must be at least 0 and below 3, got 3"):
        run_load(execute, images, (0, 0), [3], (4, 4), **view)


def test_negative_index_is_shown_as_it_was_given(execute):
    images = np.ones((1, 5, 4), np.float32)
    view = {"window": [3], "dilation": [1], "stride": [1], "lower": [1], "upper": [1]}
    with pytest.raises(SimulationError, match="index 0 of the view must be at least 0 and below 2, got -1"):
        run_load(execute, images, (-1, 0), [0], (4, 4), **view)


def test_window_larger_than_the_padded_input(execute):
    """The output is empty, so every tile index is out of bounds."""
    images = np.ones((1, 2, 4), np.float32)
    view = {"window": [5], "dilation": [1], "stride": [1], "lower": [1], "upper": [1]}
    with pytest.raises(SimulationError, match="index 0 of the view must be at least 0 and below 0, got 0"):
        run_load(execute, images, (0, 0), [0], (4, 4), **view)


def test_extents(execute):
    """A 3x2 window with dilation 2x1 and stride 1x2 over 7x5 pixels, padded by 2+1 and 0+1: 6 x 3 positions."""
    tensor, view = view_text((3, 7, 5, 6), (16, 4), [3, 2], [2, 1], [1, 2], [2, 0], [1, 1])
    found = np.zeros(4, np.int32)
    stores = "\n".join(
        f"""%k{i} = constant <i32: {i}> : tile<i32>
        %a{i} = offset %q, %k{i} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
        %s{i} = store_ptr_tko weak %a{i}, {value} : tile<ptr<i32>>, tile<i32> -> token"""
        for i, value in enumerate(("%m#0", "%m#1", "%e#0", "%e#1"))
    )
    execute(
        "%p: tile<ptr<f32>>, %q: tile<ptr<i32>>",
        f"""%t = make_tensor_view %p, shape = [3, 7, 5, 6], strides = [210, 30, 6, 1] : {tensor}
        %v = tilex.make_im2col_view %t : {view}
        %m:2 = tilex.get_im2col_index_space_shape %v : {view} -> tile<i32>
        %e:2 = tilex.get_im2col_output_shape %v : {view} -> tile<i32>
        {stores}""",
        np.zeros((3, 7, 5, 6), np.float32),
        found,
    )
    # 3 images of 6 x 3 pixels are 54, in tiles of 16; 6 channels in tiles of 4.
    assert found.tolist() == [4, 2, 6, 3]


def test_store_drops_what_is_outside(execute):
    """Stride 2 and offset 1 store every other pixel, as the phases of a transposed convolution do."""
    tensor, view = view_text((1, 5, 2), (4, 2), [2], [1], [2], [0], [1])
    images = np.zeros((1, 5, 2), np.float32)
    execute(
        "%p: tile<ptr<f32>>",
        f"""%t = make_tensor_view %p, shape = [1, 5, 2], strides = [10, 2, 1] : {tensor}
        %v = tilex.make_im2col_view %t : {view}
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %x = constant <f32: 7.0> : tile<4x2xf32>
        %k = tilex.store_im2col_tko weak %x, %v[%zero, %zero] offset [%one]
          : tile<4x2xf32>, {view}, tile<i32> -> token""",
        images,
    )
    assert images[0, :, 0].tolist() == [0, 7, 0, 7, 0]
