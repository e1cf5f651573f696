"""Loads in .im2col::w and .im2col::w::128 mode: the examples of PTX ISA 5.5.5, a model in numpy, and the limits."""

from __future__ import annotations

import numpy as np
import pytest
from im2col_copies import THREADS, PixelMap, dense, inclusive, load_body, numbered, rows_of, spans


@pytest.fixture
def load(simulate, encode_tensor_map, aligned):
    """Loads `rows` rows of channels through a map over a tensor; `information` is (wHalo, wOffset)."""

    def run(tensor, pixel_map, coordinates, information, rows, **options):
        tensor = aligned(tensor)
        image = aligned(np.zeros((rows, pixel_map.channels), tensor.dtype))
        simulate(
            load_body(pixel_map.kind, coordinates, information, image.nbytes),
            pixel_map.encode(encode_tensor_map, tensor), image, block=THREADS, map_targets=[tensor], **options,
        )  # fmt: skip
        return dense(image, pixel_map.swizzle).reshape(image.shape)

    return run


def wide(lower: int, upper: int, **fields) -> PixelMap:
    """A map of 128 pixels of 64 channels with swizzle 128B."""
    return PixelMap(**{"kind": "im2col_w", "channels": 64, "pixels": 128, "swizzle": "128B", **fields},
                    lower=[lower], upper=[upper])  # fmt: skip


# The examples of 5.5.5.3 and 5.5.5.4: the map, the coordinates (C, W, H, N), wHalo and wOffset, and the pixels with the
# halo as the last ones.
EXAMPLES = {
    "5.5.5.3 wHalo, figure 18": (
        (64, 7, 9, 128), wide(0, 0), (0, 3, 2, 7), (2, 0),
        spans(((7, 2), inclusive(3, 8)), *[((n, 2), inclusive(0, 8)) for n in inclusive(8, 20)],
              ((21, 2), inclusive(0, 4)), ((21, 2), [5, 6])),
    ),
    "5.5.5.4 example 1, buffer 1, figure 20": (
        (64, 67, 9, 128), wide(-1, 0, strides=[2]), (0, -1, 2, 7), (1, 0),
        spans(*[((n, 2), [-1, 1, 3, 5, 7]) for n in inclusive(7, 31)], ((32, 2), [-1, 1, 3]), ((32, 2), [5])),
    ),
    "5.5.5.4 example 1, buffer 2, figure 21": (
        (64, 67, 9, 128), wide(-1, 0, strides=[2]), (0, -1, 2, 7), (0, 1),
        spans(*[((n, 2), [0, 2, 4, 6, 8]) for n in inclusive(7, 31)], ((32, 2), [0, 2, 4])),
    ),
    "5.5.5.4 example 2, buffer 1, figure 22": (
        (64, 7, 7, 128), wide(-1, -1, strides=[3]), (0, -1, 2, 7), (0, 0),
        spans(*[((n, 2), [-1, 2, 5]) for n in inclusive(7, 48)], ((49, 2), [-1, 2])),
    ),
    "5.5.5.4 example 2, buffer 2, figure 23": (
        (64, 7, 7, 128), wide(-1, -1, strides=[3]), (0, -1, 2, 7), (0, 1),
        spans(*[((n, 2), [0, 3, 6]) for n in inclusive(7, 48)], ((49, 2), [0, 3])),
    ),
    "5.5.5.4 example 2, buffer 3, figure 24": (
        (64, 7, 7, 128), wide(-1, -1, strides=[3]), (0, -1, 2, 7), (0, 2),
        spans(*[((n, 2), [1, 4, 7]) for n in inclusive(7, 48)], ((49, 2), [1, 4])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_the_manual(load, name, seed):
    """PTX ISA 5.5.5.3 and 5.5.5.4, the examples of .im2col::w of figures 18 and 20 to 24."""
    shape, pixel_map, coordinates, information, pixels = EXAMPLES[name]
    assert len(pixels) == 128 + information[0]
    tensor = numbered(*shape)
    loaded = load(tensor, pixel_map, coordinates, information, len(pixels), seed=seed)
    np.testing.assert_array_equal(loaded, rows_of(tensor, pixels, 0, 64))
