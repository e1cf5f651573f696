"""Tensor maps: restrictions of the PTX ISA, and the elements that a tiled copy moves."""

from __future__ import annotations

import pytest

from tilec.runtime.ptxsim import _native as ptxsim

BASE = 0x7000_0000


MATRIX = {"address": BASE, "element": "f16", "extents": (64, 32), "strides": (128,), "box": (64, 8), "swizzle": "128B"}
SMALL = {"address": BASE, "element": "u16", "extents": (6, 3), "strides": (16,), "box": (8, 2)}
SMALL_VALUES = {BASE + 16 * y + 2 * x: 10 * y + x for y in range(3) for x in range(6)}


@pytest.fixture
def matrix(encode_tensor_map):
    return lambda **changes: encode_tensor_map(**{**MATRIX, **changes})


@pytest.fixture
def small_map(encode_tensor_map):
    return lambda **changes: encode_tensor_map(**{**SMALL, **changes})


def test_valid_map(matrix):
    assert ptxsim.tensor_map_error(matrix()) == ""
    assert ptxsim.tensor_map_undocumented(matrix()) == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"address": BASE + 8}, "a global address that is a multiple of 16"),
        ({"box": (4, 8), "swizzle": "none"}, "an innermost box of a multiple of 16 bytes, got 8"),
        ({"box": (64, 8), "swizzle": "64B"}, "at most 64 bytes with swizzle 64B, got 128"),
        ({"box": (128, 8)}, "at most 128 bytes with swizzle 128B, got 256"),
        ({"element": "u16", "fill_nan": True}, "a float element type with the NaN fill, got u16"),
        ({"interleave": 1}, "rank 3 to 5 with an interleaved layout, got 2"),
        (
            {"extents": (64, 2, 2), "strides": (128, 256), "box": (16, 1, 1), "interleave": 2},
            "swizzle 32B with interleave 32B, got 128B",
        ),
    ],
)
def test_invalid_map(matrix, changes, message):
    assert message in ptxsim.tensor_map_error(matrix(**changes))


# Byte 8 of the map: bits 7 to 10 are the code of the element type, bit 16 is the flag of tf32.
CODE, TF32_FLAG = 7, 1 << 16


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (14 << CODE, "an element type code of 0 to 13, got 14"),
        (15 << CODE, "an element type code of 0 to 13, got 15"),
        (15 << CODE | TF32_FLAG, "an element type code of 0 to 13, got 15"),
        (1 << CODE | TF32_FLAG, "element type code 7 or 8 with the flag of tf32, got 1"),
        (9 << CODE | TF32_FLAG, "element type code 7 or 8 with the flag of tf32, got 9"),
        (7 << CODE | TF32_FLAG, ""),
        (8 << CODE | TF32_FLAG, ""),
    ],
)
def test_element_type_code(small_map, flags, message):
    """tensormap.replace writes codes 0 to 13, and the flag with those of f32 and f32.ftz."""
    encoded = bytearray(small_map(element="u8", box=(16, 2)))
    encoded[8:12] = (int.from_bytes(encoded[8:12], "little") | flags).to_bytes(4, "little")
    error = ptxsim.tensor_map_error(bytes(encoded))
    assert message in error
    assert bool(message) == bool(error)


@pytest.mark.parametrize(
    ("flags", "message"), [(7 << 4, "expected rank 1 to 5, got 8"), (3 << 11, "none, 16B or 32B, got code 3")]
)
def test_codes_of_no_meaning(small_map, flags, message):
    """Bits 4 to 6 are the rank minus one, bits 11 and 12 the interleaved layout."""
    encoded = bytearray(small_map())
    encoded[8:12] = (int.from_bytes(encoded[8:12], "little") | flags).to_bytes(4, "little")
    assert message in ptxsim.tensor_map_error(bytes(encoded))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box": (32, 8)}, "pitch of a box row of 64 bytes with swizzle 128B"),
        ({"strides": (0,)}, "stride 0 in dimension 1"),
    ],
)
def test_undocumented_map(matrix, changes, message):
    assert message in ptxsim.tensor_map_undocumented(matrix(**changes))


