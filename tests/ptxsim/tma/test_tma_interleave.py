"""Interleaved layouts NC/8HWC8 and NC/16HWC16 (PTX ISA 5.5.6): dimension 0 is a slice of 16 or 32 bytes of channels."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_copies import load, store

from tilec.runtime.ptxsim import _native as ptxsim

B16, B32 = 1, 2
# N, slices of C, H, W, channels of a slice. 11 channels of 2 bytes are two slices of 8, the second padded with zeros.
BATCH, HEIGHT, WIDTH = 2, 3, 5


def interleaved(channels: int, channels_of_slice: int, dtype: type) -> np.ndarray:
    """A tensor [N, C / slice, H, W, slice] with numbered elements."""
    slices = -(-channels // channels_of_slice)
    numbers = 1 + np.arange(BATCH * channels * HEIGHT * WIDTH).reshape(BATCH, channels, HEIGHT, WIDTH)
    padded = np.zeros((BATCH, slices * channels_of_slice, HEIGHT, WIDTH), dtype)
    padded[:, :channels] = numbers
    grouped = padded.reshape(BATCH, slices, channels_of_slice, HEIGHT, WIDTH)
    return np.ascontiguousarray(grouped.transpose(0, 1, 3, 4, 2))


@pytest.fixture
def map_of(encode_tensor_map):
    def make(tensor: np.ndarray, element: str, box: tuple[int, ...], interleave: int, **changes):
        fields = {"extents": tensor.shape[::-1], "strides": tensor.strides[-2::-1], "interleave": interleave}
        fields["swizzle"] = "32B" if interleave == B32 else "none"
        return encode_tensor_map(tensor.ctypes.data, element, box=box, **{**fields, **changes})

    return make


def window(tensor: np.ndarray, first: tuple[int, ...], box: tuple[int, ...]) -> np.ndarray:
    """The elements of a box, outermost dimension first; zero outside of the tensor."""
    result = np.zeros(box, tensor.dtype)
    for index in np.ndindex(*box):
        at = tuple(a + i for a, i in zip(first, index, strict=True))
        if all(0 <= x < extent for x, extent in zip(at, tensor.shape, strict=True)):
            result[index] = tensor[at]
    return result


@pytest.mark.parametrize("seed", range(2))
def test_slices_of_16_bytes(simulate, map_of, aligned, seed):
    """5.5.6, NC/8HWC8: C8 has 16 bytes. The last slice is padded with zeros in memory; pixels outside are zero."""
    tensor = aligned(interleaved(11, 8, np.uint16))
    box, first = (1, 2, 2, 4, 8), (1, 0, 1, 3, 0)
    expected = window(tensor, first, box)
    assert not expected[0, 1, ..., 3:].any() and expected[0, 1, ..., 0, :3].all()
    image = aligned(np.zeros_like(expected))
    map_bytes = map_of(tensor, "u16", box[::-1], B16)
    simulate(load(first[::-1], image.nbytes), map_bytes, image, block=16, map_targets=[tensor], seed=seed)
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_slices_of_32_bytes(simulate, map_of, aligned, rank):
    """5.5.6, NC/16HWC16: 32 bytes of 2-byte channels, with swizzle 32B; of ranks 3, 4 and 5."""
    whole = interleaved(32, 16, np.uint16)
    tensor = aligned(whole.reshape((-1, *whole.shape[-rank + 1 :])))
    box, first = (2, *(1, 2, 4, 16)[-rank + 1 :]), (0,) * rank
    expected = window(tensor, first, box)
    image = aligned(np.zeros(expected.nbytes, np.uint8))
    map_bytes = map_of(tensor, "u16", box[::-1], B32)
    threads = image.size // 16
    simulate(load(first, image.nbytes), map_bytes, image, block=threads, map_targets=[tensor])
    units = expected.view(np.uint8).reshape(-1, 16)
    # 5.5.7, 32B: in every other line of 128 bytes, units are exchanged in pairs.
    number = np.arange(len(units))
    np.testing.assert_array_equal(image.reshape(-1, 16), units[number ^ (number // 8 & 1)])


@pytest.mark.parametrize("fragment", [0, 1])
def test_fragments_of_the_example_with_swizzle_32b(simulate, map_of, aligned, fragment):
    """5.5.7, Figures 25 to 27: NC/(32B)HWC(32B) 1x2x10x10xC16, 2 bytes per channel; fragments C/(32B) = 0 and 1."""
    pixels = np.arange(200, dtype=np.uint16)[:, None] * 2 + np.array([0, 1], np.uint16)
    tensor = aligned(np.repeat(pixels, 8, axis=1).reshape(1, 2, 10, 10, 16))
    image = aligned(np.zeros((200, 8), np.uint16))
    map_bytes = map_of(tensor, "u16", (16, 10, 10, 1, 1), B32)
    simulate(load((0, 0, 0, fragment, 0), 3200), map_bytes, image, block=200, map_targets=[tensor])
    lines = image[:, 0].reshape(25, 8) - 200 * fragment
    assert lines[:2].tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [9, 8, 11, 10, 13, 12, 15, 14]]
    np.testing.assert_array_equal(lines[2:4], lines[:2] + 16)


def test_store_of_slices(simulate, map_of, aligned):
    """5.5.6: a store writes slices; pixels outside of the tensor are dropped."""
    tensor = aligned(interleaved(11, 8, np.uint16))
    box, first, expected = (1, 2, 2, 4, 8), (1, 0, 2, 3, 0), tensor.copy()
    image = aligned(5000 + np.arange(128, dtype=np.uint16).reshape(box))
    simulate(
        store(first[::-1], image.nbytes), map_of(tensor, "u16", box[::-1], B16), image, block=16, map_targets=[tensor]
    )
    expected[1, :, 2, 3:] = image[0, :, 0, :2]
    np.testing.assert_array_equal(tensor, expected)


@pytest.mark.parametrize(("stride", "count"), [(2, 4), (3, 3), (8, 1)])
def test_element_stride_of_dimension_0(simulate, map_of, aligned, stride, count):
    """5.5.3.2: the traversal stride of dimension 0 applies to interleaved layouts: ceil(8 / stride) channels.

    That rows of fewer bytes than a slice are dense in shared memory is unconfirmed.
    """
    tensor = aligned(interleaved(16, 8, np.uint16))
    map_bytes = map_of(tensor, "u16", (8, 4, 2, 2, 2), B16, element_strides=(stride,))
    pixels = window(tensor, (0, 0, 0, 3, 0), (2, 2, 2, 4, 8))[..., ::stride]
    assert pixels.shape[-1] == count
    image = aligned(np.zeros(pixels.size, np.uint16))
    text = load((0, 3, 0, 0, 0), image.nbytes)
    message = f"the shared-memory pitch of a box row of {2 * count} bytes with interleave 16B"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        simulate(text, map_bytes, image, block=image.nbytes // 16, map_targets=[tensor])
    assert trap.value.kind == "unconfirmed"
    simulate(text, map_bytes, image, block=image.nbytes // 16, map_targets=[tensor], allow_unconfirmed=True)
    np.testing.assert_array_equal(image, pixels.ravel())


def test_element_stride_of_dimension_0_has_no_effect_without_interleave(simulate, map_of, aligned):
    """CUDA driver API: without interleave the first element stride is ignored."""
    tensor = aligned(interleaved(16, 8, np.uint16))
    image = aligned(np.zeros((2, 4, 8), np.uint16))
    map_bytes = map_of(tensor, "u16", (8, 4, 2, 1, 1), 0, element_strides=(2,))
    simulate(load((0, 0, 0, 0, 0), image.nbytes), map_bytes, image, block=8, map_targets=[tensor])
    np.testing.assert_array_equal(image, tensor[0, 0, :2, :4])


U16 = {"element": "u16", "box": (8, 1, 1, 1, 1), "interleave": B16}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"swizzle": "32B"}, "swizzle 32B with interleave 16B"),
        ({"swizzle": "128B"}, "swizzle 128B with interleave 16B"),
        ({"extents": (9, 5, 3, 2, 2)}, "an extent 0 of 9 elements with interleave 16B, whose slices have 16 bytes"),
        ({"box": (16, 1, 1, 1, 1)}, "a box row of 32 bytes with interleave 16B, whose slices have 16 bytes"),
        ({"box": (4, 1, 1, 1, 1)}, "a box row of 8 bytes with interleave 16B, whose slices have 16 bytes"),
    ],
)
def test_undocumented_interleaved_maps(map_of, changes, message):
    """5.5.6 describes slices of 16 and of 32 bytes, but no other rows, and no swizzles of 16-byte slices."""
    tensor = interleaved(16, 8, np.uint16)
    assert ptxsim.tensor_map_undocumented(map_of(tensor, **U16)) == ""
    changed = map_of(tensor, **{**U16, **changes})
    assert ptxsim.tensor_map_error(changed) == ""
    assert message in ptxsim.tensor_map_undocumented(changed)


FLAT = {"extents": (8, 20), "strides": (16,), "box": (8, 4)}
MATRIX = {"extents": (8, 4, 5), "strides": (16, 64), "box": (8, 4, 1)}


@pytest.mark.parametrize(
    ("legal", "illegal", "message"),
    [
        (MATRIX, FLAT, "expected rank 3 to 5 with an interleaved layout, got 2"),
        (
            {**MATRIX, "interleave": B32, "strides": (32, 128)},
            {**MATRIX, "interleave": B32, "strides": (32, 128), "swizzle": "none"},
            "expected swizzle 32B with interleave 32B, got none",
        ),
        (
            {**MATRIX, "interleave": B32, "strides": (32, 128)},
            {**MATRIX, "interleave": B32, "strides": (32, 128), "swizzle": "64B"},
            "expected swizzle 32B with interleave 32B, got 64B",
        ),
        (
            {**MATRIX, "interleave": B32, "strides": (32, 128)},
            {**MATRIX, "interleave": B32, "strides": (32, 144)},
            "expected stride 2 to be a multiple of 32 bytes, got 144",
        ),
        (
            {**MATRIX, "element": "b4x16", "extents": (32, 4, 5), "box": (32, 4, 1)},
            {**MATRIX, "element": "b4x16", "extents": (32, 4, 5), "box": (32, 4, 1), "element_strides": (2,)},
            "expected element stride 1 in dimension 0 with element type b4x16, whose elements share bytes, got 2",
        ),
        (
            {**MATRIX, "element": "b6x16_p32", "extents": (128, 4, 5), "strides": (96, 384), "box": (128, 4, 1),
             "interleave": 0},
            {**MATRIX, "element": "b6x16_p32", "extents": (128, 4, 5), "strides": (96, 384), "box": (128, 4, 1)},
            "expected no interleaved layout with element type b6x16_p32",
        ),
    ],
)  # fmt: skip
def test_rules_of_interleaved_maps(map_of, aligned, legal, illegal, message):
    """5.5.6 and the CUDA driver API: ranks 3 to 5; 32-byte slices need swizzle 32B and an alignment of 32 bytes."""
    tensor = aligned(np.zeros((5, 4, 1024), np.uint8))
    assert ptxsim.tensor_map_error(map_of(tensor, **{"element": "u16", "interleave": B16, **legal})) == ""
    assert ptxsim.tensor_map_error(map_of(tensor, **{"element": "u16", "interleave": B16, **illegal})) == message
