"""Types are written as tags and fields, in each version in which the encoding differs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sections import entries

from tilec.dialect.bytecode.version import Version
from tilec.dialect.bytecode.writing.type_table import TypeTable
from tilec.dialect.bytecode.writing.version_gate import VersionGate
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError

NUMBERS = {
    "i1": "00",
    "i8": "01",
    "i16": "02",
    "i32": "03",
    "i64": "04",
    "f16": "05",
    "bf16": "06",
    "f32": "07",
    "tf32": "08",
    "f64": "09",
    "f8E4M3FN": "0A",
    "f8E5M2": "0B",
    "f8E8M0FNU": "12",
    "f4E2M1FN": "13",
    "i4": "16",
    # Tag 130, the only one with two bytes.
    "f8E5M3FNU": "82 01",
}
DYNAMIC = "00 00 00 00 00 00 00 80"


def table(version: str, type: ir.Type) -> list[str]:
    """The entries of the table after a type is added; the last entry is the type itself."""
    types = TypeTable(VersionGate(Version.parse(version)))
    assert types.index(type) == types.index(type)
    return [entry.hex(" ").upper() for entry in entries(bytes(types.payload()), 4)]


@pytest.fixture(autouse=True)
def in_context():
    with context():
        yield


def f32() -> ir.Type:
    return ir.F32Type.get()


def tensor(attribute: str | None = None) -> TensorViewType:
    return TensorViewType.get([None, 64], f32(), [None, 1], attribute)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    assert table("13.5", ir.Type.parse(name)) == [NUMBERS[name]]


def test_tile_is_after_its_element_type() -> None:
    tile = TileType.get([4, 2], f32())
    assert table("13.1", tile) == ["07", "0D 00 02 04 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00"]


def test_scalar_has_no_extents() -> None:
    assert table("13.1", TileType.get([], f32())) == ["07", "0D 00 00"]


def test_token_and_function() -> None:
    tile = TileType.get([], f32())
    function = ir.FunctionType.get([tile, tile], [TokenType.get()])
    assert table("13.1", function) == ["07", "0D 00 00", "11", "10 02 01 01 01 02"]


@pytest.mark.parametrize(
    ("version", "attribute", "expected"),
    [
        ("13.1", None, "0C 00"),
        ("13.3", None, "0C 00"),
        # From 13.4 on, options come first; bit 0 is set if an attribute follows.
        ("13.4", None, "0C 00 00"),
        ("13.4", "none", "0C 01 00 00"),
        ("13.5", "unicast", "0C 01 00 01"),
        ("13.5", "multicast", "0C 01 00 02"),
    ],
)
def test_pointers(version: str, attribute: str | None, expected: str) -> None:
    assert table(version, PointerType.get(f32(), attribute)) == ["07", expected]


EXTENTS = f"02 {DYNAMIC} 40 00 00 00 00 00 00 00 02 {DYNAMIC} 01 00 00 00 00 00 00 00"


@pytest.mark.parametrize(
    ("version", "attribute", "expected"),
    [
        ("13.3", None, f"0E 00 {EXTENTS}"),
        ("13.4", None, f"0E 00 00 {EXTENTS}"),
        ("13.5", "multicast", f"0E 01 00 {EXTENTS} 02"),
    ],
)
def test_tensor_views(version: str, attribute: str | None, expected: str) -> None:
    assert table(version, tensor(attribute)) == ["07", expected]


def test_tensor_view_of_rank_0() -> None:
    assert table("13.1", TensorViewType.get([], f32(), [])) == ["07", "0E 00 00 00"]


TILE, MAP = "02 04 00 00 00 02 00 00 00", "02 01 00 00 00 00 00 00 00"


@pytest.mark.parametrize(
    ("version", "padding", "expected"),
    [
        # A byte after the map is 1 if padding follows; from 13.3 on it is bit 0 of options at the start.
        ("13.1", None, f"0F {TILE} 01 {MAP} 00"),
        ("13.2", "nan", f"0F {TILE} 01 {MAP} 01 02"),
        ("13.3", None, f"0F 00 {TILE} 01 {MAP}"),
        ("13.3", "zero", f"0F 01 {TILE} 01 {MAP} 00"),
        ("13.5", "neg_zero", f"0F 01 {TILE} 01 {MAP} 01"),
        ("13.5", "pos_inf", f"0F 01 {TILE} 01 {MAP} 03"),
        ("13.5", "neg_inf", f"0F 01 {TILE} 01 {MAP} 04"),
    ],
)
def test_partition_views(version: str, padding: str | None, expected: str) -> None:
    assert table(version, PartitionViewType.get([4, 2], tensor(), [1, 0], padding))[2:] == [expected]


@pytest.mark.parametrize(("padding", "bit", "value"), [(None, "00", ""), ("nan", "01", " 02")])
def test_strided_and_gather_scatter_views(padding: str | None, bit: str, value: str) -> None:
    steps = StridedViewType.get([4, 2], [3, 300], tensor(), [1, 0], padding)
    assert table("13.3", steps)[2:] == [f"15 {bit} {TILE} 02 03 00 00 00 2C 01 00 00 01 {MAP}{value}"]
    rows = GatherScatterViewType.get([4, 2], tensor(), 1, padding)
    assert table("13.3", rows)[2:] == [f"14 {bit} {TILE} 01 01{value}"]


SINCE = {
    "f8E8M0FNU": "13.2",
    "f4E2M1FN": "13.3",
    "i4": "13.3",
    "f8E5M3FNU": "13.4",
    "!cuda_tile.ptr<f32, unit>": None,
    '!cuda_tile.ptr<f32, "none">': "13.4",
    '!cuda_tile.ptr<f32, "unicast">': "13.5",
    '!cuda_tile.ptr<f32, "multicast">': "13.5",
}


@pytest.mark.parametrize("version", ["13.1", "13.2", "13.3", "13.4", "13.5"])
@pytest.mark.parametrize("text", SINCE)
def test_newer_type_is_refused(text: str, version: str) -> None:
    since, type = SINCE[text], ir.Type.parse(text)
    if since is None or version >= since:
        table(version, type)
        return
    with pytest.raises(InputError) as raised:
        table(version, type)
    expected = f"needs bytecode version {since} or later, but version {version} is to be written: write version {since}"
    assert expected in str(raised.value)


def strided() -> ir.Type:
    return StridedViewType.get([4, 2], [4, 2], tensor())


def gather() -> ir.Type:
    return GatherScatterViewType.get([4, 2], tensor(), 0)


@pytest.mark.parametrize("view", [strided, gather])
def test_views_of_13_3_are_refused_before_13_3(view: Callable[[], ir.Type]) -> None:
    with pytest.raises(
        InputError, match=r"type '(strided|gather_scatter)_view<.*>' needs bytecode version 13.3 or later"
    ):
        table("13.2", view())


@pytest.mark.parametrize("text", ["index", "si32", "i7", "tensor<4xf32>", "f80", "none"])
def test_other_types_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="has no form in bytecode: expected a type of Tile IR"):
        table("13.5", ir.Type.parse(text))
