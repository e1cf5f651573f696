"""Tensor maps that recipes compute at launch: values, errors and encoding."""

from dataclasses import replace

import pytest

from tilec.errors import InputError, SourceLocation
from tilec.lowering.tma.contract import TensorMap
from tilec.runtime.expression import Operation, Parameter
from tilec.runtime.tensor_map import Recipe, encode_for_simulator, location_of, make

NAMES = ["A", "A.shape[0]", "A.shape[1]", "A.strides[0]", "A.strides[1]"]
RECIPE = Recipe(
    base=Parameter(0),
    element="bf16",
    extents=(Parameter(2), Parameter(1)),
    strides=(Operation("mul", Parameter(3), 2),),
    box=(64, 128),
    element_strides=(1, 1),
    swizzle="128B",
    location="gemm.py:12:9",
)


def test_map_of_a_recipe_and_arguments() -> None:
    tensor_map = make(RECIPE, [0x7F0000001000, 1000, 776, 776, 1], NAMES)
    assert (tensor_map.base, tensor_map.extents, tensor_map.strides) == (0x7F0000001000, (776, 1000), (1552,))


def test_stride_of_an_extent_of_1_is_ignored() -> None:
    tensor_map = make(RECIPE, [0x1000, 1, 776, 777, 1], NAMES)
    assert (tensor_map.extents, tensor_map.strides) == ((776, 1), (16,))


def test_violation_names_argument_rule_and_line() -> None:
    with pytest.raises(InputError) as raised:
        make(RECIPE, [0x1000, 1000, 777, 777, 1], NAMES)
    assert str(raised.value).splitlines() == [
        "gemm.py:12:9: error: tensor map over 'A', stride of dimension 1: "
        "expected a multiple of 16 bytes from 0 to 2**40, got 1554 bytes",
        "note: its value is (A.strides[0] * 2)",
    ]


def test_misaligned_base_is_refused() -> None:
    message = "over 'A', base address: expected an address that is a multiple of 16 bytes, got 0x1008"
    with pytest.raises(InputError, match=message):
        make(RECIPE, [0x1008, 1000, 776, 776, 1], NAMES)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("k.py:3:7", SourceLocation("k.py", 3, 7)),
        ("k.py:3", SourceLocation("k.py", 3)),
        ("C:/k.py:3:7", SourceLocation("C:/k.py", 3, 7)),
        ("", None),
        ("k.py", None),
    ],
)
def test_location(text: str, location: SourceLocation | None) -> None:
    assert location_of(text) == location


def test_bytes_of_a_matrix() -> None:
    # The second 64-bit word has rank - 1 = 1, element code of bf16 = 10 and swizzle 128B = 3.
    encoded = encode_for_simulator(
        TensorMap("bf16", (776, 1000), (1552,), (64, 128), (1, 2), base=0x7F0000001000, swizzle="128B")
    )
    assert len(encoded) == 128
    assert encoded[:8] == (0x7F0000001000).to_bytes(8, "little")
    assert encoded[8:12] == (1 << 4 | 10 << 7 | 3 << 13).to_bytes(4, "little")
    assert encoded[12:16] == (1552 // 16).to_bytes(4, "little")
    assert encoded[16:32] == bytes(16)
    assert encoded[32:40] == (775).to_bytes(4, "little") + (999).to_bytes(4, "little")
    assert encoded[40:52] == bytes(12)
    assert encoded[52:56] == (1 << 3 | 63 << 24).to_bytes(4, "little")
    assert encoded[56:60] == bytes([127, 0, 0, 0])
    assert encoded[60:] == bytes(68)


def test_bytes_of_flags_and_high_stride_bits() -> None:
    # Bits of the second word: interleave 12:11, NaN fill 15, tf32 16, swizzle atom 20:19. A nibble has bits 35:32 of
    # each stride.
    tensor_map = TensorMap("tf32", (32, 8, 8), (16, 2**39), (32, 8, 8), (1, 1, 1), base=0, fill="nan", interleave="16B")
    atoms = replace(tensor_map, swizzle="128B_atom_32B", interleave="none", fill="zero")
    assert encode_for_simulator(tensor_map)[8:12] == (2 << 4 | 7 << 7 | 1 << 11 | 1 << 15 | 1 << 16).to_bytes(
        4, "little"
    )
    assert encode_for_simulator(atoms)[8:12] == (2 << 4 | 7 << 7 | 3 << 13 | 1 << 16 | 1 << 19).to_bytes(4, "little")
    assert encode_for_simulator(tensor_map)[28:30] == (2**39 >> 4 >> 32 << 4).to_bytes(2, "little")
