"""Errors in bytecode have the byte offset and section, and within a kernel the operation."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from file_assembler import FUNCTIONS, NO_ARGUMENTS, STRINGS, TYPES, Kernel, file, number, table

from tilec.errors import InputError, VerificationError
from tilec.text_input.module import Module

INTEGER = ("10 01 02 00", "03", "0D 01 00")
FLOAT = ("10 01 02 00", "07", "0D 01 00")
# Type 3: token.
TOKEN = (*INTEGER, "11")
HEADER = "7F 54 69 6C 65 49 52 00"


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        Module.parse(data, "k.tileirbc")
    return str(caught.value).removeprefix("k.tileirbc")


@pytest.mark.parametrize(
    ("data", "byte", "section", "message"),
    [
        ("7F 54 69 6C 65 49 52 01 0D 01 00 00", 0, "header", r"expected the magic number b'\x7fTileIR\x00' of Tile IR"),
        ("7F", 0, "header", r"expected the magic number b'\x7fTileIR\x00' of Tile IR bytecode, but got b'\x7f'"),
        (HEADER, 8, "header", "expected a byte, but only 0 bytes are left"),
        (f"{HEADER} 0D 06 00 00", 8, "header", "unsupported Tile IR version 13.6, expected 13.1 to 13.5"),
        (f"{HEADER} 0C 01 00 00", 8, "header", "unsupported Tile IR version 12.1, expected 13.1 to 13.5"),
        (f"{HEADER} 0D 00 00 00", 8, "header", "unsupported Tile IR version 13.0, expected 13.1 to 13.5"),
        (f"{HEADER} FA 01 00 00", 8, "header", "unsupported Tile IR version 250.1, expected 13.1 to 13.5"),
        (f"{HEADER} 0D 05 02 00", 10, "header", "unknown bits in the tag of the version: 0x0002"),
        (f"{HEADER} 0D 04 01 00", 10, "header", "only files of 13.5 may hold preview content, but this one is of 13.4"),
        (f"{HEADER} 0D 01 00 00", 12, "section header", "expected another section or the end, but the file stops here"),
        (f"{HEADER} 0D 01 00 00 00", 13, "section header", "the file has no strings section, which it needs"),
        (f"{HEADER} 0D 01 00 00 08 00 00", 12, "section header", "unknown section 8, expected one of 0 to 7"),
        (f"{HEADER} 0D 01 00 00 80", 12, "section header", "the end must not be aligned"),
        (
            f"{HEADER} 0D 01 00 00 00 00 00",
            12,
            "section header",
            "expected the end to be the last byte, but 2 bytes follow",
        ),
        (f"{HEADER} 0D 01 00 00 06 05 00", 13, "globals section", "expected 5 bytes, but only 1 are left in the file"),
        (
            f"{HEADER} 0D 01 00 00 06 FF FF FF FF FF FF FF FF FF 01 00",
            13,
            "globals section",
            "expected 18446744073709551615 bytes, but only 1 are left in the file",
        ),
        (
            f"{HEADER} 0D 01 00 00 01 00 00",
            14,
            "strings section",
            "expected an alignment that is a multiple of 4 bytes, but got 1",
        ),
        (
            f"{HEADER} 0D 01 00 00 81 00 02 00",
            14,
            "strings section",
            "expected an alignment that is a multiple of 4 bytes, but got 2",
        ),
        (
            f"{HEADER} 0D 01 00 00 81 00 00 00",
            14,
            "strings section",
            "expected an alignment that is a power of two, but got 0",
        ),
        (
            f"{HEADER} 0D 01 00 00 81 00 0C 00",
            14,
            "strings section",
            "expected an alignment that is a power of two, but got 12",
        ),
        (
            f"{HEADER} 0D 01 00 00 81 00 80 80 80 80 80 80 80 80 80 01 00",
            14,
            "strings section",
            "the next multiple of 9223372036854775808 bytes, the alignment, lies beyond the end of the file",
        ),
        (
            f"{HEADER} 0D 01 00 00 06 80 80 80 80 80 80 80 80 80 80 00 00",
            13,
            "globals section",
            "expected a number of at most 10 bytes",
        ),
    ],
)
def test_invalid_header_or_section(data: str, byte: int, section: str, message: str) -> None:
    assert refused(bytes.fromhex(data)).startswith(f": error: byte {byte} ({section}): {message}")


def test_functions_section_is_required() -> None:
    assert "the file has no functions section, which it needs" in refused(file("13.1", [(STRINGS, table([], 4))]))


@pytest.mark.parametrize(
    ("functions", "byte", "message"),
    [
        ("", 16, "expected a number, but only 0 bytes are left"),
        ("03 00 00 02", 16, "expected 3 functions, but only 3 bytes are left"),
        ("FF FF FF FF 0F 00", 16, "expected 4294967295 functions, but only 1 bytes are left"),
        ("01 05 00 02 00 00", 17, "string index 5 is out of bounds: the table has 2 entries"),
        ("01 01 00 02 00 00", 17, "expected a name, but got an empty string"),
    ],
)
def test_invalid_function_record(functions: str, byte: int, message: str) -> None:
    sections = [(FUNCTIONS, bytes.fromhex(functions)), (STRINGS, table([b"k", b""], 4))]
    assert refused(file("13.1", sections)) == f": error: byte {byte} (functions section): {message}"


@pytest.mark.parametrize(
    ("kernel", "byte", "message"),
    [
        (Kernel(types=("03",)), 18, "expected a function type as signature of 'k', but got 'i32'"),
        (Kernel(types=()), 18, "type index 0 is out of bounds: the table has 0 entries"),
        (Kernel(flags=0), 19, "function 'k' is not a kernel, which the public format requires"),
        (Kernel(flags=3), 19, "kernel 'k' must have public visibility"),
        (Kernel(flags=0x12, version="13.4"), 19, "unknown bits 0x10 in the flags of 'k'"),
        (Kernel(flags=6, version="13.5"), 19, "unknown bits 0x4 in the flags of 'k'"),
        (Kernel(flags=10, version="13.5"), 19, "unknown bits 0x8 in the flags of 'k'"),
        (Kernel(flags=6, hints="0A 00"), 21, "expected optimization hints (tag 11), but got tag 10"),
        (
            Kernel(flags=6, hints="0B 01 00 03 00"),
            22,
            "expected a dictionary of hints for 'k', but got false",
        ),
        (
            Kernel(version="13.5", arguments="0A 00"),
            23,
            "expected an array of attributes of arguments (tag 6), but got tag 10",
        ),
        (
            Kernel(version="13.5", arguments="06 01 06 00"),
            25,
            "expected a dictionary (tag 10), but got tag 6",
        ),
        (
            Kernel(locations=1),
            20,
            "expected 0, as the file has no debug section, but got the list of locations 1",
        ),
    ],
)
def test_invalid_kernel(kernel: Kernel, byte: int, message: str) -> None:
    assert refused(kernel.bytes()) == f":@k: error: byte {byte} (functions section): {message}"


def test_duplicate_kernel_name_is_refused() -> None:
    kernel = Kernel()
    record = kernel.function()
    twice = [(FUNCTIONS, b"\2" + record + record), *kernel.sections()[1:]]
    assert refused(file("13.1", twice)) == ": error: byte 25 (functions section): the name 'k' is already in use"


def test_global_with_the_name_of_a_kernel_is_refused() -> None:
    types = (NO_ARGUMENTS, "03", "0D 01 01 01 00 00 00 00 00 00 00")
    kernel = Kernel(types=types, constants=("00 00 00 00",), globals="01 00 02 00 00")
    assert "(functions section): the name 'k' is already in use" in refused(kernel.bytes())


def test_invalid_global() -> None:
    types = (NO_ARGUMENTS, "03", "0D 01 01 01 00 00 00 00 00 00 00")
    kernel = Kernel(types=types, strings=("k", "g"), constants=("00 00 00 00",), version="13.3")
    assert "invalid number 2 for 'symbol_visibility', expected one of 0 to 1" in refused(
        replace(kernel, globals="01 01 02 00 00 02 00").bytes()
    )
    assert "constant index 1 is out of bounds: the table has 1 entries" in refused(
        replace(kernel, globals="01 01 02 01 00 00 00").bytes()
    )
    assert "constant elements need a tile of numbers, but got 'i32'" in refused(
        replace(kernel, globals="01 01 01 00 00 00 00").bytes()
    )
    assert "(globals section): expected 2 globals, but only 6 bytes are left" in refused(
        replace(kernel, globals="02 01 02 00 00 00 00").bytes()
    )


# The body begins at byte 22, or 26 in 13.5.
@pytest.mark.parametrize(
    ("kernel", "number", "operation", "byte", "message"),
    [
        (Kernel("1A"), 1, "", 22, "unknown opcode 26"),
        (Kernel("7E"), 1, "", 22, "unknown opcode 126"),
        (Kernel("80 60"), 1, "", 22, "unknown opcode 12288"),
        (
            Kernel("6E 02 00 00", FLOAT),
            1,
            "",
            22,
            "opcode 110 ('atan2') needs Tile IR 13.2 or newer, but the file is of 13.1",
        ),
        (
            Kernel("7B", FLOAT, version="13.4"),
            1,
            "",
            22,
            "opcode 123 ('multimem_load_reduce_view_tko') needs Tile IR 13.5 or newer, but the file is of 13.4",
        ),
        (
            Kernel("82 80 01", version="13.5"),
            1,
            "",
            26,
            "opcode 16386 ('preview$call') is a preview operation, but the header does not enable the preview",
        ),
        (Kernel("16"), 1, "", 22, "opcode 22 ('entry') is not allowed in the body of a function"),
        (Kernel("31"), 1, "", 22, "opcode 49 ('global') is not allowed in the body of a function"),
        (Kernel("01 02 00 01 02 02", INTEGER), 2, "absi", 25, "operand index 2 is out of bounds: 2 values are visible"),
        (
            Kernel("01 02 80 80 80 80 10", INTEGER),
            1,
            "absi",
            22,
            "operand index 4294967296 is out of bounds: 1 values are visible",
        ),
        (Kernel("01 09 00", INTEGER), 1, "absi", 23, "type index 9 is out of bounds: the table has 3 entries"),
        (Kernel("01 02", INTEGER, end=""), 1, "absi", 24, "expected a number, but only 0 bytes are left"),
        (Kernel("03 02 04 00 00", INTEGER), 1, "addi", 24, "invalid number 4 for 'overflow', expected one of 0 to 3"),
        (
            Kernel("02 02 00 08 00 00", FLOAT),
            1,
            "addf",
            25,
            "invalid number 8 for 'rounding_mode', expected one of 0 to 7",
        ),
        (
            Kernel("2A 02 07 00", FLOAT, version="13.3"),
            1,
            "ftof",
            24,
            "'nearest_away' for 'rounding_mode' needs Tile IR 13.4 or newer, but the file is of 13.3",
        ),
        (Kernel("10 02 00", INTEGER), 1, "constant", 24, "constant index 0 is out of bounds: the table has 0 entries"),
        (
            Kernel("10 01 00", INTEGER, constants=("00",)),
            1,
            "constant",
            24,
            "constant elements need a tile of numbers, but got 'i32'",
        ),
        (Kernel("05 00 07", INTEGER), 1, "assert", 22, "operand index 7 is out of bounds: 1 values are visible"),
        (Kernel("05 07 00", INTEGER), 1, "assert", 23, "string index 7 is out of bounds: the table has 1 entries"),
        (Kernel("2C 02 01", INTEGER, ("k", "")), 1, "get_global", 24, "expected a name, but got an empty string"),
        (Kernel("06 02 03 01 00", INTEGER), 1, "assume", 24, "expected div_by, same_elements or bounded, but got true"),
        (Kernel("06 02 0D 00 00", INTEGER), 1, "assume", 24, "unknown attribute tag 13, expected one of 1 to 12"),
        (Kernel("06 02 0C 04 00", INTEGER), 1, "assume", 25, "unknown bits 0x4 among those of two numbers"),
        (Kernel("06 02 08 10 04 00", INTEGER), 1, "assume", 26, "unknown bits 0x4 among those of two numbers"),
        (
            Kernel("06 02 09 01 FF FF FF FF FF FF FF 7F 00", INTEGER),
            1,
            "assume",
            25,
            "array contains 9223372036854775807, an extreme of i64, which Tile IR does not support",
        ),
        (
            Kernel("06 02 09 FF FF 03 00", INTEGER),
            1,
            "assume",
            25,
            "expected 65535 integers, but only 4 bytes are left",
        ),
        (Kernel("3C 02 00", TOKEN), 1, "join_tokens", 23, "expected 1 results, but got 2"),
        (Kernel("3C FF FF 03", TOKEN), 1, "join_tokens", 23, "expected 65535 results, but only 3 bytes are left"),
        (Kernel("29 00 02 00 00", INTEGER), 1, "for", 24, "expected at least 3 operands, but got 2"),
        (Kernel("29 00 03 00 00 00 02", INTEGER), 1, "for", 28, "expected 1 regions, but got 2"),
        (Kernel("29 00 03 00 00 00 01 02", INTEGER), 1, "for", 29, "expected a region of at most one block, but got 2"),
        (
            Kernel("29 00 03 00 00 00 01 01 01 02 00", INTEGER),
            1,
            "for",
            33,
            "expected the block to end in a terminator, but it is empty",
        ),
        (
            Kernel("29 00 03 00 00 00 01 01 01 02 01 01 02 00", INTEGER),
            2,
            "absi",
            36,
            "expected the block to end in a terminator, but its last operation is 'absi'",
        ),
        (
            Kernel("29 00 03 00 00 00 01 01 01 02 02 11 00 00 11 00 00", INTEGER),
            2,
            "continue",
            36,
            "expected no more operations after 'continue', which ends its block",
        ),
        (
            Kernel("29 00 03 00 00 00 01 01 01 02 01 11 00 00 01 02 01", INTEGER),
            3,
            "absi",
            36,
            "operand index 1 is out of bounds: 1 values are visible",
        ),
        (
            Kernel("5C 00 00 01 02 00", INTEGER),
            1,
            "return",
            25,
            "expected no more operations after 'return', which ends its block",
        ),
        (Kernel("", INTEGER, end=""), 0, "", 22, "expected the block to end in a terminator, but it is empty"),
        (
            Kernel("01 02 00", INTEGER, end=""),
            1,
            "absi",
            25,
            "expected the block to end in a terminator, but its last operation is 'absi'",
        ),
    ],
)
def test_invalid_operation(kernel: Kernel, number: int, operation: str, byte: int, message: str) -> None:
    location, prefix = f":@k:{number}" if number else ":@k", f"'{operation}': " if operation else ""
    assert refused(kernel.bytes()) == f"{location}: error: {prefix}byte {byte} (functions section): {message}"


POINTER = ("10 01 03 00", "07", "0C 01", "0D 02 00", "03", "04", "0D 01 00", "11", "00")


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ("01 03 0A 00", "string index 3 is out of bounds: the table has 3 entries"),
        ("01 01 0A 00", "expected a key in a dictionary, but got an empty string"),
        ("02 00 0A 00 00 0A 00", "duplicate key 'k' in a dictionary"),
        ("02 00 0A 00 02 0A 00", r"expected a key without zero bytes in a dictionary, but got 'k\x00'"),
        ("01 00 03 00", "expected a dictionary of hints for 'k', but got false"),
        ("01 00 0A 01 00 01 01 00", "expected the type of an integer, but got 'f32'"),
        ("01 00 0A 01 00 01 04 80 80 80 80 10", "value 4294967296 does not fit in 32 bits"),
        ("01 00 0A 01 00 02 04 00", "expected the type of a float, but got 'i32'"),
        ("01 00 0A 01 00 02 01 01", "value 18446744073709551615 does not fit in the 32 bits of f32"),
        ("01 00 0A 01 00 00", "unknown attribute tag 0, expected one of 1 to 12"),
        ("7F", "expected 127 entries of a dictionary, but only 4 bytes are left"),
        ("01 00 0A 01 00 " + "06 01 " * 40, "attributes are nested more than 32 deep"),
    ],
)
def test_invalid_attribute(hints: str, message: str) -> None:
    kernel = Kernel(f"3D 06 07 02 00 {hints} 00", POINTER, ("k", "", "k\0"))
    found = refused(kernel.bytes())
    assert found.startswith(":@k:1: error: 'load_ptr_tko': byte ") and found.endswith(f"(functions section): {message}")


def test_verification_error_has_the_location_of_the_operation() -> None:
    kernel = Kernel("01 02 00 03 03 00 00 01", (*INTEGER, "0D 01 01 02 00 00 00 00 00 00 00"))
    with pytest.raises(VerificationError) as caught:
        Module.parse(kernel.bytes(), "k.tileirbc")
    assert str(caught.value) == (
        "k.tileirbc:@k:2: error: 'cuda_tile.addi' op failed to verify that all of {lhs, result} have same type: "
        "tile<i32> and tile<2xi32>"
    )


def test_invalid_type_is_refused_at_its_byte() -> None:
    data = Kernel("01 03 00", (*INTEGER, "0D 01 01 03 00 00 00 00 00 00 00")).bytes()
    at = data.index(bytes.fromhex("0D 01 01 03"))
    assert refused(data) == (
        f":@k:1: error: 'absi': byte {at} (types section): all dimensions must be powers of two, got [3]"
    )


def test_regions_may_nest_500_deep() -> None:
    deep = Module.parse(nested(500).bytes())
    assert deep.to_text().count("loop {") == 500
    assert Module.parse(deep.to_text()).to_bytecode() == deep.to_bytecode()
    assert "regions are nested more than 500 deep" in refused(nested(501).bytes())
    assert "regions are nested more than 500 deep" in refused(nested(5000).bytes())


def nested(depth: int) -> Kernel:
    """Nested loops without results, operands and arguments; each has two operations, the second one a continue."""
    body = "41 00 00 01 01 00 02 " * depth + "11 00 00 " * depth
    return Kernel(body.replace("02 11", "01 11", 1))


def test_string_must_be_utf8() -> None:
    data = Kernel(strings=("k\u00e9",)).bytes().replace("k\u00e9".encode(), b"k\xff\xfe")
    assert refused(data) == ": error: byte 17 (functions section): expected UTF-8 in string 0, but byte 1 is invalid"


def test_string_outside_its_table_is_refused() -> None:
    data = Kernel(strings=("k", "abc")).bytes()
    at = data.index(b"kabc")
    damaged = data[: at - 4] + (99).to_bytes(4, "little") + data[at:]
    assert refused(damaged) == (
        ": error: byte 17 (functions section): string 0 lies from 0 to 99, outside of the 4 bytes of its table"
    )


def test_overlapping_types_are_bounded() -> None:
    # Every second type is the same long list of arguments, and each operation uses another one.
    long = bytes.fromhex("10 A0 8D 06") + b"\1" * 100_000 + b"\0"
    kernel = Kernel("".join(f"01 {2 * at + 3:02X} 00 " for at in range(15)))
    offsets = [0, 4, 7, *[8, 8 + len(long)] * 15]
    types = number(len(offsets)) + b"\xcb" * 3 + b"".join(at.to_bytes(4, "little") for at in offsets)
    sections = dict(kernel.sections()) | {TYPES: types + bytes.fromhex("10 01 01 00 0D 02 00 00") + long}
    assert refused(file("13.1", list(sections.items()))) == (
        ":@k:12: error: 'absi': byte 56 (functions section): the types of the file overlap by more than 1048576 bytes"
    )


def test_total_size_of_constants_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tilec.dialect.bytecode.reading.constant_reader"], "_MOST_BYTES", 10)
    types = (NO_ARGUMENTS, "03", "0D 01 00", "07", "0D 03 00", "0D 01 01 01 00 00 00 00 00 00 00")
    kernel = Kernel("10 02 00 10 02 00 10 04 00 10 05 00", types, constants=("00 00 80 3F",))
    assert refused(kernel.bytes()) == (
        ":@k:4: error: 'constant': byte 33 (functions section): the constants of the file take more than 10 bytes"
    )


def test_numbers_of_two_bytes() -> None:
    assert number(300) == b"\xac\x02"
    operations = "01 02 00 " * 300
    text = Module.parse(Kernel(f"{operations} 01 02 AC 02", INTEGER).bytes()).to_text()
    assert text.count("absi") == 301
