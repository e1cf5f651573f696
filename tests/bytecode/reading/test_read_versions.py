"""Members newer than the version of the file are refused, naming the version that introduced them.

Opcodes and versions of operations are those of operations.json, all others those of the specification. Tests of members
that operations got later are in test_read_operations.py.
"""

from __future__ import annotations

import pytest
from file_assembler import Kernel
from test_read_types import FLOAT, MAPPING, SHAPE, TENSOR
from test_read_types import read as read_type
from version_needs import ENTRIES, SINCE, TABLE

from tilec.dialect.bytecode.reading.cursor import Malformed
from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.errors import InputError
from tilec.text_input.module import Module

FLOAT_TILE = ("10 01 02 00", "07", "0D 01 00")
NAMES = [str(version) for version in VERSIONS]


def older(since: str) -> list[str]:
    return NAMES[: NAMES.index(since)]


def refusal(kernel: Kernel) -> str:
    with pytest.raises(InputError) as caught:
        Module.parse(kernel.bytes(), "k.tileirbc")
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name, since in SINCE.items() for version in VERSIONS if version < since],
    ids=str,
)
def test_operation_is_refused_in_older_files(name: str, version: Version) -> None:
    opcode = ENTRIES[name]["opcode"]
    low, high = opcode & 0x7F, opcode >> 7
    number = f"{low:02X}" if not high else f"{low | 0x80:02X} {high & 0x7F | 0x80:02X} {high >> 7:02X}"
    assert refusal(Kernel(number, version=str(version))) == (
        f"k.tileirbc:@k:1: error: byte 22 (functions section): opcode {opcode} ('{name}') needs Tile IR {SINCE[name]}"
        f" or newer, but the file is of {version}"
    )


def test_every_version_introduces_operations() -> None:
    assert {str(since) for since in SINCE.values()} == set(NAMES)


VIEW_TAIL = f"{SHAPE} 02 01"
# By name: the first version, and entries of the table of types, the first of which has the type.
NEWER_TYPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "f8E8M0FNU": ("13.2", ("12",)),
    "f4E2M1FN": ("13.3", ("13",)),
    "i4": ("13.3", ("16",)),
    "fnv8E5M3FNU": ("13.4", ("82 01",)),
    "gather_scatter_view": ("13.3", (f"14 00 {VIEW_TAIL}", FLOAT, f"0E {TENSOR}")),
    "strided_view": ("13.3", (f"15 00 {SHAPE} {SHAPE} 02 {MAPPING}", FLOAT, f"0E {TENSOR}")),
}


@pytest.mark.parametrize(
    ("name", "version"), [(name, version) for name, (since, _) in NEWER_TYPES.items() for version in older(since)]
)
def test_type_is_refused_in_older_files(name: str, version: str) -> None:
    since, entries = NEWER_TYPES[name]
    with pytest.raises(Malformed) as caught:
        read_type(version, *entries)
    assert caught.value.message == f"type {name} needs Tile IR {since} or newer, but the file is of {version}"
    assert name in read_type(since, *entries)


@pytest.mark.parametrize(("number", "keyword"), [("01", "unicast"), ("02", "multicast")])
@pytest.mark.parametrize("type", ["0C 01 01", f"0E 01 {TENSOR}"], ids=["ptr", "tensor_view"])
def test_unicast_and_multicast_are_refused_before_13_5(type: str, number: str, keyword: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_type("13.4", f"{type} {number}", FLOAT)
    assert caught.value.message == (f"pointer attribute {keyword} needs Tile IR 13.5 or newer, but the file is of 13.4")
    assert keyword in read_type("13.5", f"{type} {number}", FLOAT)
    assert "none" in read_type("13.4", f"{type} 00", FLOAT)


@pytest.mark.parametrize("version", older("13.4"))
def test_pointer_attributes_are_refused_before_13_4(version: str) -> None:
    # The byte that is a flag for an attribute from 13.4 on is the element type, type 1, in older files.
    assert read_type(version, "0C 01", FLOAT) == "ptr<f32>"
    with pytest.raises(Malformed, match="expected no data after type ptr, but got 2 bytes"):
        read_type(version, "0C 01 01 00", FLOAT)


ROUNDING = {
    entry["name"]: attribute["name"]
    for entry in TABLE["ops"]
    for attribute in entry["attrs"]
    if attribute["encoding"] == "enum:RoundingMode"
}
# The bytes before the rounding mode (types and flags), and the first version that has a rounding mode.
BEFORE_ROUNDING = {
    **dict.fromkeys(("addf", "divf", "fma", "mulf", "sqrt", "subf"), ("02 00", "13.1")),
    "divi": ("02 00", "13.1"),
    "exp": ("02", "13.3"),
    "ftof": ("02", "13.1"),
    "ftoi": ("02 00", "13.1"),
    "itof": ("02 00", "13.1"),
    "tanh": ("02", "13.2"),
}


def test_all_operations_with_a_rounding_mode_are_covered() -> None:
    assert set(ROUNDING) == set(BEFORE_ROUNDING)


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name, (_, first) in BEFORE_ROUNDING.items() for version in NAMES[:3] if version >= first],
)
def test_nearest_away_is_refused_before_13_4(name: str, version: str) -> None:
    before = BEFORE_ROUNDING[name][0]
    kernel = Kernel(f"{ENTRIES[name]['opcode']:02X} {before} 07 00 00 00", FLOAT_TILE, version=version)
    assert refusal(kernel).endswith(
        f"'nearest_away' for '{ROUNDING[name]}' needs Tile IR 13.4 or newer, but the file is of {version}"
    )


@pytest.mark.parametrize("version", older("13.5"))
def test_preview_tag_is_refused_before_13_5(version: str) -> None:
    assert refusal(Kernel(version=version, tag=1)) == (
        "k.tileirbc: error: byte 10 (header): only files of 13.5 may hold preview content,"
        f" but this one is of {version}"
    )
