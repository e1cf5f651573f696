"""Types are read from the entries of their table; invalid entries are refused."""

from __future__ import annotations

import pytest
from file_assembler import table

from tilec.dialect.bytecode.reading.cursor import Cursor, Malformed
from tilec.dialect.bytecode.reading.table_reader import Table
from tilec.dialect.bytecode.reading.type_reader import TypeReader
from tilec.dialect.bytecode.version import Version
from tilec.dialect.mlir import context
from tilec.dialect.spelling import spell

TWO, FOUR, DYNAMIC = "02 00 00 00 00 00 00 00", "04 00 00 00 00 00 00 00", "00 00 00 00 00 00 00 80"
TWO32, FOUR32, ZERO32, ONE32 = "02 00 00 00", "04 00 00 00", "00 00 00 00", "01 00 00 00"
# f32 is type 1.
FLOAT = "07"
TENSOR = f"01 02 {FOUR} {DYNAMIC} 02 {DYNAMIC} 01 00 00 00 00 00 00 00"
SHAPE, MAPPING, SWAPPED = f"02 {TWO32} {FOUR32}", f"02 {ZERO32} {ONE32}", f"02 {ONE32} {ZERO32}"
VIEW = "tensor_view<4x?xf32, strides=[?,1]>"


def read(version: str, *types: str) -> str:
    """The spelling of the first type."""
    cursor = Cursor(table([bytes.fromhex(type) for type in types], 4), 0, "types section")
    reader = TypeReader(Table("type", cursor), Version.parse(version))
    with context():
        return spell(reader.read(Cursor(b"\0", 1000, "functions section")))


# Indexed by tag.
NUMBERS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2")


@pytest.mark.parametrize(
    ("version", "type", "spelled"),
    [
        *[("13.1", f"{tag:02X}", name) for tag, name in enumerate(NUMBERS)],
        ("13.2", "12", "f8E8M0FNU"),
        ("13.3", "13", "f4E2M1FN"),
        ("13.3", "16", "i4"),
        ("13.4", "82 01", "fnv8E5M3FNU"),
        ("13.1", "11", "token"),
        ("13.1", "0C 01", "ptr<f32>"),
        ("13.4", "0C 00 01", "ptr<f32>"),
        ("13.4", "0C 01 01 00", "ptr<f32, <none>>"),
        ("13.5", "0C 01 01 02", "ptr<f32, <multicast>>"),
        ("13.1", "0D 01 00", "tile<f32>"),
        ("13.1", f"0D 01 02 {TWO} {FOUR}", "tile<2x4xf32>"),
        ("13.1", f"0E {TENSOR}", VIEW),
        ("13.4", f"0E 00 {TENSOR}", VIEW),
        ("13.5", f"0E 01 {TENSOR} 01", "tensor_view<4x?xf32, strides=[?,1], #cuda_tile.ptr_attr<unicast>>"),
        ("13.1", f"0F {SHAPE} 02 {MAPPING} 00", f"partition_view<tile=(2x4), {VIEW}>"),
        ("13.2", f"0F {SHAPE} 02 {MAPPING} 01 02", f"partition_view<tile=(2x4), padding_value = nan, {VIEW}>"),
        ("13.3", f"0F 00 {SHAPE} 02 {SWAPPED}", f"partition_view<tile=(2x4), {VIEW}, dim_map=[1, 0]>"),
        ("13.3", f"0F 01 {SHAPE} 02 {MAPPING} 04", f"partition_view<tile=(2x4), padding_value = neg_inf, {VIEW}>"),
        (
            "13.3",
            f"14 01 {SHAPE} 02 01 00",
            f"gather_scatter_view<tile=(2x4), padding_value = zero, {VIEW}, sparse_dim=1>",
        ),
        ("13.3", f"15 00 {SHAPE} {SHAPE} 02 {MAPPING}", f"strided_view<tile=(2x4), traversal_strides=[2,4], {VIEW}>"),
    ],
)
def test_types(version: str, type: str, spelled: str) -> None:
    view = f"0E 00 {TENSOR}" if version >= "13.4" else f"0E {TENSOR}"
    assert read(version, type, FLOAT, view) == spelled


