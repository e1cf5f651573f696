"""Loads in .im2col mode: the examples of PTX ISA 5.5.4, the walk against a model in numpy, and the limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensor_copies
from im2col_copies import THREADS, PixelMap, inclusive, load_body, numbered, rows_of, spans
from swizzle_images import swizzled

from tilec.runtime.ptxsim import _native as ptxsim


@pytest.fixture
def load(simulate, encode_tensor_map, aligned):
    """Loads the rows [pixels, channels] through a map over a tensor."""

    def run(tensor, pixel_map, coordinates, offsets, rows=None, **options):
        tensor = aligned(tensor)
        image = aligned(np.zeros((rows or pixel_map.pixels, pixel_map.channels), tensor.dtype))
        simulate(
            load_body(pixel_map.kind, coordinates, offsets, image.nbytes), pixel_map.encode(encode_tensor_map, tensor),
            image, block=THREADS, map_targets=[tensor], **options,
        )  # fmt: skip
        return swizzled(image, pixel_map.swizzle)

    return run


# The examples of 5.5.4.1 and 5.5.4.2: the shape, the map, the coordinates (C, W, H, N), the offsets (W, H) and the
# pixels. The text prints its coordinates outermost first: (7, 7, 4, 0) is image 7, row 7, column 4, channel 0.
EXAMPLES = {
    "5.5.4.1 example 1, figure 13": (
        (64, 14, 9, 64),
        PixelMap("im2col", (-1, -1), (-1, -1), channels=8, pixels=64),
        (0, 4, 7, 7),
        (0, 0),
        spans(
            ((7, 7), inclusive(4, 7)),
            *[((7, h), inclusive(-1, 7)) for h in inclusive(8, 12)],
            ((8, -1), inclusive(-1, 7)),
            ((8, 0), inclusive(-1, 4)),
        ),
    ),
    "5.5.4.1 example 2, figure 14": (
        (64, 14, 9, 64),
        PixelMap("im2col", (0, 0), (-2, -2), channels=8, pixels=64),
        (0, 4, 7, 7),
        (2, 2),
        spans(
            ((7, 9), inclusive(6, 8)),
            *[((7, h), inclusive(2, 8)) for h in inclusive(10, 13)],
            *[((8, h), inclusive(2, 8)) for h in inclusive(2, 5)],
            ((8, 6), inclusive(2, 6)),
        ),
    ),
    "5.5.4.2 traversal stride, figure 15": (
        (64, 14, 8, 64),
        PixelMap("im2col", (-1, -1), (-1, -1), channels=16, pixels=32, strides=(2, 2), swizzle="32B"),
        (0, 5, 7, 7),
        (1, 1),
        spans(
            ((7, 8), [6]),
            ((7, 10), [0, 2, 4, 6]),
            ((7, 12), [0, 2, 4, 6]),
            *[((8, h), [0, 2, 4, 6]) for h in (0, 2, 4, 6, 8)],
            ((8, 10), [0, 2, 4]),
        ),
    ),
}


@pytest.mark.parametrize(("target", "seed"), [("sm_100a", 0), ("sm_90a", 1)])
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_the_manual(load, name, target, seed):
    """PTX ISA 5.5.4.1 and 5.5.4.2, the examples of figures 13, 14 and 15."""
    shape, pixel_map, coordinates, offsets, pixels = EXAMPLES[name]
    tensor = numbered(*shape)
    loaded = load(tensor, pixel_map, coordinates, offsets, target=target, seed=seed)
    np.testing.assert_array_equal(loaded, rows_of(tensor, pixels, 0, pixel_map.channels))


def images(count: int) -> np.ndarray:
    """Images of 4 x 4 pixels, numbered from 1, with 8 channels."""
    return np.repeat(1 + np.arange(16 * count, dtype=np.uint16), 8).reshape(count, 4, 4, 8)


TRITON = {
    "padding": (1, (-1, -1), (-1, -1), (0, -1, -1, 0), (0, 0), [0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11]),
    "offset 1, 1": (1, (-1, -1), (-1, -1), (0, -1, -1, 0), (1, 1), range(1, 17)),
    "two images": (2, (0, 0), (0, 0), (0, 3, 1, 0), (0, 0), range(8, 24)),
}


@pytest.mark.parametrize("name", TRITON)
def test_result_published_for_hardware(load, name):
    """PTX ISA 5.5.4: what Triton's tutorials 12 and 13 of gluon print for images of 4 x 4."""
    count, lower, upper, coordinates, offsets, expected = TRITON[name]
    loaded = load(images(count), PixelMap("im2col", lower, upper, channels=8, pixels=16), coordinates, offsets)
    np.testing.assert_array_equal(loaded[:, 0], expected)


