"""The reader accepts what NVIDIA's reader accepts: any order of sections, any padding, repeated and unused parts."""

from __future__ import annotations

from itertools import permutations

import pytest
from file_assembler import CONSTANTS, FUNCTIONS, NO_ARGUMENTS, PRODUCER, STRINGS, TYPES, Kernel, file, number, table

from tilec.text_input.module import Module

TYPES_USED = (NO_ARGUMENTS, "03", "0D 01 00")
KERNEL = Kernel("10 02 00", TYPES_USED, constants=("2A 00 00 00",))
TEXT = Module.parse("entry @k() { %0 = constant <i32: 42> : tile<i32> }").to_text()


def text(data: bytes) -> str:
    return Module.parse(data, "k.tileirbc").to_text()


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_any_order_of_sections(order: tuple[int, ...]) -> None:
    sections = KERNEL.sections()
    assert text(file("13.1", [sections[index] for index in order])) == TEXT


def test_last_section_of_a_kind_is_used() -> None:
    others = [(FUNCTIONS, b"\xff"), (STRINGS, table([b"no", b"names"], 4)), (TYPES, b"\0"), (CONSTANTS, b"\0")]
    assert text(file("13.1", [*others, *KERNEL.sections()])) == TEXT


def test_alignment_may_be_larger_than_needed() -> None:
    data = bytearray(b"\x7fTileIR\0\x0d\x01\0\0")
    for section, payload in KERNEL.sections():
        data += bytes([section | 0x80]) + number(len(payload)) + number(64)
        data += b"\xcb" * (-len(data) % 64) + payload
    assert text(bytes(data) + b"\0") == TEXT


def test_sections_without_required_alignment_may_be_aligned() -> None:
    kernel = Kernel(strings=("k", "me"), version="13.3")
    plain = file("13.3", kernel.sections())
    start = -(-(len(plain) - 1 + 3) // 16) * 16
    aligned = plain[:-1] + bytes([PRODUCER | 0x80, 1, 16])
    aligned += b"\xcb" * (start - len(aligned)) + b"\x01\0"
    assert 'attributes {producer = "me"}' in text(aligned)


@pytest.mark.parametrize("filler", [0x00, 0xCF, 0xFF])
def test_padding_may_have_any_value(filler: int) -> None:
    # The padding is between sections, and between the count and the offsets of the table of constants.
    data = KERNEL.bytes()
    assert b"\xcb" in data
    assert text(data.replace(b"\xcb", bytes([filler]))) == TEXT


def test_bytes_after_the_last_function_are_ignored() -> None:
    sections = KERNEL.sections()
    sections[0] = (FUNCTIONS, sections[0][1] + b"\xcb" * 5)
    assert text(file("13.1", sections)) == TEXT


def test_bytes_after_a_constant_are_ignored() -> None:
    sections = KERNEL.sections()
    sections[-1] = (CONSTANTS, sections[-1][1] + b"\xff\xff")
    assert text(file("13.1", sections)) == TEXT


def test_unused_entries_may_be_invalid() -> None:
    kernel = Kernel("10 02 00", (*TYPES_USED, "FF FF", "", "0D 07"), ("k", "", "\0"), ("2A 00 00 00", "01", ""))
    assert text(kernel.bytes()) == TEXT


def test_bits_above_64_are_dropped() -> None:
    # The type is 2 + (1 << 64); cuTile Python encodes the sign of an f64 this way.
    kernel = Kernel("10 82 80 80 80 80 80 80 80 80 02 00", TYPES_USED, constants=("2A 00 00 00",))
    assert text(kernel.bytes()) == TEXT


@pytest.mark.parametrize("unneeded", [1, 5, 8])
def test_over_long_numbers(unneeded: int) -> None:
    long = "80 " * unneeded + "00"
    kernel = Kernel(f"90 {'80 ' * unneeded}00 82 {long} {long}", TYPES_USED, constants=("2A 00 00 00",))
    assert text(kernel.bytes()) == TEXT