def test_function_type() -> None:
    assert read("13.1", "10 02 01 02 01 01", FLOAT, "0D 01 00") == ("(f32, !cuda_tile.tile<array<i64>, f32>) -> f32")


@pytest.mark.parametrize(
    ("version", "types", "message"),
    [
        ("13.1", ("12",), "type f8E8M0FNU needs Tile IR 13.2 or newer, but the file is of 13.1"),
        ("13.2", ("13",), "type f4E2M1FN needs Tile IR 13.3 or newer, but the file is of 13.2"),
        ("13.2", ("16",), "type i4 needs Tile IR 13.3 or newer, but the file is of 13.2"),
        ("13.3", ("82 01",), "type fnv8E5M3FNU needs Tile IR 13.4 or newer, but the file is of 13.3"),
        ("13.2", ("15",), "type strided_view needs Tile IR 13.3 or newer, but the file is of 13.2"),
        (
            "13.4",
            ("0C 01 01 01", FLOAT),
            "pointer attribute unicast needs Tile IR 13.5 or newer, but the file is of 13.4",
        ),
        ("13.5", ("0C 01 01 03", FLOAT), "invalid pointer attribute 3, expected one of 0 to 2"),
        ("13.4", ("0C 02 01", FLOAT), "unknown bits 0x2 among the options of a type"),
        ("13.1", ("17",), "unknown type tag 23"),
        ("13.1", ("",), "expected a number, but only 0 bytes are left"),
        ("13.1", ("0D",), "expected a number, but only 0 bytes are left"),
        ("13.1", ("07 00",), "expected no data after type f32, but got 1 bytes: extensions of the preview are unknown"),
        ("13.1", ("0D 00 00",), "type 0 contains itself"),
        ("13.1", ("0C 01", "0C 00"), "type 0 contains itself"),
        ("13.1", ("0C 01",), "type index 1 is out of bounds: the table has 1 entries"),
        ("13.1", tuple(f"0C {n:02X}" for n in range(1, 12)), "types are nested more than 8 deep"),
        ("13.1", ("0C 01", "0C 02", FLOAT), "pointee must be a number type, but got 'ptr<f32>'"),
        ("13.1", ("0D 01 01 03 00 00 00 00 00 00 00", FLOAT), "all dimensions must be powers of two, got [3]"),
        (
            "13.1",
            (f"0D 01 01 {DYNAMIC}", FLOAT),
            "all dimensions must be positive constants, got [-9223372036854775808]",
        ),
        (
            "13.1",
            ("0D 01 80 80 80 80 80 80 80 80 80 01", FLOAT),
            "expected 9223372036854775808 extents, but only 0 bytes are left",
        ),
        ("13.1", (f"0F {SHAPE} 01 {MAPPING} 00", FLOAT), "expected a tensor_view inside, but got 'f32'"),
        (
            "13.1",
            (f"0F {SHAPE} 02 {MAPPING} 01 05", FLOAT, f"0E {TENSOR}"),
            "invalid padding value 5, expected one of 0 to 4",
        ),
        (
            "13.1",
            (f"0F {SHAPE} 02 02 {ZERO32} {ZERO32} 00", FLOAT, f"0E {TENSOR}"),
            "target dimension 0 mapped at least twice (for tile dimensions 0 and 1)",
        ),
        (
            "13.3",
            (f"14 00 {SHAPE} 02 FF FF FF FF FF FF FF FF FF 01", FLOAT, f"0E {TENSOR}"),
            "gather dimension is outside of tensor view dimensions, expected less than 2, got 18446744073709551615",
        ),
    ],
)
def test_invalid_type_is_refused(version: str, types: tuple[str, ...], message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(version, *types)
    assert caught.value.message == message


def test_unused_entry_may_be_invalid() -> None:
    assert read("13.1", FLOAT, "FF", "0D 02 00") == "f32"


def test_tile_of_200000_dimensions_is_refused() -> None:
    extents = (1 << 62).to_bytes(8, "little").hex() * 200_000
    count = "C0 9A 0C"
    with pytest.raises(Malformed, match="tile would exceed the maximum of 16777216 elements"):
        read("13.1", f"0D 01 {count} {extents}", FLOAT)
