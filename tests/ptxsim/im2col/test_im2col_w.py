"""Loads in .im2col::w and .im2col::w::128 mode: the examples of PTX ISA 5.5.5, a model in numpy, and the limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from im2col_copies import THREADS, PixelMap, inclusive, load_body, numbered, rows_of, spans
from swizzle_images import swizzled

from tilec.runtime.ptxsim import _native as ptxsim


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
        return swizzled(image, pixel_map.swizzle)

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


# Main pixels of figure 19 as those of figure 18, then per group of 32 pixels its halo of two, pixel by pixel.
FIGURE_19_HALO = spans(
    ((10, 2), [8]), ((14, 2), [4]), ((18, 2), [0]), ((21, 2), [5]),
    ((11, 2), [0]), ((14, 2), [5]), ((18, 2), [1]), ((21, 2), [6]),
)  # fmt: skip
FIGURE_19_ROWS = EXAMPLES["5.5.5.3 wHalo, figure 18"][4][:128] + FIGURE_19_HALO
# A row of FIGURE_19_ROWS by the row of shared memory, in the other orders.
HALO_ORDERS = {
    "adjacent": range(136),
    "grouped": [*range(128), 128, 132, 129, 133, 130, 134, 131, 135],
    "between": [
        *range(32), 128, 132, *range(32, 64), 129, 133, *range(64, 96), 130, 134, *range(96, 128), 131, 135,
    ],
}  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_example_of_the_manual_with_128_pixels(load, seed):
    """PTX ISA 5.5.5.3, figure 19: 128 pixels whatever the pixels per column are, and two of halo after every 32."""
    tensor = numbered(64, 7, 9, 128)
    pixel_map = wide(0, 0, kind="im2col_w128", pixels=7)
    loaded = load(tensor, pixel_map, (0, 3, 2, 7), (2, 0), 136, seed=seed, allow_unconfirmed=True)
    np.testing.assert_array_equal(loaded, rows_of(tensor, FIGURE_19_ROWS, 0, 64))


@pytest.mark.parametrize("order", HALO_ORDERS)
def test_orders_of_halo_rows(encode_tensor_map, order):
    """PTX ISA 5.5.5.3, figure 19: the orders of rows in shared memory that its text permits."""
    tensor = numbered(64, 7, 9, 128)
    encoded = wide(0, 0, kind="im2col_w128").encode(encode_tensor_map, tensor)
    pieces = ptxsim.wide_128_pieces(encoded, (0, 3, 2, 7), 2, 0, order)
    # The first piece of a row is that of channel 0, at column 16 * (row % 8) under swizzle 128B.
    addresses = {shared: address for shared, address, _, _ in pieces}
    found = [addresses[128 * row + 16 * (row % 8)] - tensor.ctypes.data for row in range(136)]
    expected = [FIGURE_19_ROWS[row] for row in HALO_ORDERS[order]]
    assert found == [((n * 7 + h) * 9 + w) * 256 for n, h, w in expected]


def test_order_of_halo_rows_is_unconfirmed(load):
    """PTX ISA 5.5.5.3, figure 19: the text does not state where the halo rows are. Without halo there is one order."""
    tensor, pixel_map = numbered(64, 7, 9, 128), wide(0, 0, kind="im2col_w128")
    with pytest.raises(ptxsim.Trap, match="the order of the halos of .im2col::w::128 in shared memory") as trap:
        load(tensor, pixel_map, (0, 3, 2, 7), (2, 0), 136)
    assert trap.value.kind == "unconfirmed"
    loaded = load(tensor, pixel_map, (0, 3, 2, 7), (0, 0), 128)
    np.testing.assert_array_equal(loaded, rows_of(tensor, FIGURE_19_ROWS[:128], 0, 64))


def test_first_pixel_left_of_the_box(load):
    """PTX ISA 5.5.5.1, figure 17: the first pixel is left of the box, the later ones begin at its lower corner."""
    tensor = numbered(9, 4, 5, 64)
    pixels = spans(((1, 3), [-2, -1, 0, 1, 2, 3, 4]), ((2, 3), [1, 2, 3, 4]), ((3, 3), [1, 2, 3]), ((3, 3), [4]))
    loaded = load(tensor, wide(1, 0, pixels=14), (0, -2, 3, 1), (1, 0), 15)
    np.testing.assert_array_equal(loaded, rows_of(tensor, pixels, 0, 64))


def test_halo_continues_with_the_next_image(load):
    """PTX ISA 5.5.5.3: the halo continues the walk, which goes to the next image at the upper corner."""
    tensor = numbered(4, 3, 5, 64)
    pixels = spans(((0, 1), range(5)), ((1, 1), range(2)))
    loaded = load(tensor, wide(0, 0, pixels=5), (0, 0, 1, 0), (2, 0), 7)
    np.testing.assert_array_equal(loaded, rows_of(tensor, pixels, 0, 64))


@pytest.mark.parametrize("row", [-1, 7])
def test_rows_outside_the_tensor_are_zero(load, row):
    """PTX ISA 5.5.5.1: H is constant, and a row outside the tensor is out of bounds as a whole."""
    assert (load(numbered(4, 7, 5, 64), wide(0, 0, pixels=8), (0, 0, row, 0), (0, 0), 8) == 0).all()


def walked(width, lower, upper, stride, start, first_image, count):
    """(N, W) of each pixel: the rest of the first image, then whole images, each from the lower corner."""
    runs = [[(first_image, w) for w in range(start, width + upper, stride)]]
    for image in itertools.count(first_image + 1):
        if sum(map(len, runs)) >= count:
            return list(itertools.chain(*runs))[:count]
        runs.append([(image, w) for w in range(lower, width + upper, stride)])


@pytest.mark.parametrize("kind", ["im2col_w", "im2col_w128"])
@pytest.mark.parametrize("number", range(25))
def test_walk_equals_the_order_of_positions(load, number, kind):
    """PTX ISA 5.5.5: ranks 3 to 5, ragged channels, strides, halos and offsets, tiles past the end."""
    generator = np.random.default_rng(number)
    spatial, width, stride, offset = (int(generator.integers(*range_)) for range_ in ((1, 4), (2, 9), (1, 5), (0, 6)))
    lower = int(generator.integers(-2, 2))
    upper = int(generator.integers(lower - width + 1, 3))
    swizzle, channels = (("64B", 32), ("128B", 64), ("128B_atom_32B", 64))[int(generator.integers(3))]
    outer = [int(extent) for extent in generator.integers(1, 4, spatial - 1)]
    tensor = numbered(int(generator.integers(1, 20)), *outer, width, 8 * int(generator.integers(1, 11)))
    pixels = 128 if kind == "im2col_w128" else int(generator.integers(1, 129))
    halo = int(generator.integers(0, 4))
    start = int(generator.integers(lower - 2, width + upper))
    image, channel = int(generator.integers(-1, tensor.shape[0])), 8 * int(generator.integers(-8, 3))
    fixed = [int(generator.integers(-1, extent + 1)) for extent in outer]
    run = walked(width, lower + offset, upper + offset, stride, start + offset, image, pixels + halo)
    if kind == "im2col_w128":
        run = run[:128] + [run[32 * (group + 1) + pixel] for pixel in range(halo) for group in range(4)]
    pixel_map = PixelMap(kind, [lower], [upper], channels, pixels, [stride], swizzle)
    loaded = load(
        tensor, pixel_map, (channel, start, *fixed[::-1], image), (halo, offset), len(run), allow_unconfirmed=True
    )
    shifted = np.concatenate([np.zeros((*tensor.shape[:-1], 128), np.uint16), tensor], -1)
    expected = rows_of(shifted, [(n, *fixed, w) for n, w in run], 128 + channel, channels)
    np.testing.assert_array_equal(loaded, expected)


# Each limit: kind, pixels, the accepted and the refused (wHalo, wOffset), the rows of the accepted one, the message.
LIMITS = [
    ("im2col_w", 1, (511, 0), (512, 0), 512, "wHalo of 0 to 511 for a map of kind im2col_w and rank 4, got 512"),
    ("im2col_w128", 1, (31, 0), (32, 0), 252, "wHalo of 0 to 31 for a map of kind im2col_w128 and rank 4, got 32"),
    ("im2col_w", 8, (0, 31), (0, 32), 8, "wOffset of 0 to 31 for a map of kind im2col_w and rank 4, got 32"),
    ("im2col_w128", 1, (0, 31), (0, 32), 128, "wOffset of 0 to 31 for a map of kind im2col_w128 and rank 4, got 32"),
]


@pytest.mark.parametrize(("kind", "pixels", "accepted", "refused", "rows", "message"), LIMITS)
def test_limits_of_halo_and_offset(load, kind, pixels, accepted, refused, rows, message):
    """PTX ISA 5.5.5.3 and 5.5.5.4, and 9.7.9.27.1.2 for the ranges of wHalo and wOffset."""
    pixel_map = wide(0, 0, kind=kind, pixels=pixels, channels=32, swizzle="64B")
    tensor = numbered(64, 2, 9, 64)
    assert load(tensor, pixel_map, (0, 0, 0, 0), accepted, rows, allow_unconfirmed=True).any() == (accepted[1] < 31)
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        load(tensor, pixel_map, (0, 0, 0, 0), refused, rows, allow_unconfirmed=True)
    assert trap.value.kind == "illegal"


@pytest.mark.parametrize("kind", ["im2col_w", "im2col_w128"])
def test_first_pixel_is_not_right_of_the_box(load, kind):
    """PTX ISA 5.5.5.1: the first pixel may be outside the bounding box only on its left."""
    pixel_map, tensor = wide(-1, -2, kind=kind), numbered(64, 2, 9, 64)
    load(tensor, pixel_map, (0, 6, 0, 0), (0, 3), 128, allow_unconfirmed=True)
    with pytest.raises(
        ptxsim.Trap, match=r"coordinate 1 \(W\) of at most 6, the end of the bounding box, got 7"
    ) as trap:
        load(tensor, pixel_map, (0, 7, 0, 0), (0, 3), 128, allow_unconfirmed=True)
    assert trap.value.kind == "illegal"


def test_mbarrier_counts_the_bytes_of_the_halo(simulate, encode_tensor_map, aligned):
    """PTX ISA 5.5.5.3: a copy completes the bytes of its main pixels and of its halo, in rows of 128."""
    tensor = aligned(numbered(4, 2, 9, 64))
    encoded = wide(0, 0, pixels=8).encode(encode_tensor_map, tensor)
    image = aligned(np.zeros((10, 64), np.uint16))
    body = load_body("im2col_w", (0, 0, 0, 0), (2, 0), image.nbytes)
    for size, kind in ((9 * 128, "mbarrier"), (11 * 128, "deadlock")):
        with pytest.raises(ptxsim.Trap) as trap:
            simulate(body.replace(f"[%r2], {image.nbytes};", f"[%r2], {size};"), encoded, image, block=THREADS,
                     map_targets=[tensor])  # fmt: skip
        assert trap.value.kind == kind
