"""Tiles of im2col views beyond the last one, and of images without output, are zero in each mode on both targets."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as ct

PIXELS, CHANNELS = 128, 64
MODES = [
    ("sm_100a", "im2col"),
    ("sm_100a", "w"),
    ("sm_100a", "w128"),
    ("sm_100a", None),
    ("sm_90a", "im2col"),
    ("sm_90a", None),
]


@ct.kernel
def sum_of_taps(x, identity, y, i: ct.Constant[int], window: ct.Constant[int], mode: ct.Constant[str]):
    """y = the sum over the taps of the tile (i, 0), of a window of all spatial dimensions."""
    images = ct.im2col_view(x, window=window, tile=(128, 64), mode=mode)
    total = ct.zeros((128, 64), ct.float32)
    unit = ct.load(identity, (0, 0), (64, 64))
    for r in range(window):
        for s in range(window):
            total = ct.mma(ct.load(images, (i, 0), offset=(r, s)), unit, total)
    ct.store(y, (0, 0), total)


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch):
    """The tile that the kernel computes from images of ones, on a backend for a target; y begins as -1."""

    def run(shape: tuple[int, ...], i: int, target: str, mode: str | None, backend: str) -> np.ndarray:
        monkeypatch.setenv("TILEC_TARGET", target)
        y = np.full((PIXELS, CHANNELS), -1, np.float32)
        arguments = (np.ones(shape, np.float16), np.eye(CHANNELS, dtype=np.float16), y, i, 3, mode)
        ct.launch(None, 1, sum_of_taps, arguments, backend=backend)
        return y

    return run


# The output of two images of 9x9 has 7x7 positions each: one tile of 98 pixels, or along W seven of 14.
LAST = {"w": 6, "w128": 6, "im2col": 0, None: 0}


@pytest.mark.parametrize(("target", "mode"), MODES)
@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_tiles_beyond_the_last_one_are_zero(result, target: str, mode: str | None, backend: str) -> None:
    last = LAST[mode]
    pixels = 14 if mode in ("w", "w128") else 98
    inside = result((2, 9, 9, CHANNELS), last, target, mode, backend)
    assert (inside[:pixels] == 9).all() and not inside[pixels:].any()
    # The rows of the images go on two rows after those of the output.
    for i in (last + 1, last + 2, last + 3, 2**25, 2**31 - 1):
        assert not result((2, 9, 9, CHANNELS), i, target, mode, backend).any()


NOTHING = [(0, 9, 9, 64), (2, 0, 9, 64), (2, 9, 0, 64), (2, 9, 9, 0), (2, 2, 9, 64), (2, 9, 2, 64), (2, 1, 1, 64)]


@pytest.mark.parametrize(("target", "mode"), MODES)
@pytest.mark.parametrize("shape", NOTHING)
@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_images_without_output_are_zero(
    result, shape: tuple[int, ...], target: str, mode: str | None, backend: str
) -> None:
    assert not result(shape, 0, target, mode, backend).any()


@pytest.mark.parametrize("mode", ["im2col", "w"])
@pytest.mark.parametrize("i", [0, 1, 7, 2**25])
def test_known_extents(mode: str, i: int) -> None:
    """The positions of known extents are computed in 32 bits."""
    signature = f"x: f16[2,9,9,64], identity: f16[64,64], y: f32[128,64], i={i}, window=3, mode='{mode}'"
    compiled = ct.compile(sum_of_taps, signature=signature, target="sm_100a", stop="ptx")
    found = []
    for backend in ("interpret", "simulate"):
        y = np.full((PIXELS, CHANNELS), -1, np.float32)
        ct.run(compiled, 1, [np.ones((2, 9, 9, 64), np.float16), np.eye(64, dtype=np.float16), y], backend=backend)
        found.append(y)
    np.testing.assert_array_equal(*found)
    assert found[0].any() == (i <= LAST[mode])


# The modes along W limit neither the padding nor the stride of the other dimensions. The greatest padding.
GREATEST = 2**31 - 1


@ct.kernel
def padded_rows(x, identity, y, i: int, stride: ct.Constant[int], mode: ct.Constant[str]):
    """y = the tile (i, 0) of volumes that are padded along H by 2^31 - 1 on both sides."""
    rows = ((0, 0), (GREATEST, GREATEST), (0, 0))
    images = ct.im2col_view(x, window=1, stride=(1, stride, 1), padding=rows, tile=(128, 64), mode=mode)
    unit = ct.load(identity, (0, 0), (64, 64))
    ct.store(y, (0, 0), ct.mma(ct.load(images, (i, 0)), unit, ct.zeros((128, 64), ct.float32)))


# By the stride along H: the tile of row 0 or 1, which pixel p = (row + padding) / stride reads, and that row.
PADDED = {1: (GREATEST, 0), 2: (2**30, 1), 2**30: (2, 1)}


@pytest.mark.parametrize("extents", ["?,?,?,?,64", "1,2,9,10,64"])
@pytest.mark.parametrize("mode", ["w", "w128"])
@pytest.mark.parametrize("stride", PADDED)
def test_more_rows_than_32_bits_number(stride: int, mode: str, extents: str) -> None:
    tile, row = PADDED[stride]
    types = f"x: f16[{extents}], identity: f16[64,64], y: f32[128,64], i: i32, stride={stride}, mode='{mode}'"
    compiled = ct.compile(padded_rows, signature=types, target="sm_100a", stop="ptx")
    x = np.arange(2 * 9 * 10 * 64).reshape(1, 2, 9, 10, 64).astype(np.float16)
    for backend in ("interpret", "simulate"):
        y = np.full((PIXELS, CHANNELS), -1, np.float32)
        ct.run(compiled, 1, [x, np.eye(64, dtype=np.float16), y, tile], backend=backend)
        np.testing.assert_array_equal(y[:10], x[0, 0, row], backend)
        assert not y[10:].any()


@ct.kernel
def numbered(x, identity, y, i: int):
    """y = the tile (i, 0)."""
    images, unit = ct.im2col_view(x, window=1, tile=(128, 64)), ct.load(identity, (0, 0), (64, 64))
    ct.store(y, (0, 0), ct.mma(ct.load(images, (i, 0)), unit, ct.zeros((128, 64), ct.float32)))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("tile", [2**32, 2**58, 2**63 - 1])
def test_tile_numbers_of_64_bits(tile: int, target: str) -> None:
    """The product of the number and the pixels of a tile may exceed 64 bits."""
    types = "x: f16[?,?,64], identity: f16[64,64], y: f32[128,64], i: i64"
    compiled = ct.compile(numbered, signature=types, target=target, stop="ptx")
    x, unit = np.ones((2, 200, 64), np.float16), np.eye(64, dtype=np.float16)
    for backend in ("interpret", "simulate"):
        y = np.full((PIXELS, CHANNELS), -1, np.float32)
        ct.run(compiled, 1, [x, unit, y, tile], backend=backend)
        assert not y.any(), backend
