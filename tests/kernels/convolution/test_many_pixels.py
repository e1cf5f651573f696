"""Im2col views of more than 2^32 pixels: the pixels of tiles in the middle and at the end, by TMA and by gathers.

The pixels overlap in memory, so that the arrays are small: each starts 16 bytes after its neighbours.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilec
import tilec as ct
from tilec.lowering.target import TARGETS
from tilec.signature import Signature

PIXELS, CHANNELS = 64, 32
STRIDE = (2, 1)


@ct.kernel
def one_tile(X, One, Y, tile, r, s, mode: ct.Constant[str]):
    """A tile of X as an operand of a multiply by the identity."""
    images = ct.im2col_view(X, window=3, stride=STRIDE, padding=1, tile=(PIXELS, CHANNELS), mode=mode)
    pixels = ct.load(images, (tile, 0), offset=(r, s))
    identity = ct.load(One, (0, 0), (CHANNELS, CHANNELS))
    ct.store(Y, (0, 0), ct.mma(pixels, identity, ct.zeros((PIXELS, CHANNELS), ct.float32)))


def overlapping(images: int, height: int, width: int) -> np.ndarray:
    """Images whose pixel (n, h, w) starts at element 8 * (n + h + w)."""
    values = (np.arange(8 * (images + height + width) + CHANNELS) % 2039).astype(np.float16)
    return np.lib.stride_tricks.as_strided(values, (images, height, width, CHANNELS), (16, 16, 16, 2))


def position(shape: tuple[int, ...], outputs: tuple[int, int], tile: int, pixel: int, by_row: bool) -> tuple[int, ...]:
    """The image and the output position of a pixel of a tile."""
    (images, *_), (P, Q) = shape, outputs
    if not by_row:
        rest, q = divmod(tile * PIXELS + pixel, Q)
        return (*divmod(rest, P), q)
    p, number = divmod(tile, math.ceil(images * Q / PIXELS))
    n, q = divmod(number * PIXELS + pixel, Q)
    return n, p, q


def expected(x: np.ndarray, outputs: tuple[int, int], tile: int, tap: tuple[int, int], by_row: bool) -> np.ndarray:
    found = np.zeros((PIXELS, CHANNELS), np.float32)
    for pixel in range(PIXELS):
        n, p, q = position(x.shape, outputs, tile, pixel, by_row)
        h, w = p * STRIDE[0] + tap[0] - 1, q * STRIDE[1] + tap[1] - 1
        if n < x.shape[0] and 0 <= h < x.shape[1] and 0 <= w < x.shape[2]:
            found[pixel] = x[n, h, w]
    return found


# sm_90a has no mode along W, and a gather follows no mode.
PATHS = [(None, tma, target) for tma in (True, False) for target in TARGETS] + [("w", True, "sm_100a")]


@pytest.mark.parametrize(("mode", "tma", "target"), PATHS)
def test_tiles_of_many_pixels(mode: str | None, tma: bool, target: str) -> None:
    x, outputs = overlapping(9000, 1999, 2997), (1000, 2997)
    tiles = outputs[0] * math.ceil(9000 * 2997 / PIXELS) if mode == "w" else 9000 * math.prod(outputs) // PIXELS
    assert tiles * PIXELS > 2**34
    one, tap = np.eye(CHANNELS, dtype=np.float16), (0, 2)
    y = np.zeros((PIXELS, CHANNELS), np.float32)
    signature = Signature.from_arguments(one_tile, (x, one, y, 0, *tap, mode))
    compiled = tilec.compile(one_tile, target=target, signature=signature, hints={"tma": tma})
    assert (".im2col" in compiled.ptx) == tma
    for tile in (3, tiles // 2 + 5, tiles - 1):
        for backend in ("simulate", "interpret"):
            y[:] = 99
            tilec.run(compiled, 1, (x, one, y, tile, *tap, mode), backend=backend)
            np.testing.assert_array_equal(y, expected(x, outputs, tile, tap, mode == "w"), f"{backend}, tile {tile}")
