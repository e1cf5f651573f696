"""Shared-memory images of the swizzling modes, from the tables of PTX ISA 5.5.7, and their rules.

A table gives, for each line of 128 bytes of shared memory, the numbers of the 16-byte units of the image without
swizzle that the line has, from the left to the right. The tables are those of the manual, not worked from a formula.
"""

from __future__ import annotations

import numpy as np
import pytest
from tensor_copies import load, store

from tilec.runtime.ptxsim import _native as ptxsim

TABLES = {
    "none": ["01234567", "01234567"],
    "32B": ["01234567", "10325476"],
    "64B": ["01234567", "10325476", "23016745", "32107654"],
    "96B": ["01234567", "10325476"],
    "128B": [
        "01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210",
    ],
    "128B_atom_32B": ["01234567", "23016745", "45670123", "67452301"],
    "128B_atom_32B_flip_8B": ["01234567", "23016745", "45670123", "67452301"],
    "128B_atom_64B": ["01234567", "45670123"],
}  # fmt: skip
SPANS = {"none": 128, "32B": 32, "64B": 64, "96B": 96} | dict.fromkeys(list(TABLES)[4:], 128)
# 5.5.7: the addresses at which the pattern starts, and the divisor of dstMem / 128 in the base offset.
PATTERNS = {"128B": (1024, 8), "96B": (256, 2), "64B": (512, 4), "32B": (256, 2)}
LINES, UNIT = 24, 16
UNCONFIRMED = ("96B", "128B_atom_32B_flip_8B")


def options(swizzle: str) -> dict[str, object]:
    return {"target": "sm_103a" if swizzle == "96B" else "sm_100a", "allow_unconfirmed": swizzle in UNCONFIRMED}


@pytest.fixture
def tensor(aligned) -> np.ndarray:
    """Bytes in units of 16, each of which contains its number twice."""
    return aligned(np.repeat(np.arange(LINES * 8, dtype=np.uint64), 2))


@pytest.fixture
def map_of(encode_tensor_map):
    def make(tensor: np.ndarray, swizzle: str, **changes):
        span = SPANS[swizzle]
        rows = tensor.nbytes // span
        fields = {"extents": (span, rows), "strides": (span,), "box": (span, rows), "swizzle": swizzle}
        return encode_tensor_map(tensor.ctypes.data, "u8", **{**fields, **changes})

    return make


def image_by_table(tensor: np.ndarray, swizzle: str, first_line: int = 0) -> np.ndarray:
    """The lines of the image, whose first line is `first_line` of the pattern."""
    table, units = TABLES[swizzle], tensor.reshape(-1, 8, 2)
    lines = [[line[int(cell)] for cell in table[(first_line + i) % len(table)]] for i, line in enumerate(units)]
    image = np.array(lines, np.uint64)
    if swizzle == "128B_atom_32B_flip_8B":
        odd = (np.arange(len(image)) + first_line) % 2 == 1
        image[odd] = image[odd][:, :, ::-1]
    return image


@pytest.fixture
def distinct_halves(tensor) -> np.ndarray:
    tensor[1::2] += 1000
    return tensor


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("swizzle", TABLES)
def test_table_of_the_swizzling_mode(simulate, map_of, distinct_halves, aligned, swizzle, seed):
    """5.5.7: the table of each mode and sub-mode, repeated; 96B and the lines that flip are unconfirmed models."""
    image = aligned(np.zeros_like(distinct_halves))
    text = load((0, 0), image.nbytes)
    arguments = (text, map_of(distinct_halves, swizzle), image)
    simulate(*arguments, block=192, map_targets=[distinct_halves], seed=seed, **options(swizzle))
    np.testing.assert_array_equal(image.reshape(LINES, 8, 2), image_by_table(distinct_halves, swizzle))


@pytest.mark.parametrize("swizzle", [name for name in TABLES if name != "128B_atom_32B_flip_8B"])
def test_stores_read_the_same_image(simulate, map_of, distinct_halves, aligned, swizzle):
    """5.5.7: a store reverses the table."""
    result, image = aligned(np.zeros_like(distinct_halves)), aligned(image_by_table(distinct_halves, swizzle))
    text = store((0, 0), image.nbytes)
    simulate(text, map_of(result, swizzle), image, block=192, map_targets=[result], **options(swizzle))
    np.testing.assert_array_equal(result, distinct_halves)


