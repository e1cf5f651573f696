"""Convolutions of images in slices of channels, NC/8HWC8 and NC/16HWC16, equal those of the images in numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from direct_convolution import conv_forward

import tilec as ct

STRIDE, DILATION, PADDING = (2, 1), (1, 2), ((1, 0), (2, 2))


def sliced(images: np.ndarray, channels: int) -> np.ndarray:
    """[N, H, W, C] as [N, C / c, H, W, c]; the last slice is padded with zeros."""
    missing = -images.shape[-1] % channels
    padded = np.pad(images, [(0, 0)] * (images.ndim - 1) + [(0, missing)])
    return np.ascontiguousarray(np.moveaxis(padded.reshape(*images.shape[:-1], -1, channels), -2, 1))


@ct.kernel
def convolution(images, filters, output, c: ct.Constant[int], tile: ct.Constant[int]):
    pixels = ct.im2col_view(
        images, (3, 2), stride=STRIDE, dilation=DILATION, padding=PADDING, tile=(32, tile), interleave=c
    )
    result = ct.im2col_view(output, 1, tile=(32, 16), interleave=c)
    total = ct.zeros((32, 16), ct.float32)
    for r in range(3):
        for s in range(2):
            for k in range(pixels.num_tiles(1)):
                shape = (1, 1, tile, 16)
                weights = ct.load(filters, (r, s, k, 0), shape, padding_mode=ct.PaddingMode.ZERO)
                total = ct.mma(pixels.load((ct.bid(0), k), offset=(r, s)), weights.reshape((tile, 16)), total)
    result.store((ct.bid(0), 0), total.astype(output.dtype))


@pytest.mark.parametrize(("c", "tile"), [(8, 16), (8, 32), (16, 16), (16, 32), (8, 64)])
def test_convolution_of_slices(c: int, tile: int, target: str, random: np.random.Generator) -> None:
    """20 channels are 3 slices of 8 or 2 of 16; the results are 16 channels, in 2 slices or 1."""
    images = random.integers(-3, 4, (2, 7, 6, 20)).astype(np.float16)
    filters = random.integers(-3, 4, (3, 2, 20, 16)).astype(np.float16)
    exact = conv_forward(images, np.moveaxis(filters, -1, 0), STRIDE, DILATION, PADDING)
    runs: list[dict[str, Any]] = [{"backend": "interpret", "check": True}, {"backend": "simulate", "target": target}]
    for run in runs:
        output = sliced(np.full(exact.shape, 99, np.float16), c)
        blocks = math.ceil(math.prod(exact.shape[:-1]) / 32)
        ct.launch(None, blocks, convolution, (sliced(images, c), filters, output, c, tile), **run)
        np.testing.assert_array_equal(output, sliced(exact.astype(np.float16), c))


def test_remark_names_the_reason(target: str) -> None:
    """The remark says why TMA is not used: the number of slices is not known."""
    signature = "images: f16[?,?,?,?,8], filters: f16[3,2,?,16], output: f16[?,?,?,?,8], c=8, tile=32"
    compiled = ct.compile(convolution, target=target, signature=signature)
    found = " ".join(remark.message for remark in compiled.all_remarks)
    assert "interleave: the number of slices is not a constant: state the second extent in the signature" in found
    assert "interleave: stores of pixels have no offsets, by which loads select slices" in found
    assert ".im2col" not in compiled.ptx
