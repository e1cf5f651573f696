"""Constants are written in MLIR's storage: one element for a splat, else all; i1 is packed, tf32 has three bytes."""

from __future__ import annotations

import pytest
from sections import entries, sections

from tilec.text_input.module import Module

# Type and elements of the text, and the bytes.
CASES = [
    ("tile<2xi8>", "i8: [-128, 127]", "80 7F"),
    ("tile<2xi16>", "i16: [-2, 258]", "FE FF 02 01"),
    ("tile<2xi32>", "i32: [-1, 0x01020304]", "FF FF FF FF 04 03 02 01"),
    ("tile<2xi64>", "i64: [-2, 1]", "FE FF FF FF FF FF FF FF 01 00 00 00 00 00 00 00"),
    ("tile<2x2xi8>", "i8: [[1, 2], [3, 4]]", "01 02 03 04"),
    ("tile<2xf16>", "f16: [1.0, -2.0]", "00 3C 00 C0"),
    ("tile<2xbf16>", "bf16: [1.0, -2.0]", "80 3F 00 C0"),
    ("tile<2xbf16>", "bf16: [0x7FC1, 0xFF80]", "C1 7F 80 FF"),
    ("tile<2xf32>", "f32: [1.0, 0xFF800001]", "00 00 80 3F 01 00 80 FF"),
    ("tile<2xf64>", "f64: [1.0, -2.0]", "00 00 00 00 00 00 F0 3F 00 00 00 00 00 00 00 C0"),
    # 19 bits: sign, 8 exponent bits, 10 fraction bits.
    ("tile<2xtf32>", "tf32: [1.0, -2.0]", "00 FC 01 00 00 06"),
    ("tile<2xtf32>", "tf32: [1.0009765625, 0x3FC00]", "01 FC 01 00 FC 03"),
    ("tile<4xf8E4M3FN>", "f8E4M3FN: [1.0, -2.0, 448.0, 0x7F]", "38 C0 7E 7F"),
    ("tile<4xf8E5M2>", "f8E5M2: [1.0, -2.0, 57344.0, 0xFD]", "3C C0 7B FD"),
    ("tile<4xf8E8M0FNU>", "f8E8M0FNU: [1.0, 2.0, 0.5, 0xFF]", "7F 80 7E FF"),
    ("tile<4xfnv8E5M3FNU>", "fnv8E5M3FNU: [1.0, 1.125, 2.0, 0.5]", "78 79 80 70"),
    # One element per byte, in its low four bits.
    ("tile<4xf4E2M1FN>", "f4E2M1FN: [0.5, 1.0, -6.0, 3.0]", "01 02 0F 05"),
    # A splat is one element.
    ("tile<4xi32>", "i32: 7", "07 00 00 00"),
    ("tile<2xi32>", "i32: [7, 7]", "07 00 00 00"),
    ("tile<1xi32>", "i32: [7]", "07 00 00 00"),
    ("tile<i16>", "i16: 7", "07 00"),
    ("tile<8xbf16>", "bf16: -2.0", "00 C0"),
    ("tile<8xtf32>", "tf32: -2.0", "00 00 06"),
    ("tile<8xf4E2M1FN>", "f4E2M1FN: 6.0", "07"),
    ("tile<1024x1024xf8E5M2>", "f8E5M2: 1.0", "3C"),
    # i1: eight elements per byte, least significant bit first; a splat is one byte of equal bits.
    ("tile<4xi1>", "i1: [true, false, false, false]", "01"),
    ("tile<4xi1>", "i1: [true, true, false, true]", "0B"),
    ("tile<8xi1>", "i1: [false, true, true, true, true, true, true, true]", "FE"),
    ("tile<16xi1>", f"i1: [{', '.join(['true', 'false'] * 7 + ['true', 'true'])}]", "55 D5"),
    ("tile<4xi1>", "i1: true", "FF"),
    ("tile<64xi1>", "i1: false", "00"),
    ("tile<i1>", "i1: true", "FF"),
    ("tile<1xi1>", "i1: [false]", "00"),
]


def constants(*definitions: tuple[str, str]) -> list[bytes]:
    lines = [f"%{index} = constant <{elements}> : {type}" for index, (type, elements) in enumerate(definitions)]
    content = Module.parse("entry @k() {\n" + "\n".join(lines) + "\n}").to_bytecode()
    return entries(sections(content)["constants"], 8)


@pytest.mark.parametrize(("type", "elements", "expected"), CASES)
def test_constant_is_its_size_and_bytes(type: str, elements: str, expected: str) -> None:
    content = bytes.fromhex(expected)
    assert constants((type, elements)) == [bytes((len(content),)) + content]


@pytest.mark.parametrize(("type", "elements", "expected"), CASES[:17])
def test_more_than_100_elements(type: str, elements: str, expected: str) -> None:
    # MLIR prints more than 100 elements in another form, and the writer reads some types from its text.
    element, _, numbers = elements.partition(": ")
    listed = ", ".join([numbers.replace("[", "").replace("]", "")] * 128)
    count, content = 128 * (listed.count(",") // 128 + 1), bytes.fromhex(expected) * 128
    assert constants((f"tile<{count}x{element}>", f"{element}: [{listed}]")) == [number(len(content)) + content]


def number(value: int) -> bytes:
    """The LEB128 encoding of a number from 2^7 to 2^14 - 1."""
    return bytes((value & 0x7F | 0x80, value >> 7))


def test_equal_bytes_are_stored_once() -> None:
    assert constants(("tile<4xi32>", "i32: 0"), ("tile<f32>", "f32: 0.0"), ("tile<i8>", "i8: 5")) == [
        bytes.fromhex("04 00000000"),
        bytes.fromhex("01 05"),
    ]


def test_module_without_constants_has_no_constants_section() -> None:
    assert "constants" not in sections(Module.parse("entry @k() { }").to_bytecode())


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU"])
def test_each_bit_pattern_of_8_bit_floats(element: str) -> None:
    # The second element differs from the first, so that the constant is not a splat.
    pairs = [(bits, 0x41 if bits == 0x40 else 0x40) for bits in range(256)]
    found = constants(*((f"tile<2x{element}>", f"{element}: [{a:#04x}, {b:#04x}]") for a, b in pairs))
    assert found == [bytes((2, a, b)) for a, b in pairs]