def copied(pieces, row_bytes: int, rows: int, values: dict[int, int]) -> list[list[int]]:
    """The shared-memory image of u16 elements, whose `values` are given by global address."""
    image = [[None] * (row_bytes // 2) for _ in range(rows)]
    for shared, address, size, inside in pieces:
        for at in range(0, size, 2):
            row, column = divmod((shared + at) // 2, row_bytes // 2)
            image[row][column] = values[address + at] if inside else 0
    return image


def test_elements_outside_the_tensor_are_zero(small_map):
    """PTX ISA 5.5.3.1 and 5.5.3.3: a box that begins left of the tensor and ends above it."""
    image = copied(ptxsim.tile_pieces(small_map(), [-1, 2], 0), 16, 2, SMALL_VALUES)
    assert image == [[0, 20, 21, 22, 23, 24, 25, 0], [0] * 8]


def test_element_strides_skip_elements(small_map):
    """PTX ISA 5.5.3.2: a box of three rows with stride 2 has two of them."""
    image = copied(ptxsim.tile_pieces(small_map(box=(8, 3), element_strides=(1, 2)), [0, 0], 0), 16, 2, SMALL_VALUES)
    assert image == [[0, 1, 2, 3, 4, 5, 0, 0], [20, 21, 22, 23, 24, 25, 0, 0]]


@pytest.mark.parametrize("step", [1, 2, 3, 8])
@pytest.mark.parametrize("row", range(-9, 12))
def test_element_strides_are_strides_of_another_map(small_map, row, step):
    """The map of each step-th row from `row` on has the strides, so that tiled mode needs no element strides.

    The box of the other map has as many rows as are copied: element strides leave fewer of the 256 of a box.
    """
    rows = 11
    values = {BASE + 16 * y + 2 * x: 10 * y + x + 1 for y in range(rows) for x in range(6)}
    strided = small_map(extents=(6, rows), box=(8, 3 * step), element_strides=(1, step))
    first = row % step
    extents = (6, -(-(rows - first) // step))
    other = small_map(address=BASE + 16 * first, extents=extents, strides=(16 * step,), box=(8, 3))
    images = [
        copied(ptxsim.tile_pieces(map, [0, at], 0), 16, 3, values) for map, at in ((strided, row), (other, row // step))
    ]
    assert images[0] == images[1]
    expected = [
        [values.get(BASE + 16 * y + 2 * x, 0) if x < 6 else 0 for x in range(8)]
        for y in range(row, row + 3 * step, step)
    ]
    assert images[0] == expected


def test_gather4_copies_four_rows(small_map):
    """PTX ISA 5.5.3.4: the operand is one column and four rows, also beyond the tensor."""
    image = copied(ptxsim.tile_pieces(small_map(box=(8, 1)), [1, 2, -1, 0, 3], 0, gather=True), 16, 4, SMALL_VALUES)
    assert image == [[21, 22, 23, 24, 25, 0, 0, 0], [0] * 8, [1, 2, 3, 4, 5, 0, 0, 0], [0] * 8]


def test_gather4_example_of_the_manual(encode_tensor_map):
    """PTX ISA 5.5.3.4.1, figure 10: (1, 2), (1, 5), (1, 0) and (1, 9) are column 1 of the rows 2, 5, 0 and 9."""
    encoded = encode_tensor_map(BASE, "u16", (9, 10), (32,), (8, 1))
    values = {BASE + 32 * row + 2 * column: 10 * row + column for row in range(10) for column in range(9)}
    image = copied(ptxsim.tile_pieces(encoded, [1, 2, 5, 0, 9], 0, gather=True), 16, 4, values)
    assert image == [[10 * row + column for column in range(1, 9)] for row in (2, 5, 0, 9)]


def test_swizzle_applies_to_the_shared_address(matrix):
    pieces = ptxsim.tile_pieces(matrix(box=(64, 2)), [0, 0], 0x480)
    assert [piece[0] for piece in pieces[:8]] == [0x480 + 16 * (column ^ 1) for column in range(8)]
    assert [piece[0] for piece in pieces[8:]] == [0x500 + 16 * (column ^ 2) for column in range(8)]
    assert [piece[1] for piece in pieces[8:]] == [BASE + 128 + 16 * column for column in range(8)]
