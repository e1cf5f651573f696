"""Complete files equal the bytes of the format description: header, sections, tables and padding."""

from __future__ import annotations

import pytest
from sections import entries, sections

from tilec.dialect.bytecode.version import NEWEST, VERSIONS
from tilec.errors import UsageError, VerificationError
from tilec.text_input.module import Module

SMALLEST = "entry @k() { return }"
EVERYTHING = """cuda_tile.module @kernels attributes {producer = "me 1.0"} {
  global @g <f32: [1.0, 2.0]> : tile<2xf32>
  entry @a() { %0 = constant <i8: 7> : tile<i8> }
  entry @b() { }
}"""


def written(text: str, version: str) -> bytes:
    return Module.parse(text).to_bytecode(version)


def test_smallest_module_in_the_oldest_version() -> None:
    assert written(SMALLEST, "13.1") == bytes.fromhex(
        "7F 54 69 6C 65 49 52 00  0D 01  00 00"
        # Functions at 16: one with name 0, type 0, kernel flag, no locations, 3 bytes: return, no results, no operands.
        "82 09 08 CB  01  00 00 02 00 03 5C 00 00"
        # Types at 28: one at offset 0, a function without inputs and results.
        "85 0B 04  01 CB CB CB  00 00 00 00  10 00 00"
        # Strings at 44: one at offset 0.
        "81 09 04 CB CB  01 CB CB CB  00 00 00 00  6B"
        "00"
    )


def test_smallest_module_in_the_newest_version_has_hints_and_argument_attributes() -> None:
    assert written(SMALLEST, "13.5") == bytes.fromhex(
        "7F 54 69 6C 65 49 52 00  0D 05  00 00"
        "82 0D 08 CB  01  00 00 02 00  0B 00  06 00  03 5C 00 00"
        "85 0B 04  01 CB CB CB  00 00 00 00  10 00 00"
        "81 09 04 CB CB  01 CB CB CB  00 00 00 00  6B"
        "00"
    )


def test_default_is_the_newest_version() -> None:
    module = Module.parse(SMALLEST)
    assert module.to_bytecode() == module.to_bytecode(str(NEWEST))


def test_unknown_version_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown version '13.6' of Tile IR: expected one of 13.1, 13.2, "):
        Module.parse(SMALLEST).to_bytecode("13.6")


def test_module_that_does_not_verify_is_refused() -> None:
    module = Module.parse("entry @k(%x: tile<i32>) {\n  %0 = addi %x, %x : tile<i32>\n}")
    del module.ir.body.operations[0].body.blocks[0].operations[0].attributes["overflow"]
    with pytest.raises(VerificationError, match="requires attribute 'overflow'"):
        module.to_bytecode()


def test_sections_are_in_the_order_of_nvidias_front_end() -> None:
    found = sections(written(EVERYTHING, "13.3"))
    assert list(found) == ["functions", "globals", "constants", "types", "producer", "strings"]
    assert entries(found["strings"], 4) == [b"a", b"b", b"g", b"me 1.0"]
    # The index of the producer string.
    assert found["producer"] == bytes((3,))


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_producer_is_omitted_before_13_3(version: tuple[int, int]) -> None:
    assert ("producer" in sections(written(EVERYTHING, str(version)))) == (version >= (13, 3))


def test_globals() -> None:
    text = """
      global @g alignment = 256 <f32: [1.0, 2.0]> : tile<2xf32>
      global private constant @h <i8: 7> : tile<4xi8>
      entry @k() { }"""
    found = sections(written(text, "13.3"))
    # Two globals: name, type, value, alignment (256 is 80 02), visibility, constant flag.
    assert found["globals"] == bytes.fromhex("02  01 02 00 80 02 00 00  02 04 01 00 01 01")
    # The tags of the signature, f32, tile<2xf32>, i8 and tile<4xi8>.
    assert [entry[0] for entry in entries(found["types"], 4)] == [0x10, 7, 13, 1, 13]
    assert entries(found["constants"], 8) == [bytes.fromhex("08 0000803F 00000040"), bytes.fromhex("01 07")]


def test_globals_have_four_numbers_before_13_3() -> None:
    found = sections(written("global @g <i8: 7> : tile<4xi8> entry @k() { }", "13.2"))
    assert found["globals"] == bytes.fromhex("01  01 02 00 00")


def test_kernels_with_hints() -> None:
    text = "entry @k() optimization_hints=<sm_100 = {num_cta_in_cga = 2}> { }"
    # Flags 06: a kernel with hints. One architecture (01), string 2, a dictionary (0A) of one entry: string 3 is an
    # integer (01).
    hints = "0B 01 01  0A 01 02  01 01 02"
    assert (
        sections(written(text, "13.4"))["functions"].hex() == bytes.fromhex(f"01 00 00 06 00 {hints} 03 5C 00 00").hex()
    )
    # From 13.5 on hints are always present, so they have no flag.
    newest = bytes.fromhex(f"01 00 00 02 00 {hints} 06 00 03 5C 00 00")
    assert sections(written(text, "13.5"))["functions"].hex() == newest.hex()


def test_attributes_of_arguments() -> None:
    text = "entry @k(%a: tile<i32>, %b: tile<i32> {t.x = true}) { }"
    # An array (06) of two dictionaries (0A): an empty one, and one in which string 1 is a boolean (03).
    assert sections(written(text, "13.5"))["functions"] == bytes.fromhex(
        "01 00 02 02 00  0B 00  06 02  0A 00  0A 01 01 03 01  03 5C 00 00"
    )


def test_long_non_ascii_name() -> None:
    name = "k" * 300 + "é"
    found = sections(written(f'entry @"{name}"() {{ }}', "13.1"))
    assert entries(found["strings"], 4) == [name.encode()]


def test_parts_that_the_format_cannot_represent_are_omitted() -> None:
    plain = "cuda_tile.module @kernels { entry @k(%x: tile<i32>) { %0 = absi %x : tile<i32> } }"
    with_attributes = (
        "cuda_tile.module @other attributes {a.b = 1} { entry @k(%x: tile<i32>)"
        ' { %0 = absi %x {a.b = 2} : tile<i32> return } {tilec.signature = "{}"} }'
    )
    assert written(plain, "13.5") == written(with_attributes, "13.5")


def test_module_with_preview_operations_has_the_preview_tag() -> None:
    module = Module.parse("entry @k() { preview$call @f() : () -> () }")
    assert module.to_bytecode()[8:12] == bytes((13, 5, 1, 0))
    assert Module.parse(SMALLEST).to_bytecode()[8:12] == bytes((13, 5, 0, 0))