# One row of W pixels: the map's corners and stride, and per filter tap the offset and the columns of the outputs.
CONVOLUTIONS = {
    "padding 1, filter 3": (5, -1, -1, 1, {0: range(-1, 4), 1: range(5), 2: range(1, 6)}),
    "stride 2": (8, -1, -1, 2, {0: [-1, 1, 3, 5], 1: [0, 2, 4, 6], 2: [1, 3, 5, 7]}),
    "dilation 2": (9, -1, -2, 1, {0: range(-1, 7), 2: range(1, 9), 4: range(3, 11)}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_taps_of_a_convolution(load, name):
    """PTX ISA 5.5.4.1: corners -padding and padding - (filter - 1) * dilation, the offset tap * dilation."""
    width, lower, upper, stride, taps = CONVOLUTIONS[name]
    tensor = numbered(2, width, 8)
    for offset, columns in taps.items():
        pixel_map = PixelMap("im2col", [lower], [upper], channels=8, pixels=len(columns), strides=[stride])
        loaded = load(tensor, pixel_map, (0, lower, 0), [offset])
        np.testing.assert_array_equal(loaded, rows_of(tensor, spans(((0,), columns)), 0, 8))


def positions(extents, lower, upper, strides, offsets, images):
    """The pixels of all images in the order of the walk: N, then D, H, W, each from its lower corner by its stride."""
    axes = [
        range(low + offset, extent + high + offset, stride)
        for extent, low, high, stride, offset in zip(extents, lower, upper, strides, offsets, strict=True)
    ]
    return itertools.product(range(images), *axes[::-1])


def random_case(generator):
    """A tensor, a map and a position on the grid of its strides; pixels cross images and the end of the tensor."""
    spatial = int(generator.integers(1, 4))
    extents = [int(extent) for extent in generator.integers(2, 8, spatial)]  # W, H, D
    lower = [int(corner) for corner in generator.integers(-2, 2, spatial)]
    upper = [int(generator.integers(low - extent + 1, 3)) for low, extent in zip(lower, extents, strict=True)]
    strides = [int(stride) for stride in generator.integers(1, 4, spatial)]
    offsets = [int(offset) for offset in generator.integers(0, 4, spatial)]
    images, pixels = int(generator.integers(1, 4)), int(generator.integers(1, 65))
    swizzle, channels = [("none", 8), ("none", 24), ("32B", 16), ("64B", 32), ("128B", 64), ("128B_atom_32B", 64)][
        int(generator.integers(6))
    ]
    shape = (images, *extents[::-1], int(generator.integers(1, 11)) * 8)
    pixel_map = PixelMap("im2col", lower, upper, channels, pixels, strides, swizzle)
    return shape, pixel_map, offsets, int(generator.integers(-8, 3)) * 8


@pytest.mark.parametrize("number", range(60))
def test_walk_equals_the_order_of_positions(load, number):
    """PTX ISA 5.5.4: ragged channels, several images, tiles past the end, traversal strides, swizzles."""
    generator = np.random.default_rng(number)
    shape, pixel_map, offsets, channel = random_case(generator)
    tensor = numbered(*shape)
    lower, upper, strides = pixel_map.lower, pixel_map.upper, pixel_map.strides
    # The walk goes on after the last image, so the model has enough of them.
    walk = list(positions(shape[-2:0:-1], lower, upper, strides, offsets, shape[0] + pixel_map.pixels + 1))
    start = int(generator.integers(len(walk) - pixel_map.pixels))
    base = [at - offset for at, offset in zip(walk[start][:0:-1], offsets, strict=True)]
    loaded = load(tensor, pixel_map, (channel, *base, walk[start][0]), offsets)
    shifted = np.concatenate([np.zeros((*shape[:-1], 128), np.uint16), tensor], -1)
    expected = rows_of(shifted, walk[start : start + pixel_map.pixels], 128 + channel, pixel_map.channels)
    np.testing.assert_array_equal(loaded, expected)


ELEMENTS = {"u8": np.uint8, "s32": np.int32, "f16": np.float16, "u64": np.uint64, "f64": np.float64}


@pytest.mark.parametrize("element", ELEMENTS)
def test_elements_of_each_size(load, element):
    """PTX ISA 5.5.1: the element types of 1, 2, 4 and 8 bytes."""
    tensor = numbered(2, 4, 16).astype(ELEMENTS[element])
    pixel_map = PixelMap("im2col", [-1], [-1], channels=16, pixels=6, element=element)
    pixels = spans(((0,), [1, 2, 3]), ((1,), [0, 1, 2]))
    np.testing.assert_array_equal(load(tensor, pixel_map, (0, 0, 0), [1]), rows_of(tensor, pixels, 0, 16))


def test_padded_elements(simulate, encode_tensor_map, aligned):
    """PTX ISA 5.5.1.1: 8 bytes of b4x16_p64 fill a unit of 16; the mbarrier counts the bytes of global memory."""
    tensor = aligned(np.arange(2 * 4 * 128, dtype=np.uint16).astype(np.uint8).reshape(2, 4, 128))
    tiled = encode_tensor_map(tensor.ctypes.data, "b4x16_p64", (256, 4, 2), (128, 512), (1, 1, 1))
    fields = PixelMap("im2col", [-1], [-1], channels=128, pixels=6).fields()
    image = aligned(np.zeros((6 * 8, 16), np.uint8))
    text = tensor_copies.load((128, 0, 0), 6 * 64, image.nbytes, mode="im2col", information=[1], bytes_of_unit=8)
    simulate(text, tiled[:64] + fields, image, block=6 * 8, map_targets=[tensor])
    pixels = spans(((0,), [1, 2, 3]), ((1,), [0, 1, 2]))
    np.testing.assert_array_equal(image[:, :8].reshape(6, 64), rows_of(tensor, pixels, 64, 64))


PADDED = PixelMap("im2col", (-1, -1), (-1, -1), channels=8, pixels=16)


@pytest.mark.parametrize("image", [-1, 3])
def test_images_outside_the_tensor_are_zero(load, image):
    """PTX ISA 5.5.4.3: pixels beyond the images of the batch are out of bounds."""
    loaded = load(numbered(3, 4, 4, 8), PADDED, (0, 0, 0, image), (1, 1))
    assert (loaded[:11] == 0).all()
    assert (loaded[11:] != 0).all() == (image == -1)


# Each limit: the accepted and the refused value, and the message.
BASES = [
    ((0, -1, 0, 0), (0, -2, 0, 0), r"coordinate 1 \(W\) in the bounding box without offsets, -1 to 2, got -2"),
    ((0, 2, 0, 0), (0, 3, 0, 0), r"coordinate 1 \(W\) in the bounding box without offsets, -1 to 2, got 3"),
    ((0, 0, -1, 0), (0, 0, -2, 0), r"coordinate 2 \(H\) in the bounding box without offsets, -1 to 2, got -2"),
    ((0, 0, 2, 0), (0, 0, 3, 0), r"coordinate 2 \(H\) in the bounding box without offsets, -1 to 2, got 3"),
]


@pytest.mark.parametrize(("accepted", "refused", "message"), BASES)
def test_base_is_inside_the_bounding_box(load, accepted, refused, message):
    """PTX ISA 5.5.4.1: the corner of the filter is within the bounding box, whatever the offsets are."""
    load(numbered(2, 4, 4, 8), PADDED, accepted, (5, 5))
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        load(numbered(2, 4, 4, 8), PADDED, refused, (5, 5))
    assert trap.value.kind == "illegal"


OFFSET_LIMITS = [
    ((2, 4, 4, 8), (255, 255), (256, 0), "im2col offset W of 0 to 255 for a map of kind im2col and rank 4, got 256"),
    ((2, 4, 4, 8), (0, 255), (0, 256), "im2col offset H of 0 to 255 for a map of kind im2col and rank 4, got 256"),
    ((2, 4, 4, 4, 8), (31, 31, 31), (32, 0, 0), "im2col offset W of 0 to 31 .* rank 5, got 32"),
    ((2, 4, 4, 4, 8), (0, 0, 31), (0, 0, 32), "im2col offset D of 0 to 31 .* rank 5, got 32"),
]


@pytest.mark.parametrize(("shape", "accepted", "refused", "message"), OFFSET_LIMITS)
def test_limits_of_offsets(load, shape, accepted, refused, message):
    """PTX ISA 5.5.4.1, table of the im2col offsets: [0, 2^8-1] in 4D, [0, 2^5-1] in 5D."""
    spatial = len(shape) - 2
    pixel_map = PixelMap("im2col", [0] * spatial, [0] * spatial, channels=8, pixels=16)
    assert (load(numbered(*shape), pixel_map, [0] * len(shape), accepted) == 0).all()
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        load(numbered(*shape), pixel_map, [0] * len(shape), refused)
    assert trap.value.kind == "illegal"


def test_largest_offset_of_rank_3(load):
    """PTX ISA 5.5.4.1, table of the im2col offsets: [0, 2^16-1] in 3D; a register of 16 bits has no other value."""
    tensor = np.zeros((1, 65537, 8), np.uint16)
    tensor[0, 65535] = 7
    loaded = load(tensor, PixelMap("im2col", [0], [0], channels=8, pixels=2), (0, 0, 0), [65535])
    assert loaded[:, 0].tolist() == [7, 0]
