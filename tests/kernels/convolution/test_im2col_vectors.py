"""The rows that convolutions read at each tap, worked by hand: from the view in Python to the copies in the simulator.

A multiply by the unit matrix passes the operand on, so the result is the tile that TMA loaded. Pixel w of an image has
the value w + 1 in every channel: a row of zeros is padding.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct
from tilec.signature import Signature


@ct.kernel
def loaded(
    x,
    unit,
    y,
    taps: ct.Constant[int],
    dilation: ct.Constant[int],
    stride: ct.Constant[int],
    lower: ct.Constant[int],
    upper: ct.Constant[int],
    mode: ct.Constant[str],
):
    """y[s] is the tile at tap s."""
    view = ct.im2col_view(
        x, window=taps, dilation=dilation, stride=stride, padding=((lower, upper),), tile=(64, 32), mode=mode
    )
    for s in range(taps):
        tile = ct.mma(ct.load(view, (0, 0), offset=s), ct.load(unit, (0, 0), (32, 32)), ct.zeros((64, 32), ct.float32))
        ct.store(y, (s, 0, 0), tile.reshape((1, 64, 32)))


# By name: extent, taps, dilation, stride, padding, and for each tap the positions along W that the outputs read. Those
# outside of the image are padding.
VECTORS = {
    # A window of three over five pixels.
    "C1": (5, 3, 1, 1, (1, 1), [[-1, 0, 1, 2, 3], [0, 1, 2, 3, 4], [1, 2, 3, 4, 5]]),
    # The same with stride 2: four outputs of eight pixels.
    "C2": (8, 3, 1, 2, (1, 1), [[-1, 1, 3, 5], [0, 2, 4, 6], [1, 3, 5, 7]]),
    # Dilation 2 and more padding at the end: the last output reads two positions beyond the image.
    "C3": (
        9,
        3,
        2,
        1,
        (1, 2),
        [[-1, 0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7, 8], [3, 4, 5, 6, 7, 8, 9, 10]],
    ),
}
PATHS = [("sm_100a", "im2col", "im2col"), ("sm_90a", "im2col", "im2col"), ("sm_100a", "w", "im2col::w")]


@pytest.mark.parametrize(("target", "mode", "instruction"), PATHS)
@pytest.mark.parametrize("name", VECTORS)
def test_rows(name, target, mode, instruction):
    extent, taps, dilation, stride, padding, positions = VECTORS[name]
    x = np.repeat(np.arange(1, extent + 1, dtype=np.float16), 32).reshape(1, extent, 32)
    y = np.full((taps, 64, 32), -1, np.float32)
    args = (x, np.eye(32, dtype=np.float16), y, taps, dilation, stride, *padding, mode)
    compiled = ct.compile(loaded, target=target, signature=Signature.from_arguments(loaded, args), stop="ptx")
    assert f".{instruction}.mbarrier" in compiled.ptx
    expected = np.zeros_like(y)
    for tap, read in enumerate(positions):
        for output, position in enumerate(read):
            expected[tap, output] = position + 1 if 0 <= position < extent else 0
    for backend in ("interpret", "simulate"):
        y[...] = -1
        ct.launch(None, 1, loaded, args, backend=backend, target=target)
        np.testing.assert_array_equal(y, expected, backend)
