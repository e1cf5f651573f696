"""Stores and reductions in .im2col_no_offs mode: the pixels that they write, those that they drop, and the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from im2col_copies import THREADS, PixelMap, inclusive, spans, store_body
from swizzle_images import swizzled

from tilec.runtime.ptxsim import _native as ptxsim


@pytest.fixture
def store(simulate, encode_tensor_map, aligned):
    """The tensor after a store, or a reduction, of rows [pixels, channels] through a map over it."""

    def run(tensor, pixel_map, coordinates, rows, reduction="", **options):
        tensor = aligned(tensor)
        image = aligned(swizzled(rows, pixel_map.swizzle))
        simulate(
            store_body(coordinates, image.nbytes, reduction), pixel_map.encode(encode_tensor_map, tensor), image,
            block=THREADS, map_targets=[tensor], **options,
        )  # fmt: skip
        return tensor

    return run


# The shape, the map, the coordinates (C, W, H, N) and the pixels. The first begins as example 1 of 5.5.4.1.
CASES = {
    "rows and images": (
        (12, 14, 9, 64), PixelMap("im2col", (0, 0), (0, 0), channels=8, pixels=64), (8, 4, 7, 7),
        spans(((7, 7), inclusive(4, 8)), *[((7, h), inclusive(0, 8)) for h in inclusive(8, 13)],
              ((8, 0), inclusive(0, 4))),
    ),
    "corners inside the tensor": (
        (2, 6, 5, 16), PixelMap("im2col", (1, 2), (-2, -1), channels=16, pixels=8, swizzle="32B"), (0, 2, 3, 0),
        spans(((0, 3), [2]), ((0, 4), [1, 2]), *[((1, h), [1, 2]) for h in inclusive(2, 3)], ((1, 4), [1])),
    ),
    "traversal strides": (
        (3, 8, 32), PixelMap("im2col", (1,), (0,), channels=32, pixels=6, strides=(3,), swizzle="64B"), (0, 4, 1),
        spans(((1,), [4, 7]), ((2,), [1, 4, 7])),
    ),
    "volumes": (
        (1, 3, 2, 2, 64), PixelMap("im2col", (0,) * 3, (0,) * 3, channels=64, pixels=7, swizzle="128B"),
        (0, 1, 0, 1, 0),
        spans(((0, 1, 0), [1]), ((0, 1, 1), [0, 1]), ((0, 2, 0), [0, 1]), ((0, 2, 1), [0, 1])),
    ),
}  # fmt: skip


def rows_for(pixel_map: PixelMap, dtype: type = np.uint16) -> np.ndarray:
    return (5000 + np.arange(pixel_map.pixels * pixel_map.channels)).astype(dtype).reshape(-1, pixel_map.channels)


@pytest.mark.parametrize(("target", "seed"), [("sm_100a", 0), ("sm_90a", 1)])
@pytest.mark.parametrize("name", CASES)
def test_stored_pixels(store, name, target, seed):
    """PTX ISA 5.5.4.1 and 5.5.4.2 without offsets: the walk of a load; pixels beyond the last image are dropped."""
    shape, pixel_map, coordinates, pixels = CASES[name]
    rows, expected = rows_for(pixel_map), np.zeros(shape, np.uint16)
    for pixel, row in zip(pixels, rows, strict=False):
        expected[pixel][coordinates[0] : coordinates[0] + pixel_map.channels] = row
    stored = store(np.zeros(shape, np.uint16), pixel_map, coordinates, rows, target=target, seed=seed)
    np.testing.assert_array_equal(stored, expected)


def test_channels_outside_the_tensor_are_dropped(store):
    """PTX ISA 5.5.4.3 and 9.7.9.27.1.2: elements of a store outside the tensor are not written."""
    pixel_map = PixelMap("im2col", (0,), (0,), channels=16, pixels=4)
    rows = rows_for(pixel_map)
    stored = store(np.zeros((1, 3, 24), np.uint16), pixel_map, (16, 0, 0), rows)
    np.testing.assert_array_equal(stored[0, :, 16:], rows[:3, :8])
    assert (stored[..., :16] == 0).all()


REDUCTIONS = [
    ("add", "u32", np.uint32, np.add), ("min", "s32", np.int32, np.minimum), ("max", "f16", np.float16, np.maximum),
    ("xor", "u32", np.uint32, np.bitwise_xor),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "element", "dtype", "combine"), REDUCTIONS)
def test_reduced_pixels(store, operation, element, dtype, combine):
    """PTX ISA 9.7.9.27.1.3: a reduction combines the pixels of a store with those of the tensor."""
    pixel_map = PixelMap("im2col", (0, 0), (0, 0), channels=8, pixels=10, element=element)
    before = (4800 + 3 * np.arange(2 * 3 * 4 * 8)).astype(dtype).reshape(2, 3, 4, 8)
    rows, expected = rows_for(pixel_map, dtype), before.copy()
    pixels = spans(((0, 1), [3]), ((0, 2), range(4)), ((1, 0), range(4)), ((1, 1), [0]))
    for pixel, row in zip(pixels, rows, strict=True):
        expected[pixel] = combine(before[pixel], row)
    reduced = store(before, pixel_map, (0, 3, 1, 0), rows, operation)
    np.testing.assert_array_equal(reduced, expected)
    kept = {bool((reduced[pixel] == before[pixel]).all()) for pixel in pixels}
    assert kept == ({False, True} if operation in ("min", "max") else {False})


INSIDE = PixelMap("im2col", (0, 0), (0, 0), channels=8, pixels=4)
# The map, the coordinates and the message of a store that is refused.
REFUSED = [
    (replace(INSIDE, lower=(-1, 0)), (0, 0, 0, 0), "lower corner W of at least 0 in a store, got -1", "illegal"),
    (replace(INSIDE, lower=(0, -1)), (0, 0, 0, 0), "lower corner H of at least 0 in a store, got -1", "illegal"),
    (replace(INSIDE, upper=(1, 0)), (0, 0, 0, 0), "upper corner W of at most 0 in a store, got 1", "illegal"),
    (replace(INSIDE, upper=(0, 1)), (0, 0, 0, 0), "upper corner H of at most 0 in a store, got 1", "illegal"),
    (INSIDE, (-8, 0, 0, 0), "coordinates of at least 0 in a tensor store, got -8 in dimension 0", "illegal"),
    (INSIDE, (0, 0, 0, -1), "coordinates of at least 0 in a tensor store, got -1 in dimension 3", "illegal"),
    (INSIDE, (0, 4, 0, 0), r"coordinate 1 \(W\) in the bounding box without offsets, 0 to 3, got 4", "illegal"),
    (replace(INSIDE, lower=(0, 1)), (0, 0, 0, 0), r"coordinate 2 \(H\) in the .*, 1 to 2, got 0", "illegal"),
]


@pytest.mark.parametrize(("pixel_map", "coordinates", "message", "kind"), REFUSED)
@pytest.mark.parametrize("reduction", ["", "add"])
def test_store_stays_inside_the_tensor(store, pixel_map, coordinates, message, kind, reduction):
    """PTX ISA 9.7.9.27.1.1: in stores coordinates and lower corners are not negative, upper corners not positive."""
    tensor = np.zeros((2, 3, 4, 8), np.uint32)
    pixel_map = replace(pixel_map, element="u32")
    store(tensor, replace(INSIDE, element="u32"), (0, 0, 0, 0), rows_for(pixel_map, np.uint32), reduction)
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        store(tensor, pixel_map, coordinates, rows_for(pixel_map, np.uint32), reduction)
    assert trap.value.kind == kind


@pytest.mark.parametrize("reduction", ["", "add"])
def test_store_of_the_wide_kind(simulate, encode_tensor_map, aligned, reduction):
    """.im2col_no_offs::w of PTX ISA 9.4 and sm_107a walks along W and images; NVIDIA does not publish its walk."""
    tensor = aligned(np.zeros((3, 2, 5, 32), np.uint32))
    pixel_map = PixelMap("im2col_w", [1], [-1], channels=32, pixels=7, swizzle="128B", element="u32")
    rows, expected = rows_for(pixel_map, np.uint32), tensor.copy()
    pixels = spans(((1, 1), [2, 3]), ((2, 1), [1, 2, 3]))
    for pixel, row in zip(pixels, rows, strict=False):
        expected[pixel] = row
    image, encoded = aligned(swizzled(rows, "128B")), pixel_map.encode(encode_tensor_map, tensor)
    body = store_body((0, 2, 1, 1), image.nbytes, reduction, mode="im2col_no_offs::w")
    options = {"block": THREADS, "target": "sm_107a", "map_targets": [tensor]}
    with pytest.raises(ptxsim.Trap, match="the pixels of a store in mode .im2col_no_offs::w") as trap:
        simulate(body, encoded, image, **options)
    assert trap.value.kind == "unconfirmed"
    simulate(body, encoded, image, allow_unconfirmed=True, **options)
    np.testing.assert_array_equal(tensor, expected)
