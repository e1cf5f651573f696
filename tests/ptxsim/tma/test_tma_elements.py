"""Dimensions, sizes, strides and element types of tensors (PTX ISA 5.5.1), in tiled loads and stores."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_copies import UNIT_BYTES, load, store

from tilec.runtime.ptxsim import _native as ptxsim

# The types of 5.5.1. The bit-sized types .b32 and .b64 have no codes of their own in tensormap.replace: those of .u32
# and .u64 copy their bits.
SIZES = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8,
}  # fmt: skip
OUTER = (3, 2, 4, 3)


@pytest.fixture
def map_of(encode_tensor_map):
    def make(tensor: np.ndarray, element: str, box: tuple[int, ...], **changes):
        """The map of an array of bytes, the innermost dimension last; the box counts elements."""
        size = SIZES[element]
        extents = (tensor.shape[-1] // size, *tensor.shape[-2::-1])
        fields = {"extents": extents, "strides": tensor.strides[-2::-1], "box": box}
        return encode_tensor_map(tensor.ctypes.data, element, **{**fields, **changes})

    return make


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("element", SIZES)
def test_loads_and_stores_copy_the_bits_of_each_type(simulate, map_of, aligned, element, seed):
    """5.5.1: each element type; of tf32, numbers that it has. Stores through tf32 are unconfirmed."""
    words = np.random.default_rng(1).integers(0, 2**32, (4, 32), np.uint32)
    if element == "tf32":
        words &= 0xFFFFE000
        # Neither infinities nor NaNs.
        words &= 0xBFFFFFFF
    tensor = aligned(words.view(np.uint8))
    image = aligned(np.zeros_like(tensor))
    map_bytes = map_of(tensor, element, (128 // SIZES[element], 4))
    simulate(load((0, 0), 512), map_bytes, image, block=32, map_targets=[tensor], seed=seed)
    np.testing.assert_array_equal(image, tensor)
    result = aligned(np.zeros_like(tensor))
    map_bytes = map_of(result, element, (128 // SIZES[element], 4))
    options = {"seed": seed, "allow_unconfirmed": element == "tf32"}
    simulate(store((0, 0), 512), map_bytes, image, block=32, map_targets=[result], **options)
    np.testing.assert_array_equal(result, tensor)


def padded_tensor(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Storage, and a tensor of u16 in it whose rows and planes are followed by padding."""
    extents = (*OUTER[: rank - 1], 24)
    storage = np.random.default_rng(rank).integers(1, 2**16, [extent + 1 for extent in extents[:-1]] + [32], np.uint16)
    return storage, extents


@pytest.mark.parametrize("rank", range(1, 6))
@pytest.mark.parametrize("outside", [False, True])
def test_dimensions_1_to_5_with_padding(simulate, encode_tensor_map, aligned, rank, outside):
    """5.5.1: tensors of 1 to 5 dimensions; the strides skip the padding at the end of each dimension."""
    storage, extents = padded_tensor(rank)
    storage = aligned(storage)
    box = (2,) * (rank - 1) + (16,)
    first = tuple(extent - 1 for extent in extents[:-1]) + (16,) if outside else (0,) * (rank - 1) + (8,)
    fields = {"extents": extents[::-1], "strides": storage.strides[-2::-1], "box": box[::-1]}
    map_bytes = encode_tensor_map(storage.ctypes.data, "u16", **fields)
    expected = np.zeros(box, np.uint16)
    for index in np.ndindex(*box):
        at = tuple(a + i for a, i in zip(first, index, strict=True))
        if all(x < extent for x, extent in zip(at, extents, strict=True)):
            expected[index] = storage[at]
    image = aligned(np.zeros(box, np.uint16))
    threads = image.nbytes // UNIT_BYTES
    simulate(load(first[::-1], image.nbytes), map_bytes, image, block=threads, map_targets=[storage])
    np.testing.assert_array_equal(image, expected)
    stored, image = storage.copy(), aligned(1 + np.arange(image.size, dtype=np.uint16).reshape(box))
    for index in np.ndindex(*box):
        at = tuple(a + i for a, i in zip(first, index, strict=True))
        if all(x < extent for x, extent in zip(at, extents, strict=True)):
            stored[at] = image[index]
    simulate(store(first[::-1], image.nbytes), map_bytes, image, block=threads, map_targets=[storage])
    np.testing.assert_array_equal(storage, stored)


@pytest.mark.parametrize("space", ["shared::cta", "shared::cluster"])
@pytest.mark.parametrize(("element", "size"), [("b4x16", 16), ("b4x16_p64", 8), ("b6x16_p32", 12)])
def test_directions_of_the_sub_byte_types(simulate, encode_tensor_map, aligned, element, size, space):
    """5.5.1.1.1, the table of directions: .b6x16_p32 is loaded to .shared::cluster and to .shared::cta."""
    packed = {"b4x16": 8}.get(element, size)
    tensor = aligned(np.random.default_rng(4).integers(0, 256, (4, 8 * packed), np.uint8))
    image = aligned(np.zeros((4 * 8 * packed // size, UNIT_BYTES), np.uint8))
    map_bytes = encode_tensor_map(tensor.ctypes.data, element, (128, 4), (tensor.shape[1],), (128, 4))
    text = load((0, 0), tensor.size, image.nbytes, bytes_of_unit=size).replace("shared::cta.global", f"{space}.global")
    simulate(text, map_bytes, image, block=len(image), map_targets=[tensor])
    np.testing.assert_array_equal(image[:, :size].ravel(), tensor.ravel())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box": (16, 4)}, ""),
        ({"box": (8, 4)}, "an innermost box of a multiple of 16 bytes, got 8"),
        ({"displacement": 16}, ""),
        ({"displacement": 8}, "a global address that is a multiple of 16"),
    ],
)
def test_multiples_of_16_bytes(encode_tensor_map, changes, message):
    """5.5.3.1: the size and the address of a bounding box are multiples of 16 bytes."""
    fields = {"extents": (128, 40), "strides": (128,), "box": (16, 4)}
    address = 0x7000_0000 + changes.get("displacement", 0)
    changed = {name: value for name, value in changes.items() if name != "displacement"}
    error = ptxsim.tensor_map_error(encode_tensor_map(address, "u8", **{**fields, **changed}))
    assert message in error and bool(message) == bool(error)