@pytest.mark.parametrize("line", range(8))
@pytest.mark.parametrize("swizzle", PATTERNS)
def test_swizzle_base_offset(simulate, map_of, distinct_halves, aligned, swizzle, line):
    """5.5.7: base offset = (dstMem / 128) % 8, 4, 2 or 2; it is 0 at the boundaries of 1024, 512, 256 and 256 bytes."""
    boundary, divisor = PATTERNS[swizzle]
    base_offset = line % divisor
    assert (base_offset == 0) == (128 * line % boundary == 0)
    image = aligned(np.zeros_like(distinct_halves))
    text = load((0, 0), image.nbytes, offset=128 * line)
    arguments = (text, map_of(distinct_halves, swizzle), image)
    simulate(*arguments, block=192, map_targets=[distinct_halves], **options(swizzle))
    np.testing.assert_array_equal(image.reshape(LINES, 8, 2), image_by_table(distinct_halves, swizzle, base_offset))


@pytest.fixture
def load_example(simulate, encode_tensor_map, aligned):
    """The units of 5.5.7's NHWC image 1x10x10x64 with 2 bytes per channel, by their numbers: pixel * 8 + unit."""

    def run(first_channel: int, channels: int, swizzle: str) -> np.ndarray:
        pixels = np.arange(100, dtype=np.uint16)[:, None] * 8 + np.arange(8, dtype=np.uint16)
        tensor = aligned(np.repeat(pixels, 8, axis=1).reshape(1, 10, 10, 64))
        image = aligned(np.zeros((100, channels // 8, 8), np.uint16))
        map_bytes = encode_tensor_map(
            tensor.ctypes.data, "u16", (64, 10, 10, 1), (128, 1280, 12800), (channels, 10, 10, 1), swizzle=swizzle
        )
        text = load((first_channel, 0, 0, 0), image.nbytes)
        simulate(text, map_bytes, image, block=image.nbytes // UNIT, map_targets=[tensor])
        return image

    return run


def test_swizzle_64b_of_the_example_of_an_image(load_example):
    """5.5.7, Figures 28 to 30: 32 channels, two pixels per line. Channels 32 and up begin at unit 4."""
    image = load_example(32, 32, "64B")
    assert image[:8, :, 0].tolist() == [
        [4, 5, 6, 7], [12, 13, 14, 15],
        [21, 20, 23, 22], [29, 28, 31, 30],
        [38, 39, 36, 37], [46, 47, 44, 45],
        [55, 54, 53, 52], [63, 62, 61, 60],
    ]  # fmt: skip
    np.testing.assert_array_equal(image[8:16] - image[:8], np.full((8, 4, 8), 64))


def test_swizzle_128b_of_the_example_of_an_image(load_example):
    """5.5.7, Figures 32 to 34: 64 channels, one pixel per line."""
    image = load_example(0, 64, "128B")
    for pixel, line in enumerate(image[:, :, 0].tolist()):
        assert line == [8 * pixel + int(cell) for cell in TABLES["128B"][pixel % 8]]


@pytest.mark.parametrize("swizzle", UNCONFIRMED)
def test_undocumented_images_are_unconfirmed(map_of, tensor, swizzle):
    """5.5.7 shows the rows of 96 bytes, and the lines that flip, in figures only."""
    assert ptxsim.tensor_map_error(map_of(tensor, swizzle)) == ""
    message = f"the shared-memory image of swizzle {swizzle}"
    assert message in ptxsim.tensor_map_undocumented(map_of(tensor, swizzle))


# (swizzle mode, atomicity) as the codes of tensormap.replace: 1 is 32B, 2 is 32B with the flip, 3 is 64B.
@pytest.mark.parametrize("atomicity", range(4))
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "96B", "128B"])
def test_valid_combinations_of_mode_and_atomicity(map_of, tensor, swizzle, atomicity):
    """5.5.7, Table 14: modes 32B, 64B and 96B have atomicity 16B alone; 128B has all four."""
    encoded = bytearray(map_of(tensor, swizzle))
    encoded[0x0A] |= atomicity << 3  # bits 20:19 of the word at 0x08
    error = ptxsim.tensor_map_error(bytes(encoded))
    if swizzle in ("none", "128B") or atomicity == 0:
        assert error == ""
    else:
        found = ("16B", "32B", "32B_flip_8B", "64B")[atomicity]
        assert error == f"expected swizzle atomicity 16B with swizzle {swizzle}, got {found}"


@pytest.mark.parametrize(
    ("swizzle", "target"),
    [("96B", "sm_90a"), ("96B", "sm_100a"), ("96B", "sm_110a")]
    + [(name, "sm_90a") for name in ("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B")],
)
def test_targets_of_swizzles(simulate, map_of, tensor, aligned, swizzle, target):
    """ptxas 13.0: tensormap.replace has swizzle mode 96B on sm_103a, and no atomicity on sm_90a."""
    image = aligned(np.zeros_like(tensor))
    wanted = "sm_103a" if swizzle == "96B" else "sm_100 or later"
    with pytest.raises(ptxsim.Trap, match=f"expected target {wanted} for swizzle {swizzle}, got target {target}"):
        simulate(
            load((0, 0), image.nbytes), map_of(tensor, swizzle), image, block=192, target=target, map_targets=[tensor],
            allow_unconfirmed=True,
        )  # fmt: skip


def test_flip_has_no_store(simulate, map_of, tensor, aligned):
    """5.5.7: the 8-byte flip is legal only in copies from global memory."""
    swizzle, image = "128B_atom_32B_flip_8B", aligned(np.zeros_like(tensor))
    for operation in (None, "add"):
        text = store((0, 0), image.nbytes, operation=operation)
        with pytest.raises(ptxsim.Trap, match=f"a swizzle that stores support, got {swizzle}") as trap:
            simulate(text, map_of(tensor, swizzle), image, block=192, map_targets=[tensor], allow_unconfirmed=True)
        assert trap.value.kind == "descriptor"


@pytest.mark.parametrize(("swizzle", "span"), [(name, span) for name, span in SPANS.items() if name != "none"])
def test_rows_of_the_box_are_at_most_the_span(map_of, tensor, swizzle, span):
    """CUDA driver API. Shorter rows are legal, but their pitch is undocumented."""
    wide = map_of(tensor, swizzle, box=(span + 16, 1))
    assert f"at most {span} bytes with swizzle {swizzle}, got {span + 16}" in ptxsim.tensor_map_error(wide)
    narrow = map_of(tensor, swizzle, box=(span - 16, 1))
    assert ptxsim.tensor_map_error(map_of(tensor, swizzle)) == ptxsim.tensor_map_error(narrow) == ""
    message = "pitch of a box row" if swizzle not in UNCONFIRMED else "image of swizzle"
    assert message in ptxsim.tensor_map_undocumented(narrow)


def test_swizzle_96b_has_no_interleave(map_of, tensor):
    """9.7.9.27.1.1: no interleaved layout with swizzle 96B."""
    fields = {"extents": (16, 8, 8), "strides": (16, 128), "box": (16, 1, 1)}
    assert ptxsim.tensor_map_error(map_of(tensor, "none", **fields, interleave=1)) == ""
    error = ptxsim.tensor_map_error(map_of(tensor, "96B", **fields, interleave=1))
    assert error == "expected no interleaved layout with swizzle 96B"


@pytest.mark.parametrize("swizzle", TABLES)
@pytest.mark.parametrize("offset", [16, 32, 64])
def test_images_are_aligned_to_128_bytes(simulate, map_of, tensor, aligned, swizzle, offset):
    """5.5.7 requires 32 or 64 bytes of some modes. All copies require 128 (CUDA C++ Programming Guide)."""
    image = aligned(np.zeros_like(tensor))
    with pytest.raises(ptxsim.Trap, match="needs a shared address aligned to 128 bytes") as trap:
        simulate(
            load((0, 0), image.nbytes, offset=offset), map_of(tensor, swizzle), image, block=192, map_targets=[tensor],
            **options(swizzle),
        )  # fmt: skip
    assert trap.value.kind == "misaligned"
